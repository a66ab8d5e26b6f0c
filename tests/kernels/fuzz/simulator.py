"""Generated kernels on the simulated device."""

from __future__ import annotations

from collections.abc import Sequence
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
    passed = arguments(on, built.args)
    result = on.launch(kernel, case.global_size, case.features.local_size, passed)
    outputs = []
    for arg, view in zip(built.args, passed, strict=True):
        if isinstance(arg, oracle.Part) and arg.output:
            whole = on.view(view.storage, BufferSpec(arg.array.nbytes, arg.array.dtype.name))
            outputs.append(on.read(whole).reshape(arg.array.shape))
            whole.release()
        elif isinstance(arg, (oracle.Buffer, oracle.Image)) and arg.output:
            outputs.append(on.read(view).reshape(arg.array.shape))
    release(on, passed)
    found = [f"{f.kind.label} at {f.line}:{f.column}: {f.message}" for f in result.findings if f.severity > Severity.NOTE]
    return Result(outputs, found)


def arguments(on: Device, args: Sequence[oracle.Arg]) -> list[Any]:
    """What a launch gets: numbers, and views of fresh storages; parts of one buffer share its storage."""
    whole: dict[int, Any] = {}
    passed = []
    for arg in args:
        if isinstance(arg, oracle.Part):
            if id(arg.array) not in whole:
                whole[id(arg.array)] = _argument(on, oracle.Buffer(arg.array))
            spec = BufferSpec(arg.count * arg.array.itemsize, arg.array.dtype.name)
            passed.append(on.view(whole[id(arg.array)].storage, spec, arg.first * arg.array.itemsize))
        else:
            passed.append(_argument(on, arg))
    for view in whole.values():
        view.release()
    return passed


def release(on: Device, passed: Sequence[Any]) -> None:
    """Give back what `arguments` took."""
    views = [one for one in passed if hasattr(one, "storage")]
    for view in views:
        view.release()
    for storage in {id(view.storage): view.storage for view in views}.values():
        on.free(storage)


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
