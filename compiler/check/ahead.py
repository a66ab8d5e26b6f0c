"""Programs and machine code made by another process while a model runs: from its last launch backwards, so that both meet.

What is made is kept on disk, where the run finds it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import cast

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.processes.beside import doing_beside
from ...base.specs import Argument, BufferSpec, ImageSpec, Storage
from ...device.compiling import find_compiler
from ...device.protocol import Device
from ...engine.llvm.objects import keeping_others_out
from ..run.observer import FunctionCall, Observer
from ..run.rehearsal import NotedLaunch, Rehearsal
from ..run.values import HeapValue, Tensor, allocate_tensor
from ..run.vm import VirtualMachine
from .wide_precision_rerun import WidePrecisionRerun
from .wide_text import BitsMatter

Job = Callable[[], None]


@contextmanager
def compiling_ahead(
    machine: VirtualMachine, inputs: Mapping[str, np.ndarray], rerun: WidePrecisionRerun | None
) -> Iterator[None]:
    """While the block builds the kernels and runs the model, a child by fork does `compile_backwards`, where the device finds
    what it keeps, and there is a core for it."""
    with ExitStack() as stack:
        if find_compiler(machine.device) is not None and len(os.sched_getaffinity(0)) > 1:
            machine.builds.close()  # the child would wait for what its threads hold
            with keeping_others_out():
                stack.enter_context(doing_beside(lambda: compile_backwards(machine, inputs, rerun)))
            machine.builds.begin(machine.builds.order)
        yield


def compile_backwards(machine: VirtualMachine, inputs: Mapping[str, np.ndarray], rerun: WidePrecisionRerun | None) -> None:
    """Build and compile what a run of the machine's model launches, the last launch first. rerun: of the calls that it runs
    beside them.

    A rehearsal that fails half-way, or of a launch that the device refuses, says what was launched before.
    """
    machine.builds.begin(reversed(machine.builds.order))
    rehearsal = Rehearsal(machine.device)
    jobs = _Jobs(machine, rehearsal, rerun)
    with suppress(AdrenoSimError), VirtualMachine(machine.model, cast(Device, rehearsal), jobs) as rehearsing:
        rehearsing.run(inputs)
    for job in reversed(jobs.found):
        with suppress(AdrenoSimError, BitsMatter):
            job()


class _Jobs(Observer):
    """What there is to compile of a run, in its order."""

    def __init__(self, machine: VirtualMachine, rehearsal: Rehearsal, rerun: WidePrecisionRerun | None):
        self.found: list[Job] = []
        self._machine, self._rehearsal, self._rerun = machine, rehearsal, rerun

    def after_function(self, call: FunctionCall) -> None:
        for launch in self._rehearsal.noted:
            self.found.append(_job(self._machine, launch))
        self._rehearsal.noted.clear()
        if self._rerun is not None and self._rerun.is_due(call):
            self.found.append(_rerun_job(self._rerun, call))


def _job(machine: VirtualMachine, launch: NotedLaunch) -> Job:
    return lambda: _compile(machine, launch)


def _compile(machine: VirtualMachine, launch: NotedLaunch) -> None:
    device, compiler = machine.device, find_compiler(machine.device)
    assert compiler is not None
    storages: list[Storage] = []
    args: list[Argument] = []
    for arg in launch.args:
        if isinstance(arg, (BufferSpec, ImageSpec)):
            storages.append(device.allocate(max(device.view_nbytes(arg), 1)))
            args.append(device.view(storages[-1], arg))
        else:
            args.append(arg)
    try:
        compiler.compile_launch(machine.kernel(launch.kernel), launch.global_size, launch.local_size, args)
    finally:
        for storage in storages:
            device.free(storage)


def _rerun_job(rerun: WidePrecisionRerun, call: FunctionCall) -> Job:
    """call: of a rehearsal."""

    def compile_rerun() -> None:
        model, dtypes = rerun.widen(call)
        rehearsal = Rehearsal(rerun.device)
        device = cast(Device, rehearsal)
        args: list[Tensor | HeapValue | int | float] = [
            allocate_tensor(device, arg.shape, dtype or arg.dtype, arg.scope, arg.name) if isinstance(arg, Tensor) else arg
            for arg, dtype in zip(call.args, dtypes, strict=True)
        ]
        VirtualMachine(model, device).call_host(model.host_functions[call.function.name], args, call.instruction)
        with VirtualMachine(model, rerun.device) as machine:
            for launch in rehearsal.noted:
                _compile(machine, launch)

    return compile_rerun
