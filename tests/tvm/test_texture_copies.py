"""Copies through a texture inside a kernel: every element type, texel size and read width gives the bytes back.

TVM moves integers through float channels; small ones are denormals as floats, which Adreno flushes in arithmetic but
never when moving. The functions come scheduled, as a tuner leaves them: buffer to texture, texture to buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.run.vm import run
from adreno_sim.compiler.schedules.blocks import bind_threads
from adreno_sim.compiler.tvm_bridge.versions import import_tvm, tensor_type

pytestmark = pytest.mark.tvm

ROWS, COLUMNS = 7, 9

CASES = [
    (dtype, texel, width)
    for dtype in ("int8", "int16", "int32", "float32", "float16")
    for texel in (64, 128)
    for width in (1, 2, 4, 8, 16)
    if width * np.dtype(dtype).itemsize * 8 <= texel and texel // (np.dtype(dtype).itemsize * 8) in (4, 8, 16)
]
"""dtype, bits of a texel, elements per read."""


def copy_module(dtype: str, texel: int, width: int) -> Any:
    tvm = import_tvm()
    relax, te = tvm.relax, tvm.te
    shape = (ROWS, COLUMNS, texel // (np.dtype(dtype).itemsize * 8))
    sizes = [tvm.tirx.IntImm("int64", size) for size in shape]  # as Relax has them
    source = te.placeholder(sizes, dtype, "source")
    target = te.compute(sizes, lambda i, j, k: source[i, j, k], "target")
    sch = tvm.s_tir.Schedule(te.create_prim_func([source, target]))
    store = sch.get_sblock("target")
    load = sch.cache_read(store, 0, "global.texture-weight")
    *outer, lane = sch.get_loops(load)
    bind_threads(sch, outer)
    sch.vectorize(lane)
    *outer, lane = sch.get_loops(store)
    parts, piece = sch.split(lane, [None, width])
    bind_threads(sch, [*outer, parts])
    sch.vectorize(piece)
    func = sch.mod["main"].with_attr("tirx.is_scheduled", True).without_attr("global_symbol")
    builder = relax.BlockBuilder()
    name = builder.add_func(func, "copy")
    x = relax.Var("x", tensor_type(shape, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.call_tir(name, [x], tensor_type(shape, dtype)))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(("dtype", "texel", "width"), CASES)
def test_copy(dtype: str, texel: int, width: int, adreno: Any) -> None:
    lowered = lower(copy_module(dtype, texel, width), "texture")
    assert "write_image" in "".join(lowered.sources.values())
    compiled = extract(lowered, "copy")
    generator = np.random.default_rng(texel + width)
    count = ROWS * COLUMNS * texel // (np.dtype(dtype).itemsize * 8)
    limits = np.iinfo(dtype) if dtype.startswith("int") else None
    values = generator.integers(limits.min, limits.max, count, endpoint=True) if limits else generator.standard_normal(count)
    values[: count // 2] = np.arange(count // 2) % 5  # denormals as floats
    array = values.astype(dtype).reshape(ROWS, COLUMNS, -1)
    (copied,) = run(compiled, {"x": array}, adreno)
    np.testing.assert_array_equal(copied, array)
