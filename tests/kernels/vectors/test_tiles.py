"""Which work-items are one vector: rows of the group, part of a row, or a column, by what accesses cost. Values are the same."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Scalar

from adreno_sim import open_device
from adreno_sim.base.host.current import current_family
from adreno_sim.base.host.x86_64 import X86_64
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import BufferArg, ScalarArg, Specialization
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.vector import kernel as vector_kernel
from adreno_sim.frontend.program import FrontEndTarget, compile_source

WIDE, WITHOUT_MASKS = "+avx512vl,+avx512bw,+f16c,+fma", "+avx512vl,-avx512bw,+f16c,+fma"
HEAD = """kernel void k(global const T *a, global T *r, int step, int n) {
  int x = get_global_id(0), y = get_global_id(1); T s = 0; """
BLUR = "r[y * step + x] = a[y * step + x] + a[y * step + x + 1] + a[(y + 1) * step + x];"
ROWS = "for (int i = 0; i < n; i++) s += a[x * step + i] * a[i]; r[x * step + n + y] = s;"
COLUMNS = "for (int i = 0; i < n; i++) s += a[y * step + i] * a[i * step + x]; r[y * step + x] = s;"
WORDS = """global const uchar4 *p = (global const uchar4 *)a; global uchar4 *q = (global uchar4 *)r;
  for (int i = 0; i < n; i++) q[(y + i) * step + x] = min(p[(y + i) * step + x], p[(y + i) * step + x + 1]);"""
PRODUCT = "s = a[x + y]; for (int i = 0; i < 200; i++) s = s * s + a[i]; r[y * step + x] = s;"


def tile(monkeypatch, body: str, local: tuple[int, int, int]) -> tuple[int, int, int]:
    """The tile of the code of a launch of 32 by 32 work-items: what is proven of a launch counts."""
    found = []
    choose = vector_kernel.choose_shapes

    def note(*args):
        found.append(choose(*args))
        return found[-1]

    monkeypatch.setattr(vector_kernel, "choose_shapes", note)
    device = open_device("sim:adreno-740,checks=bounds,cache=false")
    views = [device.view(device.allocate(8192), BufferSpec(8192, "float32")) for _ in range(2)]
    kernel = device.build(HEAD + body + " }", "-DT=float")["k"]
    device.launch(kernel, (32, 32, 1), local, [*views, np.int32(40), np.int32(5)])
    return found[-1].tile.size


@pytest.mark.skipif(objects.machine().processor.lane_counts[0] != 16, reason="this processor has 8 lanes")
@pytest.mark.parametrize(
    ("body", "local", "size"),
    [
        (BLUR, (8, 8, 1), (8, 1, 1)),  # two rows lie a step apart
        (BLUR, (16, 8, 1), (16, 1, 1)),
        (BLUR, (4, 16, 1), (4, 4, 1)),  # a quarter of the lanes would not pay
        (WORDS, (8, 8, 1), (8, 1, 1)),  # four bytes are one word: nothing is shuffled
        (PRODUCT, (8, 8, 1), (8, 2, 1)),  # what is computed costs more
        (ROWS, (16, 16, 1), (1, 16, 1)),  # neighbours along y read the same
        (ROWS, (16, 8, 1), (16, 1, 1)),
        (COLUMNS, (16, 16, 1), (16, 1, 1)),
    ],
    ids=["blur", "wide", "narrow", "words", "computes", "rows", "few", "columns"],
)
def test_the_tile_that_costs_least(monkeypatch, body, local, size):
    assert tile(monkeypatch, body, local) == size


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
@pytest.mark.parametrize("local", [(8, 8), (16, 16), (1, 16), (4, 8)])
def test_values_do_not_depend_on_it(engine, local, checks):
    a = np.random.default_rng(4).integers(0, 9, 40 * 40).astype(np.float32)
    grid = a.reshape(40, 40)
    y, x = np.mgrid[:32, :32]
    wanted = {
        BLUR: grid[y, x] + grid[y, x + 1] + grid[y + 1, x],
        COLUMNS: grid[:32, :5] @ grid[:5, :32],
    }
    for body, values in wanted.items():
        args = [Buffer(a), Buffer(np.zeros_like(a)), Scalar(np.int32(40)), Scalar(np.int32(5))]
        found = engine.run(HEAD + body + " }", "k", (32, 32), local, args, options="-DT=float", checks=checks)
        np.testing.assert_array_equal(found.outputs[1].reshape(40, 40)[:32, :32], values)
        assert not found.findings
    args = [Buffer(a), Buffer(np.zeros(32 * 40, np.float32)), Scalar(np.int32(40)), Scalar(np.int32(5))]
    body = ROWS.replace("n + y", "y")
    found = engine.run(HEAD + body + " }", "k", (32, 32), local, args, options="-DT=float", checks=checks).outputs[1]
    np.testing.assert_array_equal(found.reshape(32, 40)[:, :32], np.tile((grid[:32, :5] @ a[:5])[:, None], 32))


WIDE_VECTORS = """kernel void k(global const T *a, global T *r, int step, int n) {
  int x = get_global_id(0), y = get_global_id(1); T16 t[6];
  for (int i = 0; i < 6; i++) t[i] = vload16(x, a + i);
  T16 least = t[0]; for (int i = 1; i < 6; i++) least = min(least, t[i]);
  vstore16(least, x, r); }"""


def describe(source: str, dtype: str, checks: str) -> str:
    """How the code of a launch was made, in words."""
    device = open_device(f"sim:adreno-740,checks={checks},cache=false")
    views = [device.view(device.allocate(8192), BufferSpec(8192, "uint8")) for _ in range(2)]
    kernel = device.build(source, f"-DT={dtype} -DT16={dtype}16")["k"]
    result = device.launch(kernel, (32, 1, 1), (32, 1, 1), [*views, np.int32(4), np.int32(5)])
    return result.code[-1].description


@pytest.mark.skipif(objects.machine().processor.lane_counts[0] != 16, reason="this processor has 8 lanes")
def test_wide_vectors_of_one_work_item_need_no_lanes():
    assert "lanes cost more" in describe(WIDE_VECTORS, "uchar", "bounds")
    assert "lanes cost more" not in describe(WIDE_VECTORS, "uchar", "full")
    assert "lanes cost more" not in describe(
        WIDE_VECTORS.replace("T16", "T")
        .replace("vload16(x, a + i)", "a[x + i]")
        .replace("vstore16(least, x, r)", "r[x] = least"),
        "int",
        "bounds",
    )


STORES = {
    "backwards": "95 - x",
    "pairs": "x ^ 1",
    "every second": "x * 2",
    "every fourth": "x * 4 + 3",
    "apart": "x * 17",
}


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
@pytest.mark.parametrize("type", ["uchar", "ushort", "int", "long"])
def test_lanes_store_in_any_order_and_nothing_between(engine, type, checks):
    dtype = {"uchar": np.uint8, "ushort": np.uint16, "int": np.int32, "long": np.int64}[type]
    for index in STORES.values():
        for condition in ("true", "x % 3"):
            source = f"""kernel void k(global {type} *r, global const {type} *a) {{
              int x = get_global_id(0); if ({condition}) r[{index}] = a[x]; }}"""
            a, r = np.arange(1, 97).astype(dtype), np.full(96 * 17, 200, dtype)
            found = engine.run(source, "k", (96,), (32,), [Buffer(r), Buffer(a)], checks=checks)
            x = np.arange(96)
            x = x if condition == "true" else x[x % 3 != 0]
            wanted = r.copy()
            wanted[eval(index, {"x": x})] = a[x]
            np.testing.assert_array_equal(found.outputs[0], wanted, index)
            assert not found.findings


@pytest.mark.skipif(current_family() is not X86_64, reason="features of x86-64")
@pytest.mark.parametrize(("features", "single"), [(WIDE, False), (WITHOUT_MASKS, True)])
def test_bytes_apart_are_one_store_where_some_bytes_of_a_vector_can_be_stored(monkeypatch, features, single):
    monkeypatch.setattr(objects, "_machine", objects.Machine("x86-64-v4", features, X86_64))
    source = "kernel void k(global uchar *r, global const uchar *a) { int x = get_global_id(0); if (a[x]) r[x * 4 + 3] = a[x]; }"
    kernel = compile_source(source, target=FrontEndTarget()).kernels["k"]
    spec = Specialization(
        args=(BufferArg(), BufferArg()), local_size=(64, 1, 1), most_groups=(8, 1, 1), checks="off", emitter="spmd"
    )
    assert ("llvm.masked.store" not in codegen.emit_module(kernel, spec).text) == single


APART = "for (int i = 0; i < x; i++) r[x * step] = a[x * step] + i;"
SIDE_BY_SIDE = "for (int i = 0; i < x; i++) r[x] = a[x] + i;"


@pytest.mark.skipif(current_family() is not X86_64, reason="features of x86-64")
@pytest.mark.parametrize(
    ("features", "body", "skipped"),
    [("+sse4a", APART, True), ("-sse4a", APART, False), ("+sse4a", SIDE_BY_SIDE, True), ("-sse4a", SIDE_BY_SIDE, True)],
)
def test_accesses_are_branched_around_where_they_are_slow_without_lanes(monkeypatch, features, body, skipped):
    monkeypatch.setattr(objects, "_machine", objects.Machine("x86-64-v4", f"{WIDE},{features}", X86_64))
    source = f"#define T int\n{HEAD} {body} }}"
    kernel = compile_source(source, target=FrontEndTarget()).kernels["k"]
    args = (BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4))
    spec = Specialization(args=args, local_size=(64, 1, 1), most_groups=(8, 1, 1), checks="off", emitter="spmd")
    text = codegen.emit_module(kernel, spec).text
    assert ("masked.scatter" in text) == (body is APART)
    assert ("some." in text.partition("; runtime")[0]) == skipped
