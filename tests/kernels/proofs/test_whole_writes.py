"""Level full marks nothing where a launch is proven to write all of an argument: which launches are, and that it is so.

What one work-item after the other marks is the judge: that code marks each byte it writes.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.backends.sim.device import SimDevice
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.engine.prove.exact_conditions import ExactConditions
from adreno_sim.findings import Finding
from adreno_sim.memory.storage import StorageView

IMAGE = ImageSpec("image2d", 24, 6, 1, "RGBA", "FLOAT")
ARRAY = ImageSpec("image2d_array", 16, 4, 3, "RGBA", "HALF_FLOAT")


def launch(emitter: str, source: str, grid: tuple[Any, Any], args: list[Any]) -> tuple[bool, list[Finding], list[bytes]]:
    """Whether the first argument is proven to be written whole; findings, and which bytes of the views were written."""
    device = open_device("sim:adreno-740", checks="full", cache=False, emitter=emitter)
    assert isinstance(device, SimDevice)
    given = []
    for arg in args:
        if isinstance(arg, np.generic):
            given.append(arg)
            continue
        spec = BufferSpec(arg.nbytes, arg.dtype.name) if isinstance(arg, np.ndarray) else arg
        given.append(device.view(device.allocate(device.view_nbytes(spec)), spec))
        if isinstance(arg, np.ndarray) and given[1:]:
            device.write(given[-1], arg)
    kernel = device.build(source, "-cl-std=CL2.0")["k"]
    prepared = device.prepare(kernel, *grid, given)
    assert prepared.config.analysis is not None
    found = device.run_prepared(prepared).findings
    views = [view for view in given if isinstance(view, StorageView)]
    written = [view.block.valid.tobytes() for view in views if view.block.valid is not None]
    return 0 in prepared.config.analysis.proven.written_whole, found, written


OUT = np.zeros(960, np.float32)
IN = np.arange(960, dtype=np.float32)
ONE, TWO = ((1024,), (64,)), ((32, 8), (16, 2))
EXACT, QUARTER = ((960,), (64,)), ((240,), (80,))
HEAD = "int i = get_global_id(0), x = get_global_id(0), y = get_global_id(1), l = get_local_id(0), g = get_group_id(0);"
ROWS = " ".join(f"vstore16((float16)(b[i]), g * 4 + {n}, a);" for n in range(4))

BUFFERS = {  # body; grid; whether all is written
    "each its own": ("a[i] = b[i];", EXACT, True),
    "guarded": ("if (i < 960) a[i] = b[i];", ONE, True),
    "guarded by an early return": ("if (i >= 960) return; a[i] = b[i];", ONE, True),
    "guarded by an argument": ("if (i < n) a[i] = b[i];", ONE, True),
    "guarded by group and place": ("if (g * 64 + l < 960) a[g * 64 + l] = b[i];", ONE, True),
    "all but the last": ("if (i < 959) a[i] = b[i];", ONE, False),
    "all but the first": ("if (i > 0 && i < 960) a[i] = b[i];", ONE, False),
    "of half the groups": ("if (g < 7) a[i] = b[i];", EXACT, False),
    "four each": ("if (i < 240) vstore4(vload4(i, b), i, a);", ONE, True),
    "four each, in a loop": ("if (i < 240) for (int n = 0; n < 4; n++) a[i * 4 + n] = b[i];", ONE, False),
    "four each, in a loop of all": ("for (int n = 0; n < 4; n++) a[i * 4 + n] = b[i];", QUARTER, True),
    "a row of each group": ("for (int n = l; n < 320; n += 80) a[g * 320 + n] = b[n];", ((240,), (80,)), True),
    "a row of each group, no multiple": ("for (int n = l; n < 320; n += 96) a[g * 320 + n] = b[n];", ((288,), (96,)), True),
    "a row of each group but its end": ("for (int n = l; n < 319; n += 80) a[g * 320 + n] = b[n];", ((240,), (80,)), False),
    "a row of each group, if data says so": (
        "for (int n = l; n < 320; n += 80) if (b[n] < 300) a[g * 320 + n] = b[n];", ((240,), (80,)), False,
    ),
    "a row of each group, until data says so": (
        "for (int n = l; n < 320; n += 80) { if (b[n] > 300) break; a[g * 320 + n] = b[n]; }", ((240,), (80,)), False,
    ),
    "a row of each group, until data says so, by a return": (
        "for (int n = l; n < 320; n += 80) { if (b[n] > 300) return; a[g * 320 + n] = b[n]; }", ((240,), (80,)), False,
    ),
    "rows twice": ("for (int m = 0; m < 2; m++) for (int n = l; n < 320; n += 80) a[g * 320 + n] = m;", ((240,), (80,)), False),
    "half rows twice": (
        "for (int m = 0; m < 2; m++) for (int n = l; n < 160; n += 80) a[g * 320 + n] = m;", ((240,), (80,)), False,
    ),
    "rows of rows": (
        "for (int m = 0; m < 2; m++) for (int n = l; n < 160; n += 80) a[g * 320 + m * 160 + n] = m;", ((240,), (80,)), True,
    ),
    "all but the first iteration": ("for (int n = 0; n < 5; n++) if (n) a[i * 4 + n - 1] = b[i];", QUARTER, True),
    "do while": ("int m = 0; do { a[i * 4 + m] = b[i]; m++; } while (m < 4);", QUARTER, False),  # is not counted
    "four each, written out": ("if (i < 240) { a[i * 4] = a[i * 4 + 1] = 2; a[i * 4 + 2] = b[i]; a[i * 4 + 3] = 4; }", ONE, True),
    "three of four": ("if (i < 240) { a[i * 4] = 1; a[i * 4 + 1] = 2; a[i * 4 + 2] = b[i]; }", ONE, False),
    "the other way round": ("if (i < 960) a[959 - i] = b[i];", ONE, True),
    "one of two ways": ("if (i < 960) { if (i < 480) a[i] = 1; else a[i] = b[i]; }", ONE, True),
    "one of two ways, by data": ("if (i < 960) { if (b[i] < 480) a[i] = 1; else a[i] = b[i]; }", ONE, False),
    "if data says so": ("if (b[i % 960] < 2000) { if (i < 960) a[i] = 1; }", ONE, False),
    "two conditions": ("if (x < 32 && y < 8) a[y * 32 + x] = 1; if (x < 32 && y < 8) a[256 + y * 32 + x] = 2;", TWO, False),
    "a plane": ("if (x < 30 && y < 8) vstore4((float4)(1), y * 30 + x, a);", TWO, True),
    "behind a loop": (
        "float s = 0; for (int n = 0; n < 3; n++) if (b[n] > x) s += b[n]; if (x < 30) vstore4((float4)(s), y * 30 + x, a);",
        TWO, True,
    ),
    "unless a loop ends early": (
        "for (int n = 0; n < 3; n++) if (b[n] > x) return; if (x < 30) vstore4((float4)(1), y * 30 + x, a);", TWO, False,
    ),
    "a plane that lacks a row": ("if (x < 30 && y < 7) vstore4((float4)(1), y * 30 + x, a);", TWO, False),
    "a triangle": ("if (x < 30 && y < 8 && x + y < 36) vstore4((float4)(1), y * 30 + x, a);", TWO, False),
    "what is read too": ("if (i < 960) { a[i] = b[i]; a[i] = a[i] + 1; }", ONE, False),
    "twice the same": ("if (i < 960) { a[i] = 3; a[i] = b[i]; }", ONE, False),
    "some twice": ("if (i < 960) a[i % 480] = b[i];", ONE, False),
    "quotients": ("if (i < 960) a[i / 4 + (i % 4) * 240] = b[i];", ONE, True),
    "behind a barrier": ("barrier(CLK_LOCAL_MEM_FENCE); if (i < 960) a[i] = b[i];", ONE, True),
    "behind a barrier on one way": ("if (g > 3) return; barrier(CLK_LOCAL_MEM_FENCE); if (i < 960) a[i] = b[i];", ONE, False),
    "behind a barrier that some pass": ("if (l < 3) barrier(CLK_LOCAL_MEM_FENCE); if (i < 960) a[i] = b[i];", ONE, False),
    "by one of each group": (f"if (l == 3) {{ {ROWS} }}", EXACT, True),
    "by one of each group, or two": (f"if (l == b[3]) {{ {ROWS} }}", EXACT, False),
    "by nobody": (f"if (l == 64) {{ {ROWS} }}", EXACT, False),
    "by all but one": ("if (i != 70) a[i] = b[i];", EXACT, False),
    "unsigned": ("uint u = get_global_id(0); if (u < 960u) a[u] = b[u];", ONE, True),
    "either end": ("if (!(i >= 960)) a[i] = b[i];", ONE, True),
    "as TVM asks": ("if (((bool)(x < 30)) && ((bool)(y < 8))) vstore4((float4)(1), y * 30 + x, a);", TWO, True),
    "and of numbers": ("if ((x < 30) & (y < 8)) vstore4((float4)(1), y * 30 + x, a);", TWO, True),
    "or": ("if (i < 480 || (i >= 480 && i < 960)) a[i] = b[i];", ONE, False),
}  # fmt: skip


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers(name: str) -> None:
    body, grid, whole = BUFFERS[name]
    source = f"kernel void k(global float *a, global const float *b, int n) {{ {HEAD} {body} }}"
    check(source, grid, [OUT, IN, np.int32(960)], whole)


AT, IN_ARRAY = "(int2)(x, y)", "(int4)(x, y, g, 0)"
IMAGES = {
    "a texel each": ("image2d_t", f"if (x < 24 && y < 6) write_imagef(a, {AT}, (float4)(b[x]));", IMAGE, ((32, 8), (8, 2)), True),
    "a texel each, exactly": ("image2d_t", f"write_imagef(a, {AT}, (float4)(b[x]));", IMAGE, ((24, 6), (8, 2)), True),
    "one column too few": ("image2d_t", f"if (x < 23) write_imagef(a, {AT}, (float4)(b[x]));", IMAGE, ((24, 6), (8, 2)), False),
    "by quotients": ("image2d_t", "write_imagef(a, (int2)(i % 24, i / 24), (float4)(b[i]));", IMAGE, ((144,), (16,)), True),
    "layers": (
        "image2d_array_t", "int z = get_global_id(2); if (x < 16) write_imageh(a, (int4)(x, y, z, 0), (half4)(b[x]));",
        ARRAY, ((32, 4, 3), (32, 1, 1)), True,
    ),
    "layers, one left out": (
        "image2d_array_t", "int z = get_global_id(2); write_imageh(a, (int4)(x, y, z, 0), (half4)(b[x]));",
        ARRAY, ((16, 4, 2), (16, 1, 1)), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str) -> None:
    kind, body, spec, grid, whole = IMAGES[name]
    source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    source += f"kernel void k(write_only {kind} a, global const float *b) {{ {HEAD} {body} }}"
    check(source, grid, [spec, IN], whole)


def check(source: str, grid: Any, args: list[Any], whole: bool | None = None) -> bool:
    """Compares with the code of one work-item. Returns whether all is proven to be written."""
    ours, findings, written = launch("spmd", source, grid, args)
    theirs, others, marked = launch("scalar", source, grid, args)
    assert ours is theirs
    assert whole is None or ours is whole
    assert findings == others
    assert written == marked
    return ours


def test_a_condition_that_is_used_again_and_again_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is made of the one before, twice."""
    asked = [0]
    combine = ExactConditions._combine

    def counted(*args: Any) -> Any:
        asked[0] += 1
        return combine(*args)

    monkeypatch.setattr(ExactConditions, "_combine", counted)
    chain = " ".join(f"int c{n + 1} = c{n} & c{n};" for n in range(16))
    source = f"kernel void k(global float *a, global const float *b) {{ {HEAD} int c0 = i < 960; {chain} if (c16) a[i] = b[i]; }}"
    check(source, EXACT, [OUT, IN], True)
    assert 0 < asked[0] < 100


class RandomWrites:
    """A kernel that writes its elements under random conditions on ids, mostly all of them, by a seed."""

    def __init__(self, seed: int):
        pick = random.Random(seed)
        local = pick.choice([4, 8, 16]), pick.choice([1, 2])
        groups = pick.choice([2, 3, 5]), pick.choice([1, 2, 4])
        self.size = local[0] * groups[0], local[1] * groups[1]
        self.grid = self.size, local
        self.wide, self.high = self.size[0] - pick.choice([0, 0, 1, 3]), self.size[1] - pick.choice([0, 0, 1])
        each = pick.choice([1, 1, 2, 4])
        x, y = "get_global_id(0)", "get_global_id(1)"
        if pick.random() < 0.5:
            x = f"get_group_id(0) * {local[0]} + get_local_id(0)"
        conditions = [self._below(pick, "x", self.wide, self.size[0]), self._below(pick, "y", self.high, self.size[1])]
        if pick.random() < 0.2:
            conditions.append(pick.choice(["x + y >= 1", "x >= 0", "x * 2 + y < 90", "y != 1", "x - y < 40"]))
        pick.shuffle(conditions)
        at = pick.choice([f"y * {self.wide} + x", f"x * {self.high} + y", f"({self.high} - 1 - y) * {self.wide} + x"])
        joined = pick.choice([" && ", " & "]).join(f"({c})" for c in conditions)
        stores = " ".join(f"a[({at}) * {each} + {n}] = x + {n};" for n in range(each) if n or pick.random() < 0.95)
        body = f"if ({joined}) {{ {stores} }}"
        if pick.random() < 0.3:
            body = f"if (!({joined})) return; {stores}"
        if pick.random() < 0.2:
            body = f"if ({conditions[0]}) {{ for (int n = 0; n < 2; n++) if (b[n] < 0) return; {body} }}"
        type = pick.choice(["int", "uint", "long"])
        self.source = f"kernel void k(global float *a, global const float *b) {{ {type} x = {x}, y = {y}; {body} }}"
        self.args = [np.zeros(max(1, self.wide * self.high * each), np.float32), IN]

    @staticmethod
    def _below(pick: random.Random, id: str, bound: int, size: int) -> str:
        forms = [f"{id} < {bound}", f"{id} <= {bound} - 1", f"{bound} > {id}", f"!({id} >= {bound})", f"{id} + 1 <= {bound}"]
        if bound == size:
            forms.append("1")
        return pick.choice(forms)


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(100, 1100, 200))])
def test_random_writes(start: int) -> None:
    count, proven = 30 if not start else 200, 0
    for seed in range(start, start + count):
        kernel = RandomWrites(seed)
        try:
            proven += check(kernel.source, kernel.grid, kernel.args)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{kernel.source}\n{kernel.grid}") from None
    assert count / 4 < proven < count, f"{proven} of {count} are proven"


UNWRITTEN = ["uninitialized-read"]
SCALE = "kernel void k(global float *a, global const float *b) { int i = get_global_id(0); a[i] = b[i] * 2; }"


def test_what_is_written_whole_is_known_to_later_launches() -> None:
    """Without a mark until somebody looks; and forgotten with the memory."""
    device = open_device("sim:adreno-740", checks="full", cache=False)
    kernel = device.build(SCALE)["k"]
    spec = BufferSpec(OUT.nbytes, "float32")
    storages = [device.allocate(OUT.nbytes) for _ in range(3)]
    first, second, third = (device.view(storage, spec) for storage in storages)
    device.write(first, IN)
    for source, target in ((first, second), (second, third), (third, second), (second, third)):
        assert not device.launch(kernel, *EXACT, [target, source]).findings
    np.testing.assert_array_equal(device.read(third), IN * 16)
    half = device.view(storages[1], BufferSpec(OUT.nbytes // 2, "float32"))
    assert not device.launch(kernel, (480,), (32,), [first, half]).findings
    device.discard(half)
    assert [finding.kind.label for finding in device.launch(kernel, (480,), (32,), [first, half]).findings] == [
        "uninitialized-read"
    ]
    assert [finding.kind.label for finding in device.launch(kernel, *EXACT, [third, second]).findings] == UNWRITTEN
    device.free(storages[2])
    again = device.view(device.allocate(OUT.nbytes), spec)
    assert [finding.kind.label for finding in device.launch(kernel, *EXACT, [first, again]).findings] == UNWRITTEN


def test_what_fails_elsewhere_marks_what_it_wrote() -> None:
    """An element of the input is missing: the launch runs again, and marks."""
    source = "kernel void k(global float *a, global const float *b) { int i = get_global_id(0); a[i] = b[i + (i == 70)]; }"
    device = open_device("sim:adreno-740", checks="full", cache=False)
    kernel, spec = device.build(source)["k"], BufferSpec(OUT.nbytes, "float32")
    first, second = (device.view(device.allocate(OUT.nbytes), spec) for _ in range(2))
    half = device.view(second.storage, BufferSpec(1920, "float32"))  # type: ignore[attr-defined]
    device.write(half, IN[:480])
    for _ in range(2):
        found = device.launch(kernel, *EXACT, [first, second]).findings
        assert [finding.kind.label for finding in found] == UNWRITTEN
        assert found[0].count == 480
    (found,) = device.launch(device.build(SCALE)["k"], *EXACT, [second, first]).findings
    assert found.kind.label in UNWRITTEN, "what it wrote is as undefined as what it read"
    assert found.count == 480, "what it wrote is as undefined as what it read"
