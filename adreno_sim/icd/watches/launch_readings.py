"""Runs the launches of a session again under each reading of OpenCL."""

from __future__ import annotations

from collections.abc import Callable

from ...base.errors import DeviceError
from ...device.protocol import LaunchResult
from ...readings.launches import LaunchReadings
from ...readings.table import CHEAP, READINGS
from ...results.readings import ReadingsReport
from ...results.run_report import HostCall
from ..finding_log import FindingLog
from ..launches import DriverLaunch, LaunchObserver
from ..objects import Objects

_EXCLUDED = {
    "pitch-rule": "one launch alone does not tell: --device sim:...,pitch_rule=pixels replays a whole recording under one"
}


class ReadingsWatch:
    """A `LaunchObserver`. It tries readings of the first launch of each kernel and size; what depends on one goes to the log.
    every: all readings, else the cheap ones. report: gets what was tried. inner: another observer, which is notified first."""

    def __init__(
        self, objects: Objects, log: FindingLog, every: bool, report: ReadingsReport, inner: LaunchObserver | None = None
    ):
        self._objects, self._log, self._inner = objects, log, inner
        self._readings = LaunchReadings(objects.device, READINGS if every else CHEAP, _EXCLUDED, report)
        self._describe: Callable[[], HostCall] | None = None

    def begin(self, number: int, launch: DriverLaunch, call: HostCall) -> None:
        if self._inner is not None:
            self._inner.begin(number, launch, call)
        self._describe = lambda: call
        shared = {id(self._objects.memory(each)) for each in self._objects.shared}
        pointers = any(id(argument) in shared for argument in launch.arguments)
        obstacle = "it has shared virtual memory, in which pointers may lie" if pointers else ""
        sizes = launch.global_size, launch.local_size, launch.offset
        try:
            self._readings.begin(launch.kernel, sizes, launch.arguments, obstacle)
        except DeviceError:  # the launch itself is refused for this
            self._readings.drop()

    def end(self, number: int, launch: DriverLaunch, result: LaunchResult) -> None:
        if self._inner is not None:
            self._inner.end(number, launch, result)
        for finding in self._readings.end(result.findings):
            self._log.add(finding, launch.source, self._describe)
