"""Runs the kernels of a model again under each reading of OpenCL."""

from __future__ import annotations

from dataclasses import replace

from ...backends.sim.program import SimKernel
from ...backends.simulated import require_variable
from ...device.protocol import Device, LaunchResult
from ...readings.launches import LaunchReadings
from ...readings.table import CHEAP, READINGS
from ...results.merge import FindingList
from ...results.readings import ReadingsReport
from .observer import LaunchCall, Observer

_EXCLUDED = {"pitch-rule": "TVM's runtime computes the pitches of its images; footprint --pitch-rule says what a rule needs"}


class ReadingsObserver(Observer):
    """Tries readings of the first launch of each kernel and size."""

    def __init__(self, device: Device, every: bool, findings: FindingList):
        """every: all readings, else those that level full tries by itself. findings: gets what depends on one. OptionError for a
        real device that is asked for them."""
        if every:
            require_variable(device)
        is_full = device.info.profile is not None and device.options.checks == "full"
        self._every, self._findings = every, findings
        self._readings = LaunchReadings(device, READINGS if every else CHEAP, _EXCLUDED) if every or is_full else None

    @property
    def report(self) -> ReadingsReport | None:
        """What was tried; None if nothing was that nobody asked for."""
        found = None if self._readings is None else self._readings.report
        return found if found is not None and (self._every or found.tried) else None

    def before_launch(self, launch: LaunchCall) -> None:
        if self._readings is not None:
            assert isinstance(launch.kernel, SimKernel)
            self._readings.begin(launch.kernel, (launch.global_size, launch.local_size, None), launch.args)

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        if self._readings is not None:
            found = self._readings.end(result.findings)
            self._findings.add(replace(finding, kernel=launch.code.name) for finding in found)
