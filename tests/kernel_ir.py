"""The kernel IR of small kernels, for tests of the front end."""

from __future__ import annotations

from collections import Counter

from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.ir import Instr

HALF = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
TARGET = FrontEndTarget(300, fp64=True)


def module(source: str) -> ir.Module:
    return compile_source(source, "-cl-std=CL3.0", target=TARGET)


def kernel(source: str) -> ir.Function:
    return module(source).kernels["k"]


def instrs(function: ir.Function, *ops: str) -> list[Instr]:
    return [instr for block in function.blocks for instr in block.instrs if not ops or instr.op in ops]


def ops(function: ir.Function) -> Counter[str]:
    return Counter(instr.op for instr in instrs(function))


def calls(function: ir.Function) -> list[tuple[str, ...]]:
    return [(instr.callee.name, *instr.callee.args) for instr in instrs(function, "call") if instr.callee]
