"""Finds the factors of products that are one small number in all work-items of a launch, where the other factor differs.

Code of vectors needs them: with a factor in hand the lanes of an address lie so many bytes apart, and if that is few, one access
serves them all. Hosts give 1 for the increment of a vector, and the bytes of an element for the step between elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import ir
from ...ir.builtins import builtin_of
from ..analysis.linear import Linear
from ..analysis.uniformity import Uniformity
from .in_range import AccessAnalysis

_MOST = 16
"""A larger factor leaves lanes too far apart for one access, and each factor makes code of its own."""


def find_known_factors(analysis: AccessAnalysis) -> frozenset[tuple[int, int, int]]:
    """Returns `Proofs.factors`. It holds in every launch of equal facts."""
    small = list(_small_factors(analysis))
    if not small:
        return frozenset()
    uniformity = Uniformity(analysis.forms.dominators)

    def is_step(instr: ir.Instr, at: int) -> bool:
        return uniformity.is_uniform(instr.operands[at]) and not uniformity.is_uniform(instr.operands[1 - at])

    return frozenset((number, at, factor) for number, instr, at, factor in small if is_step(instr, at))


def _small_factors(analysis: AccessAnalysis) -> Iterator[tuple[int, ir.Instr, int, int]]:
    """Yields the products that have such a number as a factor: number, instruction, which operand, and its value."""
    instrs = ((block, instr) for block in analysis.function.blocks for instr in block.instrs)
    for number, (block, instr) in enumerate(instrs):
        if not _is_product(instr) or not analysis.forms.dominators.reachable(block):
            continue
        for at, factor in enumerate(instr.operands[:2]):
            form = Linear.number(0) if isinstance(factor, ir.Const) else analysis.forms.of(factor)
            if not form.terms and 1 <= form.const <= _MOST:
                yield number, instr, at, form.const


def _is_product(instr: ir.Instr) -> bool:
    if not isinstance(instr.type, ir.Int):
        return False
    return instr.op == "mul" or builtin_of(instr).multiplies_24_bits
