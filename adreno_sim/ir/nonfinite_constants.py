"""NaN and infinities that occur in a kernel's own code, as `-INFINITY` for a masked element does."""

from __future__ import annotations

from collections.abc import Iterator

from . import ir, queries

NAN, PLUS, MINUS = "nan", "+inf", "-inf"
"""Kinds of floats that are not finite."""
_FRACTION_BITS = {16: 10, 32: 23, 64: 52}


def nonfinite_constants(function: ir.Function) -> tuple[str, ...]:
    """Returns which of NAN, PLUS and MINUS a function names, in its code or in the constant data that it uses."""
    return function.fact("nonfinite constants", _find)


def _find(function: ir.Function) -> tuple[str, ...]:
    found: set[str] = set()
    for block in function.blocks:
        for instr in block.instrs:
            for operand in instr.operands:
                if isinstance(operand, ir.Const):
                    found.update(_kinds(operand, as_bits=instr.op in ("bitcast", "store")))
    for data in queries.globals_of(function):
        if data.initializer is not None:
            found.update(_kinds(data.initializer))
    return tuple(sorted(found))


def _kinds(constant: ir.Const, as_bits: bool = False) -> Iterator[str]:
    """Yields the kinds of the floats in a constant. as_bits: an integer of 32 bits may be a float's."""
    if isinstance(constant.value, tuple):
        for part in constant.value:
            if isinstance(part, ir.Const):
                yield from _kinds(part, as_bits)
        return
    if not isinstance(constant.value, int) or not isinstance(constant.type, (ir.Float, ir.Int)):
        return
    width = constant.type.bits
    if width not in _FRACTION_BITS or (isinstance(constant.type, ir.Int) and not (as_bits and width == 32)):
        return
    fraction = _FRACTION_BITS[width]
    exponents = (1 << width - 1 - fraction) - 1
    bits = constant.value
    if bits >> fraction & exponents == exponents:
        is_nan = bits & (1 << fraction) - 1
        yield NAN if is_nan else MINUS if bits >> width - 1 & 1 else PLUS
