"""Predicts the time of every launch of a run, before it, on the memory that it is going to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...device.protocol import Device
from ...results.time_report import TimeReport
from ...timing.launches import LaunchTimer
from .observer import GraphCall, LaunchCall, Observer

if TYPE_CHECKING:
    from ...mlops.engine import GraphRun


class LaunchTimes(Observer):
    """report: the times of the launches so far, by kernel."""

    def __init__(self, device: Device):
        """Raises as `LaunchTimer`."""
        self._timer = LaunchTimer(device)
        self.report = TimeReport.of(self._timer.device)

    def before_launch(self, launch: LaunchCall) -> None:
        self.report.add_launch(self._timer, launch.kernel, launch.global_size, launch.local_size, launch.args, launch.code.name)

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None:
        self.report.say_missing(f"{graph.graph}: ran as OpenCL ML, which the model does not cover")
