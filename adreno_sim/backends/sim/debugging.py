"""Launches of the simulated device under the debugger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...base.errors import UnsupportedError
from ...device.protocol import Argument
from ...engine.run.debugged import DebugRun
from ...frontend.debug_info import DebugInfo, compile_for_debugging
from ...ir import ir
from ...memory.storage import StorageView, before_access
from ...records import dataclass
from . import limits
from .arguments import bind_argument, check_arguments
from .device import SimDevice
from .group_limits import refuse_required_groups
from .info import front_end_target
from .launches.launch_config import specialize_launch
from .program import SimKernel, SimProgram, allows_non_uniform


@dataclass(frozen=True)
class DebugProgram:
    """A program that was built for the debugger, and what clang says of its variables."""

    program: SimProgram
    info: DebugInfo


@dataclass
class DebugLaunch:
    """A launch that the debugger runs. args: as the kernel reads them, None for those that hold no value of their own."""

    kernel: SimKernel
    info: DebugInfo
    run: DebugRun
    args: Sequence[Any]
    total: limits.Size
    group: limits.Size
    offset: limits.Size
    dimensions: int

    @property
    def function(self) -> ir.Function:
        return self.kernel.function


def build_for_debugging(device: SimDevice, source: str, options: str = "") -> DebugProgram:
    """Builds a source as `device.build` does, with all that the debugger shows. Errors as of that."""
    target = replace(front_end_target(device.profile, device.options), debug=True)
    module, info = compile_for_debugging(source, options, target=target)
    program = SimProgram(module, device, allows_non_uniform(options), options)
    return DebugProgram(refuse_required_groups(program, device.profile), info)


def prepare_debugging(
    device: SimDevice,
    program: DebugProgram,
    kernel: SimKernel,
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    args: Sequence[Argument],
    offset: Sequence[int] | None = None,
) -> DebugLaunch:
    """Checks a launch as `device.launch` does, and makes it ready. DeviceError as of that."""
    checked = check_arguments(kernel, args, device)
    total, group = limits.work_size(kernel, global_size, local_size, device.profile)
    start = limits.global_offset(kernel, global_size, offset)
    limits.check_resources(kernel, checked, device.profile)
    if 0 in total:
        raise UnsupportedError("unsupported: the debugger on a launch without work-items")
    for arg in checked:
        if isinstance(arg, StorageView):
            before_access(arg)
    spec = specialize_launch(device.profile, device.options, kernel, total, group, start, checked)
    bound = [bind_argument(arg) for arg in checked]
    run = DebugRun(kernel.function, spec, bound, global_size=total, offset=start, work_dim=len(global_size))
    return DebugLaunch(kernel, program.info, run, checked, total, group, start, len(global_size))
