"""The operations of one execution of an instruction, by type: a vector counts its elements.

Values that only move (phis, casts of bits, elements of vectors), addresses (gep) and the ids of work-items count nothing.
"""

from __future__ import annotations

import re

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.provenance import is_pointer

COMPARE, CONVERT, WIDTH, SPECIAL, ATOMIC = "compare", "conversion", "width", "special", "atomic"

_PLAIN = frozenset((
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor",
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg",
))  # fmt: skip
_CONVERSIONS = frozenset(("fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp"))
_WIDTHS = frozenset(("trunc", "zext", "sext"))

_SPECIAL = re.compile(
    r"(native|half)_\w+|(llvm\.)?(r?sqrt|cbrt|hypot|exp(2|10|m1)?|log(2|10|1p|b)?|pow(n|r|i)?|rootn"
    r"|a?(sin|cos|tan)(h|pi)?|atan2(pi)?|sincos|erfc?|[lt]gamma(_r)?)(\.\w+)?"
)
_COMPARING = frozenset(("any", "all", "select", "bitselect"))
_CONVERTING = re.compile(r"convert_\w+")

_TWO = frozenset(("fma", "mad", "mad24", "mad_hi", "mad_sat", "llvm.fma", "llvm.fmuladd", "clamp"))
_PER_LANE = {"mix": 3, "smoothstep": 8, "degrees": 1, "radians": 1, "fract": 2}
_PACKED_DOT = re.compile(r"(dot_|dot_acc_sat_)4x8packed_\w+|qcom_u?dot8_acc|dot_acc_sat")


def operations_of(instr: ir.Instr) -> dict[str, int]:
    """Returns the operations of one execution by one work-item, by type; {} for an instruction that computes nothing."""
    if instr.op == "call":
        return _operations_of_call(instr)
    if instr.op in ("atomicrmw", "cmpxchg"):
        return {ATOMIC: 1}
    if instr.op in ("icmp", "fcmp"):
        return {COMPARE: llvm_types.lanes_of(ir.type_of(instr.operands[0]))}
    if instr.op == "select":
        return {} if is_pointer(instr) else {COMPARE: llvm_types.lanes_of(instr.type)}
    if instr.op in _CONVERSIONS:
        return {CONVERT: llvm_types.lanes_of(instr.type)}
    if instr.op in _WIDTHS:
        return {WIDTH: llvm_types.lanes_of(instr.type)}
    return _of_type(instr.type) if instr.op in _PLAIN else {}


def _of_type(type: ir.Type, times: int = 1) -> dict[str, int]:
    """Returns `times` operations for each element of `type`; logic of conditions counts as comparing."""
    elem, lanes = llvm_types.elem_of(type), llvm_types.lanes_of(type)
    if isinstance(elem, ir.Float):
        return {f"float{elem.bits}": times * lanes}
    if isinstance(elem, ir.Int):
        return {COMPARE if elem.bits == 1 else f"int{elem.bits}": times * lanes}
    return {}


def _operations_of_call(instr: ir.Instr) -> dict[str, int]:
    assert instr.callee is not None
    row, name = builtin_of(instr), instr.callee.name
    if name.startswith("llvm."):
        name = ".".join(name.split(".")[:2])
    if row.atomic:
        return {ATOMIC: 1}
    if row.tells_truth or name in _COMPARING:
        return {COMPARE: llvm_types.lanes_of(ir.type_of(instr.operands[0]))}
    if row.query or row.image or row.vector or row.reinterprets or row.fence_flags or row.picks_lanes:
        return {}
    if _CONVERTING.fullmatch(name):
        return {CONVERT: llvm_types.lanes_of(instr.type)}
    computes = row.elementwise or row.uniformity == "operands" or row.sync is not None
    return _operations_of_function(instr, name) if computes and row.has_result else {}


def _operations_of_function(instr: ir.Instr, name: str) -> dict[str, int]:
    """Returns the operations of a function of numbers. One without a rule counts one for each element of its result."""
    first = ir.type_of(instr.operands[0]) if instr.operands else instr.type
    lanes = llvm_types.lanes_of(first)
    if _SPECIAL.fullmatch(name):
        return {SPECIAL: llvm_types.lanes_of(instr.type)}
    if _PACKED_DOT.fullmatch(name):
        return {"int8": 8}
    if name == "dot":
        return _of_type(instr.type, 2 * lanes - 1)
    if name in ("length", "fast_length"):
        return {**_of_type(instr.type, 2 * lanes - 1), SPECIAL: 1}
    if name in ("distance", "fast_distance"):
        return {**_of_type(instr.type, 3 * lanes - 1), SPECIAL: 1}
    if name in ("normalize", "fast_normalize"):
        return {**_of_type(llvm_types.elem_of(instr.type), 3 * lanes - 1), SPECIAL: 1}
    if name == "cross":
        return _of_type(llvm_types.elem_of(instr.type), 9)
    return _of_type(instr.type, 2 if name in _TWO else _PER_LANE.get(name, 1))
