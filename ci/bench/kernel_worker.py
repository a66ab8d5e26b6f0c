"""The process of one device for single kernels, started by children.py.

    python kernel_worker.py DEVICE FILE_DESCRIPTOR

Times are wall seconds of a launch and the wait for its end; arguments are on the device before.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import cases
import numpy as np
from serving import serve

from adreno_sim import AdrenoSimError, open_device
from adreno_sim.base.specs import ImageSpec, Local
from adreno_sim.device.protocol import Device, Kernel
from adreno_sim.findings import Severity


class Worker:
    """What the child can be asked. One case is loaded at a time."""

    def __init__(self, device: str):
        self._text = device
        self._device: Device | None = None
        self._views: list[Any] = []
        self._launch: tuple[Kernel, Any, Any, list[Any]] | None = None
        self._case: cases.Case | None = None

    def open_device(self) -> dict[str, str]:
        """Name and version of the device."""
        return {"name": self.device.info.name, "version": self.device.info.version}

    @property
    def device(self) -> Device:
        if self._device is None:
            self._device = open_device(self._text)
        return self._device

    def load(self, case: cases.Case) -> dict[str, float]:
        """Build a case, put its data on the device, launch it once: seconds of build and of the first launch.

        A real device gets the float twin of a half case.
        """
        self.drop()
        self._case = case = case.twin() if case.dtype == "half" and self.device.info.backend == "cl" else case
        start = time.perf_counter()
        kernel = self.device.build(case.source, case.options)[case.kernel]
        built = time.perf_counter()
        pairs = zip(case.arguments, case.inputs(), strict=True)
        arguments = [self._argument(case, argument, data) for argument, data in pairs]
        self._launch = (kernel, case.global_size, case.local_size, arguments)
        loaded = time.perf_counter()
        self._once()
        return {"build": built - start, "first": time.perf_counter() - loaded}

    def resize(self, global_size: tuple[int, int, int]) -> None:
        """Launch the loaded case over another global size from now on."""
        assert self._launch is not None
        kernel, _, local_size, arguments = self._launch
        self._launch = (kernel, global_size, local_size, arguments)

    def run(self, count: int) -> list[float]:
        """Seconds of each of `count` launches."""
        return [self._once() for _ in range(count)]

    def outputs(self) -> list[np.ndarray]:
        """What the loaded case computed, as float32."""
        assert self._case is not None
        pairs = zip(self._case.arguments, self._views, strict=True)
        return [
            self.device.read(view).reshape(-1).astype(np.float32) for a, view in pairs if isinstance(a, cases.Tensor) and a.output
        ]

    def drop(self) -> None:
        """Give back the memory of the loaded case."""
        for view in self._views:
            if view is not None:
                self.device.free(view.storage)
        self._views, self._launch, self._case = [], None, None

    def _argument(self, case: cases.Case, argument: cases.Tensor | Local, data: np.ndarray | None) -> Any:
        if isinstance(argument, Local):
            self._views.append(None)
            return argument
        spec = argument.spec(cases.ELEMENT[case.dtype])
        view = self.device.view(self.device.allocate(self.device.view_nbytes(spec)), spec)
        self._views.append(view)
        if data is None:
            data = np.zeros(argument.count, cases.ELEMENT[case.dtype])
        shape = (spec.depth_or_layers, spec.height, spec.width, 4) if isinstance(spec, ImageSpec) else (-1,)
        self.device.write(view, data.reshape(shape))
        return view

    def _once(self) -> float:
        assert self._launch is not None
        start = time.perf_counter()
        result = self.device.launch(*self._launch)
        self.device.finish()
        seconds = time.perf_counter() - start
        if wrong := [finding for finding in result.findings if finding.severity == Severity.ERROR]:
            raise AdrenoSimError(f"{self._launch[0].name}: {wrong[0].message}")
        return seconds


if __name__ == "__main__":
    serve(Worker(sys.argv[1]), sys.argv[2])
