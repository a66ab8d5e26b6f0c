"""The functions that the code of level full calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import cells, ticks

if TYPE_CHECKING:
    from ..kernel import KernelPlan


def functions(plan: KernelPlan) -> list[str]:
    """Their text, once per module."""
    key = plan.unit.key
    return [
        cells.record_function(key.items),
        cells.concurrent_function(key.wave_size if plan.flat else None),
        cells.read_function(),
        cells.write_function(),
        cells.fill_function(),
        ticks.tick_function(),
        ticks.group_function(),
        ticks.met_function([s for s in plan.regions.graph.splits if s.scope == "group"]),
    ]
