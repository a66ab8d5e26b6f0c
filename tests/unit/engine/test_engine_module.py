"""Kernel IR that no OpenCL C source gives, built by hand: it must run defined all the same."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim.base.errors import UnsupportedError
from adreno_sim.engine.abi.specialization import BufferArg, Specialization
from adreno_sim.engine.run import launch
from adreno_sim.engine.run.compiled_kernel import specialize
from adreno_sim.ir import ir

F32, I64 = ir.Float(32), ir.Int(64)
GLOBAL = ir.Pointer(ir.GLOBAL)


def kernel(instrs: list[ir.Instr]) -> ir.Function:
    """A kernel k(global float* a) of one block."""
    block = ir.Block("entry", [*instrs, ir.Instr("ret", ir.Void())])
    return ir.Function("k", [ir.Param("a", GLOBAL, 0)], ir.Void(), [block], is_kernel=True)


def run(function: ir.Function, array: np.ndarray) -> tuple[np.ndarray, list[str]]:
    compiled = specialize(function, Specialization(local_size=(1, 1, 1), args=(BufferArg(),)), keep=False)
    memory, address = launch.zeroed_aligned(array.nbytes)
    memory[:] = array.view(np.uint8)
    result = launch.run(compiled, (1, 1, 1), (0, 0, 0), [launch.BoundBuffer(address, array.nbytes)])
    return memory.view(array.dtype), [f.kind.label for f in result.findings]


def element(function_pointer: ir.Value, index: int) -> ir.Instr:
    return ir.Instr("gep", GLOBAL, [function_pointer, ir.Const(I64, index)], elem=F32)


def test_float_remainder_is_the_librarys():
    function = kernel([])
    a = function.params[0]
    at0, at1, at2 = (element(a, i) for i in range(3))
    x, y = ir.Instr("load", F32, [at0], align=4), ir.Instr("load", F32, [at1], align=4)
    rest = ir.Instr("frem", F32, [x, y])
    function.blocks[0].instrs[:0] = [at0, at1, at2, x, y, rest, ir.Instr("store", ir.Void(), [rest, at2], align=4)]
    out, findings = run(function, np.array([7.5, -2.0, 0], np.float32))
    assert out[2] == np.fmod(np.float32(7.5), np.float32(-2.0))
    assert not findings


def test_undefined_values_are_zero_and_unreachable_code_ends_the_work_item():
    function = kernel([])
    at = element(function.params[0], 0)
    instrs = [at, ir.Instr("store", ir.Void(), [ir.Const(F32, ir.UNDEF), at], align=4), ir.Instr("unreachable", ir.Void())]
    function.blocks[0].instrs = instrs
    out, findings = run(function, np.array([3], np.float32))
    assert out[0] == 0
    assert not findings


def test_a_lane_number_out_of_range_is_found_and_reads_0():
    function = kernel([])
    vector = ir.Vector(F32, 4)
    at = element(function.params[0], 0)
    lanes = ir.Const(vector, tuple(ir.Const(F32, bits) for bits in (0x3F800000, 0x40000000, 0x40400000, 0x40800000)))
    got = ir.Instr("extractelement", F32, [lanes, ir.Const(ir.Int(32), 6)])
    function.blocks[0].instrs[:0] = [at, got, ir.Instr("store", ir.Void(), [got, at], align=4)]
    out, findings = run(function, np.ones(1, np.float32))
    assert out[0] == 0
    assert findings == ["out-of-bounds-read"]


def test_an_unknown_instruction_is_refused_by_name_and_place():
    function = kernel([ir.Instr("va_arg", F32, [], loc=ir.SourceLoc(7, 3))])
    with pytest.raises(UnsupportedError, match="unsupported: instruction va_arg at 7:3"):
        run(function, np.zeros(1, np.float32))
