"""A launch file for a kernel, and what to do with it next."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.errors import AdrenoSimError, OptionError
from ...base.trust.confined_path import is_below
from .files import require_new, write_files

if TYPE_CHECKING:
    from ...backends.sim.program import SimKernel
    from ...device.protocol import Device
    from ...ir import ir
    from ...launch_spec.skeleton.trial import SizeTrial

DEFAULT = "launch.toml"
SIZES = (1024, 32, 4)
"""Of the axes of a first launch."""


def init_kernel(args: argparse.Namespace) -> None:
    """Write the launch file that `args` ask for. Raises AdrenoSimError, BuildError or UnsupportedError if it cannot."""
    from ...launch_spec.inferred.infer import InferredKernel
    from ...launch_spec.skeleton.guess import guess_launch
    from ...launch_spec.skeleton.kernel_use import KernelUse
    from ...launch_spec.skeleton.trial import run_trial, settle

    source, target = Path(args.file), Path(args.output or DEFAULT)
    require_new({target: ""}, args.force)
    device = _simulated(args.device)
    root = _common_folder(source, target)
    opened, kernel = _build(source, target.parent, args.options or "", args.kernel or "", device)
    function = kernel.function
    relative = os.path.relpath(source, target.parent)
    stated = _stated_device(args.device, target.parent)
    first = InferredKernel(opened, kernel, target, relative, args.options or "", root).write_first(SIZES, stated)
    if first is not None:
        trial = run_trial(first, target, source, device, root)
    else:  # as large as a trial needs
        made = guess_launch(KernelUse(function), relative, args.options or "", stated)
        trial = settle(made, target, source, device, root)
    write_files({target: trial.text})
    more = "" if root is None else f" --root {shlex.quote(str(root))}"
    more += "" if stated == (args.device or "") else f" --device {shlex.quote(args.device)}"
    print("\n".join(_told(target, trial, function, more)))


def _common_folder(source: Path, target: Path) -> Path | None:
    """The folder that launch file and kernel have in common, None if that is the launch file's own."""
    if is_below(source, target.parent):
        return None
    common = os.path.commonpath([os.path.realpath(source.parent), os.path.realpath(target.parent)])
    return Path(os.path.relpath(common))


def _stated_device(device: str | None, folder: Path) -> str:
    """The device as a launch file in `folder` may name it; "" if it may not, as one with fewer checks."""
    from ...base.trust.table import Input, take_device

    try:
        found = take_device(Input.LAUNCH, device, folder) if device else None
    except AdrenoSimError:
        return ""
    return device if device and found is not None and not found.refused else ""


def _simulated(device: str | None) -> str:
    """The device of the trial: the given one, which must be simulated, or what there is without one."""
    if device is not None and not device.startswith("sim:"):
        raise OptionError(
            "device", f"{device}: expected a simulated device, sim:PROFILE, which examines the accesses of a trial launch"
        )
    default = os.environ.get("ADRENO_SIM_DEVICE") or ""
    return device or (default if default.startswith("sim:") else "sim:adreno-740")


def _build(source: Path, folder: Path, options: str, name: str, device: str) -> tuple[Device, SimKernel]:
    """The kernel that is meant, and the device that examines what it touches."""
    from ...backends.open import open_device
    from ...backends.sim.program import SimKernel
    from ...launch_spec.build_errors import name_source
    from ...launch_spec.include_folders import add_launch_folders, add_source_folder
    from ...launch_spec.inferred.infer import SECONDS
    from ...launch_spec.kernel_file import read_source, require_kernels, require_regular_file

    text = read_source(source)
    require_regular_file(source)
    with name_source(source):
        opened = open_device(device, checks="bounds", timeout=SECONDS)
        program = opened.build(text, add_source_folder(add_launch_folders(options, folder), text, source))
    names = program.kernel_names()
    require_kernels(names, source)
    if not name and len(names) > 1:
        raise AdrenoSimError(f"{source}: several kernels: {', '.join(names)}; name one (--kernel)")
    if name and name not in names:
        raise AdrenoSimError(f"--kernel: {name}: the kernels of {source} are {', '.join(names)}")
    kernel = program[name or names[0]]
    assert isinstance(kernel, SimKernel)
    return opened, kernel


def _told(target: Path, trial: SizeTrial, function: ir.Function, more: str) -> list[str]:
    """What was written, what is left to decide, and how the trial went. more: what the next command needs besides."""
    from ...launch_spec.skeleton.text import lines_to_decide
    from ...results.finding_text import location

    lines = lines_to_decide(trial.text)
    told = [f"wrote {target}: kernel {function.name}, {len(function.params)} arguments"]
    if lines:
        told.append(f"to decide: {'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}")
    if trial.report is None:
        told.append(f"the trial launch was refused: {trial.refused}")
    elif trial.errors:
        first = trial.errors[0]
        more = f", and {len(trial.errors) - 1} more" if len(trial.errors) > 1 else ""
        told.append(f"the trial launch has an error, by a guess or by the kernel: {first.kind.label} at {location(first)}{more}")
        told.append(f"  {first.message}")
    else:
        told.append(f"the trial launch on {trial.report.device} has no errors")
    return [*told, f"next: adreno-sim kernel --launch {shlex.quote(str(target))}{more}"]
