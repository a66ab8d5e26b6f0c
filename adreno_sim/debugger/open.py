"""Opens a launch file under the debugger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..backends.open import announce_devices, open_device
from ..backends.sim.debugging import DebugLaunch, build_for_debugging, prepare_debugging
from ..backends.sim.device import SimDevice
from ..base.errors import DeviceError, UnsupportedError
from ..base.trust.device_string import default_device
from ..launch_spec.bind import BoundArguments, as_rejected_call, check_names
from ..launch_spec.build_errors import name_source
from ..launch_spec.include_folders import add_source_folder
from ..launch_spec.kernel_file import choose_kernel, read_launch_source
from ..launch_spec.model import LaunchSpec
from ..records import dataclass


@dataclass
class Debuggee:
    """What is debugged: a launch, the names of its arguments, its source text, and the path of that."""

    launch: DebugLaunch
    names: Sequence[str]
    text: str
    path: str


def open_debuggee(
    spec: LaunchSpec, source: Path | None = None, *, device: str | None = None, unsafe_includes: bool = False
) -> Debuggee:
    """Builds what a launch file names for the debugger, and fills its arguments. Errors as of `run_launch`; UnsupportedError for
    a device that is not simulated."""
    chosen = device or spec.device or default_device()
    announce_devices([chosen])
    options = {"unsafe_includes": True} if unsafe_includes else {}
    opened = open_device(chosen, defaults=dict(spec.run), **options)
    if not isinstance(opened, SimDevice):
        raise UnsupportedError(f"unsupported: the debugger on {opened.info.name}: expected a simulated device, as sim:adreno-750")
    path, text = read_launch_source(spec, source)
    with name_source(path):
        program = build_for_debugging(opened, text, add_source_folder(spec.options, text, path))
    kernel = program.program[choose_kernel(spec, program.program.kernel_names(), path)]
    check_names(spec, kernel.name, kernel.params, named=opened.info.names_params)
    bound = BoundArguments(opened, spec, kernel.params)
    bound.fill()
    try:
        launch = prepare_debugging(opened, program, kernel, spec.global_size, spec.local_size, bound.values, spec.global_offset)
    except DeviceError as error:
        raise as_rejected_call(error) from None
    return Debuggee(launch, [param.name for param in kernel.params], text, str(path))
