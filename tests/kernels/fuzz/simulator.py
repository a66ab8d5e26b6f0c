"""Generated kernels on the simulated device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import oracle

import adreno_sim
from adreno_sim.base.run_options import Checks
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.device.protocol import Device, Kernel
from adreno_sim.findings import Severity

from .case import Built, Case


@dataclass(frozen=True)
class Result:
    """Contents of the output arguments after a launch, and findings that a defined kernel must not have."""

    outputs: list[np.ndarray]
    findings: list[str]


@cache
def device(checks: Checks) -> Device:
    """One device per level of checks; nothing is kept on disk, since no kernel comes twice."""
    return adreno_sim.open_device("sim:reference", contract="off", threads=1, cache=False, checks=checks, timeout=20)


def run(kernel: Kernel, case: Case, built: Built, checks: Checks, on: Device | None = None) -> Result:
    """Launch the kernel with its arguments in fresh memory, on a device of its own or the one for `checks`."""
    on = on or device(checks)
    passed = [_argument(on, arg) for arg in built.args]
    result = on.launch(kernel, case.global_size, case.features.local_size, passed)
    outputs = []
    for arg, view in zip(built.args, passed, strict=True):
        if isinstance(arg, (oracle.Buffer, oracle.Image)):
            if arg.output:
                outputs.append(on.read(view).reshape(arg.array.shape))
            view.release()
            on.free(view.storage)
    found = [f"{f.kind.label} at {f.line}:{f.column}: {f.message}" for f in result.findings if f.severity > Severity.NOTE]
    return Result(outputs, found)


def _argument(on: Device, arg: oracle.Arg) -> Any:
    if isinstance(arg, oracle.Local):
        return Local(arg.nbytes)
    if isinstance(arg, oracle.Sampler):
        return Sampler(arg.normalized, arg.addressing, arg.filter)
    if isinstance(arg, oracle.Scalar):
        return arg.value
    array = arg.array
    if isinstance(arg, oracle.Image):
        layers, height, width, _ = array.shape
        spec: BufferSpec | ImageSpec = ImageSpec(arg.kind, width, height, layers, arg.order, arg.channel_type)
    else:
        spec = BufferSpec(array.nbytes, array.dtype.name)
    view = on.view(on.allocate(on.view_nbytes(spec)), spec)
    on.write(view, array)
    return view
