"""Compiles one generated kernel and prints, as JSON, what that took: python ci/bench/shape_worker.py SHAPE LINES [CHECKS]

seconds: processor time of this process and of the compiler that it starts, of build and first launch. told: why it was refused,
or what was given up.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
from kernel_shapes import SHAPES, WORK_ITEMS

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.device.protocol import Device, LaunchResult

WARM_UP = "kernel void k(global int *a, global float *f, int n) { a[0] = n; }"


def main() -> None:
    shape, lines, *checks = sys.argv[1:]
    device = adreno_sim.open_device("sim:adreno-740", checks=checks[0] if checks else "bounds")
    launch(device, WARM_UP)  # loads LLVM, compiles the C runtime
    source = SHAPES[shape](int(lines))
    start, told = _processor_time(), ""
    try:
        result = launch(device, source)
        reasons = [reason for code in result.code for reason in _given_up(code.description)]
        told = "; ".join([*dict.fromkeys(reasons), *result.failures])
    except adreno_sim.AdrenoSimError as refused:
        told = f"refused: {refused}"
    print(json.dumps({"seconds": _processor_time() - start, "told": told}))


def launch(device: Device, source: str) -> LaunchResult:
    """Builds and launches kernel `k` of a shape, over WORK_ITEMS work-items."""
    views = []
    for dtype in ("int32", "float32"):
        spec = BufferSpec(4 * WORK_ITEMS, dtype)
        views.append(device.view(device.allocate(spec.nbytes), spec))
        device.write(views[-1], np.arange(WORK_ITEMS).astype(dtype))
    return device.launch(device.build(source)["k"], (WORK_ITEMS,), (WORK_ITEMS,), [*views, np.int32(3)])


def _given_up(description: str) -> list[str]:
    words = description.split(", ")
    return [part for part in words if part.startswith(("one work-item", "not optimised"))]


def _processor_time() -> float:
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


if __name__ == "__main__":
    main()
