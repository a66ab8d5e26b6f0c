"""Predicts the time of each launch of a session that is checked."""

from __future__ import annotations

from ...backends.sim.device import SimDevice
from ...device.protocol import LaunchResult
from ...results.run_report import HostCall
from ...results.time_report import TimeReport
from ...timing.launches import LaunchTimer
from ..launches import DriverLaunch


class TimesWatch:
    """A `LaunchObserver`. report: gets the times, on the device's model; a new one unless it is given, as one for several
    sessions is. UnsupportedError for a device that is not a chip."""

    def __init__(self, device: SimDevice, report: TimeReport | None = None):
        self._timer = LaunchTimer(device)
        self.report = report or TimeReport.of(self._timer.device)

    def begin(self, number: int, launch: DriverLaunch, call: HostCall) -> None:
        self.predict(launch)

    def end(self, number: int, launch: DriverLaunch, result: LaunchResult) -> None:
        pass

    def predict(self, launch: DriverLaunch) -> float | None:
        """Returns the time of a launch, which is about to run, on the device; None if nothing says."""
        report, name = self.report, launch.kernel.name
        if launch.offset is not None:
            report.say_missing(f"{name}: launches with a global offset have no time")
            return None
        before = report.seconds
        report.add_launch(self._timer, launch.kernel, launch.global_size, launch.local_size, launch.arguments)
        return report.seconds - before or None
