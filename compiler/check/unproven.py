"""Collects why accesses of a model's kernels are not proven in range, for `check` with `explain`."""

from __future__ import annotations

from ...device.inspection import AccessProof, find_inspectable
from ...device.protocol import LaunchResult
from ..run.observer import LaunchCall


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
