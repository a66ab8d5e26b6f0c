"""Proves that a launch ends soon: arguments and grid bound the iterations of every loop that the kernel's text leaves open."""

from __future__ import annotations

from ...ir import ir
from ..analysis.induction import count_iterations
from ..analysis.loop_bounds import needs_no_watchdog, trip_count
from ..analysis.segments import Segment
from .in_range import AccessAnalysis


def ends_soon(analysis: AccessAnalysis) -> bool:
    """Returns True if every loop ends after few iterations, so that nothing need stop the launch."""

    def count(head: Segment, body: set[Segment]) -> int | None:
        found = trip_count(head, body)
        return _count_by_launch(analysis, head.block) if found is None else found

    return needs_no_watchdog(analysis.function, count)


def _count_by_launch(analysis: AccessAnalysis, head: ir.Block) -> int | None:
    """Returns an upper bound of the iterations of the loop with this header, from the phis that count them; None if none does."""
    forms = analysis.forms
    if not forms.dominators.reachable(head) or forms.conditions.bounds_at(head).unreachable:
        return 0
    found = [count_iterations(forms, phi) for phi in head.phis if isinstance(phi.type, ir.Int)]
    return min((count + 2 for count in found if count is not None), default=None)
