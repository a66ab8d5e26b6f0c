"""Counts the launches of a candidate while it is checked."""

from __future__ import annotations

from ...device.group_sample import GroupCounter
from ..run.observer import LaunchCall, Observer
from .figures import Figures, figures_of


class LaunchCounts(Observer):
    """Counts groups of every launch before it runs, on the memory that it is going to find; those in `copies` are left out.

    textures: parameters of the host function whose buffers stand for textures. figures: of the launches so far.
    """

    def __init__(self, counter: GroupCounter, copies: frozenset[int], textures: frozenset[int]):
        self._counter, self._copies, self._textures = counter, copies, textures
        self.figures: list[Figures] = []
        self._number = 0

    def before_launch(self, launch: LaunchCall) -> None:
        """Raises as `GroupCounter.count_groups`."""
        if self._number not in self._copies:
            sample = self._counter.count_groups(launch.kernel, launch.global_size, launch.local_size, launch.args)
            if sample.parts:
                self.figures.append(figures_of(sample, self._stand_ins(launch)))
        self._number += 1

    def _stand_ins(self, launch: LaunchCall) -> set[str]:
        """Returns what the kernel calls the parameters that stand for textures."""
        params = launch.call.function.params
        names = {params[number].name for number in self._textures}
        return {param.name for param, name in zip(launch.kernel.params, launch.names, strict=True) if name in names}
