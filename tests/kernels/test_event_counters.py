"""Reads that an addressing mode makes defined: code that raises a flag notes them in place, as reporting code does."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from oracle import Buffer, Image, Local, Sampler, Scalar

from adreno_sim.engine.run import launch, launch_analysis, optimistic, second_run
from adreno_sim.image.formats import CHANNEL_TYPES

_RNG = np.random.default_rng(23)
READ = {"FLOAT": "f", "HALF_FLOAT": "f", "UNORM_INT8": "f", "SIGNED_INT16": "i", "UNSIGNED_INT8": "ui"}
TYPE = {"f": "float4", "i": "int4", "ui": "uint4"}


def texels(shape: tuple[int, ...], channel_type: str, channels: int = 4) -> np.ndarray:
    dtype = np.dtype(CHANNEL_TYPES[channel_type][0])
    if dtype.kind == "f":
        return _RNG.normal(0, 1, (*shape, channels)).astype(dtype)
    limits = np.iinfo(dtype)
    return _RNG.integers(limits.min, limits.max, (*shape, channels), dtype, endpoint=True)


@pytest.fixture
def both(engine, monkeypatch):
    """Runs a kernel by sticky code of both emitters and by reporting code, which must agree; what it found and computed.

    `again`: whether a failed check makes the launch run once more.
    """
    runs: list[tuple[bool, int]] = []
    run = launch.run
    monkeypatch.setattr(second_run, "read_switch", lambda: "off")  # runs are counted
    monkeypatch.setattr(
        launch, "run", lambda *a, **k: runs.append((a[0].spec.deferred_checks, a[0].module.lanes)) or run(*a, **k)
    )

    def outcome(source, global_size, local_size, args, *, vectors=True, again=False, **options):
        results = {}
        for limit in (-1, 1 << 20):
            monkeypatch.setattr(optimistic, "SNAPSHOT_LIMIT", limit)
            for emitter in ("scalar", "spmd"):
                launch_analysis._analyses.clear()
                runs.clear()
                results[limit, emitter] = engine.run_with(emitter, source, "k", global_size, local_size, args, **options)
                flags = [deferred_checks for deferred_checks, _ in runs]
                assert flags == ([False] if limit < 0 else [True, False] if again else [True])
                assert (runs[0][1] > 1) == (vectors and limit > 0 and emitter == "spmd")
        exact = results.pop((-1, "scalar"))
        for other in results.values():
            assert other.findings == exact.findings
            assert [a.tobytes() for a in other.outputs] == [a.tobytes() for a in exact.outputs]
        return exact

    return outcome


SAMPLER = "const sampler_t s = CLK_NORMALIZED_COORDS_{0} | CLK_ADDRESS_{1} | CLK_FILTER_{2};"
INTEGER = [SAMPLER.format("FALSE", mode, "NEAREST") for mode in ("CLAMP", "CLAMP_TO_EDGE")]

BODIES = {
    "taps": "for (int dy = -1; dy < 2; ++dy) for (int dx = -2; dx < 3; ++dx) c += READ(s, (int2)(x + dx, y + dy));",
    "the row's end": "c = READ(s, (int2)(x + 3, y)); c += READ(s, (int2)(x, y - 2));",
    "reversed": "c = READ(s, (int2)(20 - x, y));",
    "strided": "c = READ(s, (int2)(2 * x - 4, y / 2));",
    "gathered": "c = READ(s, (int2)(at[x & 15], at[(x + y) & 15]));",
    "one place": "c = READ(s, (int2)(W + 1, -1));",
    "one row": "c = READ(s, (int2)(at[y & 15], y));",
    "one place, some lanes": "if ((x & 3) == 1) c = READ(s, (int2)(W, 0));",
    "some lanes": "if ((x ^ y) & 2) c = READ(s, (int2)(x - 5, y)); else if (x & 1) c = READ(s, (int2)(x, y + 5));",
    "turns of their own": "for (int i = 0; i < at[x & 15]; ++i) c += READ(s, (int2)(x + i, y - i));",
    "left early": "if (y == 3) return; for (int i = 0; i < 9; ++i) { c += READ(s, (int2)(x - i, y)); if (i == (x & 7)) break; }",
    "behind a barrier": """t[l] = x; barrier(CLK_LOCAL_MEM_FENCE); c = READ(s, (int2)(t[l] - 1, y));
      barrier(CLK_LOCAL_MEM_FENCE); c += READ(s, (int2)(x, t[l] - 2));""",
}


def kernel(body: str, suffix: str = "f", head: str = INTEGER[0], image: str = "image2d_t", **macros: int) -> str:
    names = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    return f"""{names}
    #define READ(...) read_image{suffix}(im, __VA_ARGS__)
    __kernel void k(read_only {image} im, __global {TYPE[suffix]}* r, __global const int* at, __local int* t) {{
      {head}
      int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
      int l = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
      {TYPE[suffix]} c = 0; {body}
      r[x + get_global_size(0) * (y + get_global_size(1) * z)] = c; }}"""


def arguments(image: Image, items: int, suffix: str = "f") -> list[oracle.Arg]:
    colour = np.zeros((items, 4), {"f": np.float32, "i": np.int32, "ui": np.uint32}[suffix])
    at = np.array([3, -1, 7, 22, 0, 5, -9, 1, 2, 40, 6, 4, 9, -3, 8, 10], np.int32)
    return [image, Buffer(colour), Buffer(at), Local(4096)]


@pytest.mark.each_value
@pytest.mark.parametrize("head", INTEGER, ids=["clamp", "edge"])
@pytest.mark.parametrize(("size", "local"), [((48, 12), (16, 4)), ((37, 11), (16, 4)), ((24, 8), (4, 4))])
@pytest.mark.parametrize("name", BODIES)
def test_two_dimensions(both, name, size, local, head):
    """Whole groups and groups at an edge, tiles of one row and of several."""
    image = Image(texels((1, 5, 19), "FLOAT"))
    found = both(kernel(BODIES[name], head=head, W=19), size, local, arguments(image, size[0] * size[1])).findings
    assert {f.kind.label for f in found} == {"clamped-read"}


@pytest.mark.parametrize("head", INTEGER, ids=["clamp", "edge"])
@pytest.mark.parametrize(
    ("kind", "shape", "body"),
    [
        ("image1d", (1, 1, 30), "c = READ(s, x - 3); c += READ(s, 3 * x); c += READ(s, -1);"),
        ("image1d_array", (4, 1, 30), "c = READ(s, (int2)(x - 3, y - 1));"),
        ("image2d_array", (5, 6, 30), "c = READ(s, (int4)(x - 1, y - 1, z - 2, 0)) + READ(s, (int4)(y, x, at[x & 15], 0));"),
        ("image3d", (5, 6, 30), "c = READ(s, (int4)(x - 1, y, z + 2, 0)) + READ(s, (int4)(x, at[x & 15], -z, 0));"),
    ],
)
def test_other_dimensions(both, kind, shape, body, head):
    """A layer is clamped whatever the mode, and its note names the one that was read."""
    image = Image(texels(shape, "FLOAT"), kind)
    found = both(kernel(body, head=head, image=f"{kind}_t"), (32, 8, 4), (8, 2, 2), arguments(image, 1024)).findings
    assert found
    assert {f.kind.label for f in found} == {"clamped-read"}


@pytest.mark.each_value
@pytest.mark.parametrize(("order", "head"), [("R", INTEGER[0]), ("RG", INTEGER[1]), ("RGBA", INTEGER[0]), ("A", INTEGER[1])])
@pytest.mark.parametrize("channel_type", READ)
def test_formats(both, channel_type, order, head):
    suffix = READ[channel_type]
    image = Image(texels((1, 6, 30), channel_type, len(order)), "image2d", order, channel_type)
    result = both(kernel(BODIES["taps"], suffix, head=head), (32, 8), (16, 2), arguments(image, 256, suffix))
    assert [f.kind.label for f in result.findings] == ["clamped-read"]
    assert result.outputs[1].any()


@pytest.mark.each_value
@pytest.mark.parametrize("place", ["u", "u.yx - 3", "(float2)(-7.5f, 2)", "u * (float2)(0.03f, 0.1f) - 0.1f"])
@pytest.mark.parametrize("filter", ["NEAREST", "LINEAR"])
@pytest.mark.parametrize("normal", ["FALSE", "TRUE"])
def test_float_coordinates(both, normal, filter, place):
    """Texels without weight are no reads: only some of the places where the filter touches the border have a note."""
    body = f"float2 u = (float2)(x * 0.5f, y * 0.5f); if ((x + y) % 5) c = READ(s, {place});"
    source = kernel(body, head=SAMPLER.format(normal, "CLAMP", filter))
    found = both(
        source, (32, 8), (16, 2), arguments(Image(texels((1, 4, 12), "HALF_FLOAT"), "image2d", "RGBA", "HALF_FLOAT"), 256)
    )
    assert {f.kind.label for f in found.findings} <= {"clamped-read"}


def test_count_first_place_and_text_are_those_of_the_program(both):
    """Against a count made by hand: work-items (x, y) of 40 x 10 read (x + dx, y + dy) of 33 x 7 texels."""
    source = kernel("for (int dy = 0; dy < 3; ++dy) for (int dx = -1; dx < 2; ++dx) c += READ(s, (int2)(x + dx, y + dy));")
    (found,) = both(source, (40, 10), (8, 5), arguments(Image(texels((1, 7, 33), "FLOAT")), 400), threads=2).findings
    reads = [(x + dx, y + dy) for y in range(10) for x in range(40) for dy in range(3) for dx in (-1, 0, 1)]
    assert found.count == sum(not (0 <= x < 33 and 0 <= y < 7) for x, y in reads)
    assert found.work_item.global_id == (0, 0, 0)
    assert found.access.coordinate == (-1, 0)
    assert found.access.extent == (33, 7)
    assert found.severity.name == "NOTE"
    assert "(-1, 0)" in found.message
    assert "(33, 7)" in found.message


def test_the_first_is_by_work_item_not_by_tile(both):
    """Tiles are 4 wide: that of (1, 1) runs before that of (4, 0), which is the earlier work-item."""
    source = kernel("c = READ(s, (int2)((x == 1 && y == 1) || (x == 4 && y == 0) ? -x : 0, y));")
    (found,) = both(source, (12, 4), (12, 4), arguments(Image(texels((1, 4, 9), "FLOAT")), 48)).findings
    assert found.work_item.global_id == (4, 0, 0)
    assert found.access.coordinate == (-4, 0)
    assert found.count == 2


def test_where_the_launch_is_run_again_nothing_is_counted_twice(both):
    """The second read has no sampler: its check fails, and what the first run noted is dropped."""
    body = "c = READ(s, (int2)(x - 1, y)); c += READ((int2)(x, y + 2));"
    found = both(kernel(body), (32, 8), (16, 4), arguments(Image(texels((1, 8, 32), "FLOAT")), 256), again=True).findings
    assert sorted((f.kind.label, f.count) for f in found) == [("clamped-read", 8), ("image-read-out-of-range", 64)]


def test_a_sampler_of_mode_none_still_runs_again(both):
    source = kernel("c = READ(s, (int2)(x - 1, y));", head=SAMPLER.format("FALSE", "NONE", "NEAREST"))
    (found,) = both(source, (32, 4), (16, 2), arguments(Image(texels((1, 4, 32), "FLOAT")), 128), again=True).findings
    assert found.kind.label == "image-read-out-of-range"
    assert found.count == 4


def test_code_that_is_no_vectors(both):
    """Atomic operations leave a kernel to the scalar emitter."""
    source = """__kernel void k(read_only image2d_t im, sampler_t s, __global int* r, int n) {
      int x = get_global_id(0), y = get_global_id(1);
      for (int i = 0; i < n; ++i) atomic_add(r, (int)(read_imagef(im, s, (int2)(x - i, y + i)).x * 8)); }"""
    args = [Image(texels((1, 4, 32), "FLOAT")), Sampler(False, "clamp", "nearest"), Buffer(np.zeros(1, np.int32))]
    (found,) = both(source, (32, 4), (8, 4), [*args, Scalar(np.int32(3))], vectors=False).findings
    outside = [x < i or y + i > 3 for x in range(32) for y in range(4) for i in range(3)]
    assert found.kind.label == "clamped-read"
    assert found.count == sum(outside)


def test_launches_of_one_kernel_count_each_for_itself(engine):
    image = Image(texels((1, 4, 16), "FLOAT"))
    source = kernel("c = READ(s, (int2)(x, y));")
    counts = []
    for width in (32, 24, 32, 16, 24):
        counts.append([f.count for f in engine.run(source, "k", (width, 4), (8, 2), arguments(image, 128)).findings])
    assert counts == [[64], [32], [64], [], [32]]
