"""Proves that a launch ends soon: arguments and grid bound the iterations of every loop that the kernel's text leaves open."""

from __future__ import annotations

from math import prod

from ...ir import ir
from ..analysis.budget import OverBudget
from ..analysis.induction import count_iterations, is_compared
from ..analysis.loop_bounds import SHORT, has_short_loops, needs_no_watchdog, trip_count
from ..analysis.segments import Segment
from .in_range import AccessAnalysis

_MOST = 1 << 28
"""The iterations of a loop that all work-items of a launch may make together: a second or two, on one slow thread. Code that is
compiled for one such launch runs in the calling thread for all of them."""
_SHARE = 8
"""The part of the steps of `AffineForms` that one phi may take."""
_MOST_LOOPS = 32
"""Each loop is examined with all that leads to it, so that these are few."""


def ends_soon(analysis: AccessAnalysis) -> bool:
    """Returns `Proofs.ends_soon`: whether the launch makes so few iterations that nothing need stop it, whatever is in memory.
    False also where that shows in the kernel's text."""
    if needs_no_watchdog(analysis.function):
        return False
    asked = 0
    most = min(SHORT, _MOST // max(1, prod(analysis.forms.facts.global_size)))

    def count(head: Segment, body: set[Segment]) -> int | None:
        nonlocal asked
        found = trip_count(head, body)
        if found is not None or asked == _MOST_LOOPS:
            return found
        asked += 1
        return _count_by_launch(analysis, head.block)

    return has_short_loops(analysis.function, count, most)


def _count_by_launch(analysis: AccessAnalysis, head: ir.Block) -> int | None:
    """Returns an upper bound of the iterations of the loop with this header, from the phis that count them. None if none does, or
    finding out takes too long: then the launch is watched, and nothing else is lost."""
    forms, found = analysis.forms, list[int]()
    if not forms.dominators.reachable(head):
        return 0
    try:
        if forms.conditions.bounds_at(head).unreachable:
            return 0
        for phi in head.phis:
            if isinstance(phi.type, ir.Int) and is_compared(forms, phi):
                with forms.budget.share(_SHARE):
                    count = count_iterations(forms, phi)
                found += [] if count is None else [count]
    except (OverBudget, RecursionError):
        pass
    return min(found) + 2 if found else None
