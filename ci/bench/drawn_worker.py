"""The process of one device for kernels of other projects, started by children.py; see kernel_worker.py."""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

import numpy as np
from drawn_launch import BUFFERS, SIZES, Drawn, contents, make_drawn
from kernel_worker import Worker
from serving import serve

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.specs import BufferSpec, ImageSpec


class DrawnWorker(Worker):
    """What the child can be asked, besides what a worker can. One launch is loaded at a time."""

    def fit(self, name: str, text: str, options: str, number: int) -> Drawn | str:
        """A launch without findings of one of the source's kernels, or why there is none. Of a simulated device."""
        try:
            program = self.device.build(text, options)
            kernels = sorted(program.kernel_names())
            kernel = program[kernels[number % len(kernels)]]
        except AdrenoSimError as error:
            return f"does not build: {_first_line(error)}"
        why = ""
        for size, nbytes in itertools.product(SIZES, BUFFERS):
            drawn = make_drawn(f"{name}:{kernel.name}", text, options, kernel.function, size, nbytes)
            try:
                self._load(drawn, kernel)
                self._once()
                return drawn
            except AdrenoSimError as error:
                why = _first_line(error)
            finally:
                self.drop()
        return f"no launch: {why}"

    def load_drawn(self, drawn: Drawn) -> dict[str, float]:
        """Build a kernel, put its arguments on the device, launch it once: seconds of build and of the first launch."""
        self.drop()
        start = time.perf_counter()
        kernel = self.device.build(drawn.text, drawn.options)[drawn.kernel]
        built = time.perf_counter()
        self._load(drawn, kernel)
        loaded = time.perf_counter()
        self._once()
        return {"build": built - start, "first": time.perf_counter() - loaded}

    def written(self) -> list[np.ndarray]:
        """What is in the memory of the arguments, as bytes."""
        return [np.ascontiguousarray(self.device.read(view)).view(np.uint8).reshape(-1) for view in self._views]

    def _load(self, drawn: Drawn, kernel: Any) -> None:
        arguments = []
        for position, argument in enumerate(drawn.arguments):
            if isinstance(argument, (BufferSpec, ImageSpec)):
                view = self.device.view(self.device.allocate(self.device.view_nbytes(argument)), argument)
                self._views.append(view)
                held = self.device.read(view)
                self.device.write(view, contents(drawn, position, held.size, held.dtype.name).reshape(held.shape))
                argument = view
            arguments.append(argument)
        self._launch = (kernel, drawn.global_size, drawn.local_size, arguments)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


if __name__ == "__main__":
    serve(DrawnWorker(sys.argv[1]), sys.argv[2])
