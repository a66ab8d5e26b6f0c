"""The process of one device for whole networks, started by children.py.

python network_worker.py DEVICE FILE_DESCRIPTOR
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TypeVar

import numpy as np
from serving import serve

from adreno_sim import open_device
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.run.observer import LaunchCall, Observer
from adreno_sim.compiler.run.vm import VirtualMachine
from adreno_sim.device.protocol import Kernel, LaunchResult

Seconds = dict[str, float]
Watching = TypeVar("Watching", bound=Observer)


class Worker:
    """What the child can be asked. One network is loaded at a time."""

    def __init__(self, device: str):
        self._text = device
        self._machine: TimedMachine | None = None
        self._inputs: dict[str, np.ndarray] = {}
        self._outputs: list[np.ndarray] = []

    def open_device(self) -> dict[str, str]:
        """Name and version of the device."""
        info = open_device(self._text).info
        return {"name": info.name, "version": info.version}

    def load(self, bundle: Path, inputs: Path) -> dict[str, Seconds]:
        """Open a fresh device and run the network once: by kernel, seconds of its build, and of its first launch less a plain
        one (where the work-group size is known and machine code is made)."""
        self.drop()
        with np.load(inputs) as archive:
            self._inputs = dict(archive)
        self._machine = TimedMachine(CompiledModel.load(bundle), open_device(self._text))
        watch = self._watched(FirstLaunches())
        return {"build": self._machine.build_seconds, "first": watch.seconds}

    def run_kernels(self) -> Seconds:
        """One run of the network: seconds of launch and finish by kernel, all its launches together.

        Every launch is done twice, and the second timed: the first also moves what a device keeps in separate images.
        """
        return self._watched(SecondLaunches()).seconds

    def run_whole(self) -> float:
        """Seconds of one run, with all that happens between launches."""
        start = time.perf_counter()
        self._watched(Observer())
        return time.perf_counter() - start

    def outputs(self) -> list[np.ndarray]:
        """Of the last run."""
        return self._outputs

    def drop(self) -> None:
        """Give back what the network holds on the device."""
        if self._machine is not None:
            self._machine.close()
        self._machine = None

    def _watched(self, watch: Watching) -> Watching:
        assert self._machine is not None
        self._machine.observer = watch
        self._outputs = self._machine.run(self._inputs)
        return watch


class TimedMachine(VirtualMachine):
    """A machine that times the build of each kernel."""

    build_seconds: Seconds

    def kernel(self, name: str) -> Kernel:
        if "build_seconds" not in self.__dict__:
            self.build_seconds = {}
        start = time.perf_counter()
        kernel = super().kernel(name)
        self.build_seconds.setdefault(name, time.perf_counter() - start)
        return kernel


class Relaunching(Observer):
    """Does every launch twice: it computes the same again from the same arguments."""

    def __init__(self) -> None:
        self.seconds: Seconds = {}
        self._start = 0.0

    def before_launch(self, launch: LaunchCall) -> None:
        self._start = time.perf_counter()

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        device = launch.call.device
        device.finish()
        start = time.perf_counter()
        device.launch(launch.kernel, launch.global_size, launch.local_size, launch.args)
        device.finish()
        self.note(launch.code.name, start - self._start, time.perf_counter() - start)

    def note(self, kernel: str, first: float, second: float) -> None:
        """Seconds of the two launches."""
        raise AssertionError("defined by both watches")


class FirstLaunches(Relaunching):
    """What the first launch of each kernel took beyond the second."""

    def note(self, kernel: str, first: float, second: float) -> None:
        self.seconds.setdefault(kernel, max(first - second, 0.0))


class SecondLaunches(Relaunching):
    """The second of each two launches, added up by kernel."""

    def note(self, kernel: str, first: float, second: float) -> None:
        self.seconds[kernel] = self.seconds.get(kernel, 0.0) + second


if __name__ == "__main__":
    serve(Worker(sys.argv[1]), sys.argv[2])
