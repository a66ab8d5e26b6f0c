"""Finds the factors of products that are one small number in all work-items of a launch, where the other factor differs.

Code of vectors needs them: with a factor in hand the lanes of an address lie so many bytes apart, and if that is few, one access
serves them all. Hosts give 1 for the increment of a vector, and the bytes of an element for the step between elements.
"""

from __future__ import annotations

from ...ir import ir
from ..analysis.uniformity import Uniformity
from .in_range import AccessAnalysis

_PRODUCTS = ("mul24", "mad24")
_MOST = 16
"""A larger factor leaves lanes too far apart for one access, and each factor makes code of its own."""


def find_known_factors(analysis: AccessAnalysis) -> frozenset[tuple[int, int, int]]:
    """Returns `Proofs.factors`. It holds in every launch of equal facts."""
    uniformity = Uniformity(analysis.forms.dominators)
    found = set()
    number = 0
    for block in analysis.function.blocks:
        for instr in block.instrs:
            if _is_product(instr) and analysis.forms.dominators.reachable(block):
                for at in range(2):
                    factor, other = instr.operands[at], instr.operands[1 - at]
                    if isinstance(factor, ir.Const) or not uniformity.is_uniform(factor) or uniformity.is_uniform(other):
                        continue
                    form = analysis.forms.of(factor)
                    if not form.terms and 1 <= form.const <= _MOST:
                        found.add((number, at, form.const))
            number += 1
    return frozenset(found)


def _is_product(instr: ir.Instr) -> bool:
    if not isinstance(instr.type, ir.Int):
        return False
    return instr.op == "mul" or (instr.op == "call" and instr.callee is not None and instr.callee.name in _PRODUCTS)
