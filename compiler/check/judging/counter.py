"""Counts what the launches of a run do, in the rows of their kernels, and collects the accesses that are not proven in range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....device.inspection import AccessProof, find_inspectable
from ....device.protocol import LaunchResult
from ....results.model import AccessReport
from ...run.observer import GraphCall, LaunchCall
from .rows import KernelRows

if TYPE_CHECKING:
    from ....mlops.engine import GraphRun


class UnprovenAccesses:
    """The accesses of each kernel that some launch does not prove in range, each with the first reason."""

    def __init__(self) -> None:
        self._known: dict[str, dict[tuple[str, str, str], AccessProof]] = {}

    @property
    def by_kernel(self) -> dict[str, list[AccessProof]]:
        return {name: list(accesses.values()) for name, accesses in self._known.items()}

    def add(self, launch: LaunchCall, result: LaunchResult) -> None:
        """Asks the device why, where a launch left accesses unproven. A device that cannot say is not asked."""
        counts, inspectable = result.accesses, find_inspectable(launch.call.device)
        if counts is None or counts.proven_places == counts.places or inspectable is None:
            return
        proofs = inspectable.explain(launch.kernel, launch.global_size, launch.local_size, launch.args)
        known = self._known.setdefault(launch.code.name, {})
        for access in proofs.unproven:
            known.setdefault((access.place, access.access, access.target), access)


class LaunchCounter:
    """Adds launches to `rows`. unproven: the accesses that are not proven in range; None if they are not asked for."""

    def __init__(self, rows: KernelRows, explains: bool):
        self._rows = rows
        self.unproven = UnprovenAccesses() if explains else None

    def add_launch(self, launch: LaunchCall, result: LaunchResult, seconds: float) -> None:
        row = self._rows.of_kernel(launch.code.name, launch.call.function)
        row.seconds += seconds
        row.launches += 1
        if result.device_seconds is not None:
            row.device_seconds = (row.device_seconds or 0.0) + result.device_seconds
        if result.accesses is not None:
            row.accesses = row.accesses or AccessReport(result.accesses.places, result.accesses.proven_places)
            row.accesses.add(result.accesses)
        if result.counters is not None:
            row.counters = result.counters if row.counters is None else row.counters + result.counters
        if self.unproven is not None:
            self.unproven.add(launch, result)

    def add_graph(self, graph: GraphCall, run: GraphRun) -> None:
        row = self._rows.of_kernel(graph.graph, graph.call.function)
        row.seconds += run.seconds
        row.launches += 1
