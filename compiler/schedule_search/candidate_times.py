"""Predicts the times of a candidate's launches while it is checked."""

from __future__ import annotations

import numpy as np

from ...results.time_report import KernelTime
from ...timing.launches import LaunchTimer
from ..run.observer import LaunchCall, Observer
from ..run.values import Tensor

LABEL = "predicted time (docs/time.md)"

TEXEL = 4
"""Elements of a texel."""


class CandidateTimes(Observer):
    """Predicts the time of every launch before it runs, on the memory that it is going to find; those in `copies` are left out.

    textures: parameters of the host function whose buffers stand for textures.
    """

    def __init__(self, timer: LaunchTimer, copies: frozenset[int], textures: frozenset[int]):
        self._timer, self._copies, self._textures = timer, copies, textures
        self._whole = KernelTime("every launch", timer.device.error)
        self._number = 0

    @property
    def time(self) -> dict[str, float]:
        """Seconds of what the launches so far are made of, each as if it were alone, by name; all of it as `seconds`."""
        return {"seconds": self._whole.seconds, **self._whole.parts}

    def before_launch(self, launch: LaunchCall) -> None:
        """Raises as `GroupCounter.count_groups`."""
        if self._number not in self._copies:
            stand_ins = self._stand_ins(launch)
            made = self._timer.time(launch.kernel, launch.global_size, launch.local_size, launch.args, stand_ins)
            if made is not None:
                self._whole.add(made)
        self._number += 1

    def _stand_ins(self, launch: LaunchCall) -> dict[str, int]:
        """Returns what the kernel calls the parameters that stand for textures, and the bytes of their texels."""
        function, args = launch.call.function, launch.call.args
        sizes = {
            function.params[number].name: TEXEL * np.dtype(arg.dtype).itemsize
            for number in self._textures
            if isinstance(arg := args[number], Tensor)
        }
        pairs = zip(launch.kernel.params, launch.names, strict=True)
        return {param.name: sizes[name] for param, name in pairs if name in sizes}
