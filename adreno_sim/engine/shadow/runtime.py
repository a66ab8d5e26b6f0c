"""The functions that code of level full calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import epochs, race_cells

if TYPE_CHECKING:
    from ..emit.region import KernelPlan


def functions(plan: KernelPlan) -> list[str]:
    """Returns their text, once per module."""
    spec = plan.unit.spec
    return [
        race_cells.record_function(spec.items),
        race_cells.concurrent_function(spec.wave_size if plan.by_subgroup else None),
        race_cells.read_function(),
        race_cells.write_function(),
        race_cells.fill_function(),
        epochs.epoch_function(),
        epochs.group_function(),
        epochs.met_function([s for s in plan.regions.graph.sync_points if s.scope == "group"]),
    ]
