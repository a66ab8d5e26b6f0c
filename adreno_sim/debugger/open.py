"""Opens a launch file under the debugger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..backends.open import announce_devices, open_device
from ..backends.sim.debugging import DebugLaunch, build_for_debugging, prepare_debugging
from ..backends.sim.device import SimDevice
from ..base.errors import AdrenoSimError, DeviceError, UnsupportedError
from ..base.trust.device_string import default_device
from ..launch_spec.bind import BoundArguments, as_rejected_call, check_names
from ..launch_spec.build_errors import name_source
from ..launch_spec.include_folders import add_source_folder
from ..launch_spec.model import LaunchSpec
from ..launch_spec.run import read_source


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
    path = source or spec.source
    if path is None:
        raise AdrenoSimError(f"{spec.file}: source: missing: expected the kernel's file, here or on the command line")
    chosen = device or spec.device or default_device()
    announce_devices([chosen])
    options = {"unsafe_includes": True} if unsafe_includes else {}
    opened = open_device(chosen, defaults=dict(spec.run), **options)
    if not isinstance(opened, SimDevice):
        raise UnsupportedError(f"unsupported: the debugger on {opened.info.name}: expected a simulated device, as sim:adreno-750")
    text = read_source(path, None if source or spec.below is None else [spec.below])
    with name_source(path):
        program = build_for_debugging(opened, text, add_source_folder(spec.options, text, path))
    names = program.program.kernel_names()
    chosen = spec.kernel or (names[0] if len(names) == 1 else "")
    if chosen not in names:
        said = f"got {chosen!r}" if chosen else "missing"
        raise AdrenoSimError(f"{spec.file}: kernel: {said}: the kernels of {path} are {', '.join(names) or 'none'}")
    kernel = program.program[chosen]
    check_names(spec, kernel.name, kernel.params, named=opened.info.names_params)
    bound = BoundArguments(opened, spec, kernel.params)
    bound.fill()
    try:
        launch = prepare_debugging(opened, program, kernel, spec.global_size, spec.local_size, bound.values, spec.global_offset)
    except DeviceError as error:
        raise as_rejected_call(error) from None
    return Debuggee(launch, [param.name for param in kernel.params], text, str(path))
