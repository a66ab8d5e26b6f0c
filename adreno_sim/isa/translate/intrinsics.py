"""LLVM's intrinsics, as clang leaves them in kernel IR."""

from __future__ import annotations

import re

from ...ir import ir
from ..program import Value
from .arithmetic import regroup
from .elementwise import count_bits, count_leading_zeros, count_trailing_zeros
from .translation import Translation, Values, all_of, bits_of, lane_type, refuse

_IGNORED = ("lifetime", "assume", "dbg", "experimental.noalias", "donothing")
_PLAIN = {
    "fmuladd": ("ffma", 3), "fma": ("ffma", 3), "fabs": ("fabs", 1), "floor": ("ffloor", 1), "ceil": ("fceil", 1),
    "trunc": ("ftrunc", 1), "rint": ("fround_even", 1), "roundeven": ("fround_even", 1), "nearbyint": ("fround_even", 1),
    "sqrt": ("fsqrt", 1), "minnum": ("fmin", 2), "maxnum": ("fmax", 2), "umin": ("umin", 2), "umax": ("umax", 2),
    "smin": ("imin", 2), "smax": ("imax", 2), "uadd.sat": ("uadd_sat", 2), "usub.sat": ("usub_sat", 2),
    "sadd.sat": ("iadd_sat", 2), "ssub.sat": ("isub_sat", 2), "abs": ("iabs", 1), "bitreverse": ("bitfield_reverse", 1),
}  # fmt: skip
"""NIR's operation, and how many of the operands it takes."""
_REDUCED = {
    "add": "iadd", "mul": "imul", "and": "iand", "or": "ior", "xor": "ixor", "fadd": "fadd", "fmul": "fmul", "smax": "imax",
    "smin": "imin", "umax": "umax", "umin": "umin", "fmax": "fmax", "fmin": "fmin",
}  # fmt: skip
_SUFFIX = re.compile(r"\.(v\d+)?[if]\d+(\..*)?$")


def call_intrinsic(translation: Translation, instr: ir.Instr) -> Values | None:
    """Translates a call of an intrinsic."""
    assert instr.callee is not None
    name, program = _SUFFIX.sub("", instr.callee.name.removeprefix("llvm.")), translation.program
    if name.startswith(_IGNORED):
        return None
    if isinstance(instr.type, ir.Void):
        raise refuse(f"the intrinsic llvm.{name}", instr)
    bits = bits_of(lane_type(instr.type))
    op = program.op
    if name in _PLAIN:
        operation, count = _PLAIN[name]
        if name == "bitreverse" and bits != 32:
            raise refuse(f"bitreverse of {bits} bits", instr)
        return translation.map_lanes(instr, lambda *values: op(operation, *values[:count]))
    if name == "copysign":
        sign = 1 << (bits - 1)
        return translation.map_lanes(
            instr,
            lambda x, y: op("ior", op("iand", x, program.constant(~sign, bits)), op("iand", y, program.constant(sign, bits))),
        )
    if name == "ctpop":
        return tuple(count_bits(translation, value) for value in translation.value(instr.operands[0]))
    if name == "ctlz":
        return tuple(count_leading_zeros(translation, value) for value in translation.value(instr.operands[0]))
    if name == "cttz":
        return tuple(count_trailing_zeros(translation, value) for value in translation.value(instr.operands[0]))
    if name in ("fshl", "fshr"):
        return translation.map_lanes(instr, lambda *values: _shift_pair(translation, name, bits, *values))
    if name == "bswap":
        return tuple(
            regroup(translation, regroup(translation, (value,), bits, 8)[::-1], 8, bits)[0]
            for value in translation.value(instr.operands[0])
        )
    if name.startswith("vector.reduce.") and name.removeprefix("vector.reduce.") in _REDUCED:
        operation = _REDUCED[name.removeprefix("vector.reduce.")]
        first, *rest = all_of([translation.value(operand) for operand in instr.operands])
        for value in rest:
            first = op(operation, first, value)
        return (first,)
    raise refuse(f"the intrinsic llvm.{name}", instr)


def _shift_pair(translation: Translation, name: str, bits: int, high: Value, low: Value, by: Value) -> Value:
    """Shifts two integers as one, and takes the upper one (fshl) or the lower one (fshr)."""
    program = translation.program
    op, mask = program.op, program.constant(bits - 1, 32)
    count = op("iand", translation.resize(by, 32), mask)
    rest = op("isub", program.constant(bits, 32), count)
    whole = high
    if name == "fshr":
        count, rest, whole = rest, count, low
    found = op("ior", op("ishl", high, count), op("ushr", low, rest))
    unmoved = op("ieq", op("iand", count, mask), program.constant(0, 32))
    return op("bcsel", unmoved, whole, found)
