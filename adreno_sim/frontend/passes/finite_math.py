"""What a compiler may make of tests for NaN and infinity where a program promises that there is neither (-cl-finite-math-only):
they have one result, whatever is tested.

Ordered and unordered comparisons of two values stay unchanged, though a compiler may take either for the other.
"""

from __future__ import annotations

from ...ir import llvm_types
from ...ir.ir import Const, Function, Instr, Int, Type, Vector

_FALSE, _TRUE = ("isnan", "isinf", "isunordered"), ("isfinite", "isordered")
_NEVER, _ALWAYS = ("uno",), ("ord",)
_NEVER_ITSELF, _ALWAYS_ITSELF = ("une", "one"), ("oeq", "ueq")
"""Comparisons of a value with itself."""


def fold_finite_math(function: Function) -> None:
    """Makes each test that only NaN or infinity decides what it then always is, in place."""
    for block in function.blocks:
        for instr in block.instrs:
            answer = _find_answer(instr)
            if answer is not None:
                _make_constant(instr, answer)


def tests_finiteness(instr: Instr) -> bool:
    """Returns whether only NaN or infinity decides what `instr` gives."""
    return _find_answer(instr) is not None


def _find_answer(instr: Instr) -> bool | None:
    """Returns what a test then always gives; None for any other instruction."""
    if instr.op == "call" and instr.callee is not None:
        name = instr.callee.name
        return True if name in _TRUE else False if name in _FALSE else None
    if instr.op != "fcmp":
        return None
    first, second = instr.operands
    itself = first is second
    if instr.pred in _ALWAYS or (itself and instr.pred in _ALWAYS_ITSELF):
        return True
    return False if instr.pred in _NEVER or (itself and instr.pred in _NEVER_ITSELF) else None


def _make_constant(instr: Instr, answer: bool) -> None:
    """Makes an instruction one that gives a truth: 1 of a scalar, -1 of each lane of a vector, whose lanes are not single
    bits."""
    bits = 0
    if answer:
        element = llvm_types.elem_of(instr.type)
        assert isinstance(element, Int)
        bits = (1 << element.bits) - 1 if isinstance(instr.type, Vector) else 1
    instr.op, instr.callee, instr.pred = "or", None, ""
    instr.operands = [_splat(instr.type, bits), _splat(instr.type, 0)]


def _splat(type: Type, bits: int) -> Const:
    if bits == 0 and isinstance(type, Vector):
        return Const(type, None)
    one = Const(llvm_types.elem_of(type), bits)
    return Const(type, (one,) * type.count) if isinstance(type, Vector) else one
