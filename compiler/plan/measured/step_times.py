"""The predicted times of a model's steps in their order under a plan, with the device memory in use at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base.errors import DeviceError, UnsupportedError
from ....device.protocol import Device
from ....results.time_report import TimeReport
from ....timing.launches import LaunchTimer
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall, GraphCall, LaunchCall, Observer
from ...run.vm import VirtualMachine
from ..allocation import Allocation
from ..rules import DeviceRules
from .peak import make_inputs, place

if TYPE_CHECKING:
    from ....mlops.engine import GraphRun


class StepTimes(Observer):
    """report: the times of the steps so far, a row for each call of a function that launches anything. memory: bytes of device
    memory in use at each, in whole pages."""

    def __init__(self, device: Device):
        """Raises as `LaunchTimer`."""
        self._timer = LaunchTimer(device)
        self._used = 0
        self.report = TimeReport.of(self._timer.device)
        self.memory: dict[str, int] = {}

    def before_function(self, call: FunctionCall) -> None:
        self._used = call.device.pool_stats().used

    def before_launch(self, launch: LaunchCall) -> None:
        name = f"{launch.call.index + 1} {launch.call.function.name}"
        self.memory[name] = self._used
        try:
            estimate = self._timer.time(launch.kernel, launch.global_size, launch.local_size, launch.args)
        except (DeviceError, UnsupportedError) as error:
            self.report.say_missing(f"{name}: {error}")
            return
        if estimate is not None:
            self.report.add(name, estimate)

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None:
        self.report.say_missing(f"{graph.graph}: ran as OpenCL ML, which the model does not cover")


def time_steps(model: CompiledModel, allocation: Allocation, rules: DeviceRules, device: Device) -> StepTimes:
    """The times of a run of `model` under a plan on `device`, which is fresh. Raises as `place`, and what a run raises."""
    placed = place(model, allocation, rules)
    times = StepTimes(device)
    with VirtualMachine(placed, device, times) as machine:
        machine.run(make_inputs(placed))
    return times
