"""Time the kernels of one bundle on one device; started by run.py in a process of its own, so that nothing is warm or shared.

    python worker.py DEVICE BUNDLE INPUTS.npz REPEATS

Prints JSON: the device's name and version, and per kernel the seconds of build, of the first launch, and of the fastest of
REPEATS later ones.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from adreno_sim import open_device
from adreno_sim.compiler.artifact import CompiledModel
from adreno_sim.compiler.observer import LaunchCall, Observer
from adreno_sim.compiler.vm import VirtualMachine
from adreno_sim.device import Kernel, LaunchResult


class TimedMachine(VirtualMachine):
    """A VM that times the build of each kernel."""

    def kernel(self, name: str) -> Kernel:
        known = name in self._programs
        start = time.perf_counter()
        kernel = super().kernel(name)
        if not known:
            times.setdefault(name, {})["build"] = time.perf_counter() - start
        return kernel


class Stopwatch(Observer):
    """Times each kernel's first launch and repeats it: it computes the same again from the same arguments."""

    def __init__(self, repeats: int):
        self._repeats = repeats
        self._start = 0.0

    def before_launch(self, launch: LaunchCall) -> None:
        self._start = time.perf_counter()

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        seconds = times[launch.code.name]
        if "first" in seconds:
            return
        seconds["first"] = time.perf_counter() - self._start
        device = launch.call.device
        for _ in range(self._repeats):
            start = time.perf_counter()
            device.launch(launch.kernel, launch.global_size, launch.local_size, launch.args)
            device.finish()
            seconds["run"] = min(seconds.get("run", np.inf), time.perf_counter() - start)


times: dict[str, dict[str, float]] = {}


def main(device_text: str, bundle: str, inputs: str, repeats: str) -> None:
    device = open_device(device_text)
    with np.load(inputs) as arrays, TimedMachine(CompiledModel.load(bundle), device, Stopwatch(int(repeats))) as machine:
        machine.run(dict(arrays))
    print(json.dumps({"name": device.info.name, "version": device.info.version, "kernels": times}))


if __name__ == "__main__":
    main(*sys.argv[1:])
