"""Findings about a device rather than one launch, until somebody takes them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ...findings import Finding


class DeviceWarnings:
    """Findings in the order in which they were added, each of those with a key once."""

    def __init__(self) -> None:
        self._waiting: list[Finding] = []
        self._told: set[Hashable] = set()

    def add(self, found: Iterable[Finding]) -> None:
        self._waiting += found

    def add_once(self, key: Hashable, finding: Finding) -> None:
        """Add a finding, unless one with this key was added before."""
        if key not in self._told:
            self._told.add(key)
            self._waiting.append(finding)

    def take(self) -> list[Finding]:
        """What was added since it was taken last."""
        taken, self._waiting = self._waiting, []
        return taken
