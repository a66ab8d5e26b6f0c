"""A launch of a recording as a folder that `adreno-sim kernel` runs: kernel, launch file, data of its arguments."""

from __future__ import annotations

import shlex
from pathlib import Path

from ...backends.sim.launches.reproducer import describe_launch
from ...base.errors import AdrenoSimError, DeviceError
from ...base.launch_folder import LAUNCH, require_writable, write_folder
from ...base.run_options import NAMES
from ...base.trust.device_string import parse_device_string
from ...base.trust.table import Input, take_options
from ...device.launch_tables import describe_options
from ...frontend.file_options import replace_folders
from .launch_point import LaunchPoint


def export_launch(point: LaunchPoint, folder: Path, recording: str) -> Path:
    """Write a launch, which has not run yet, to a new or empty folder; returns its launch file. recording: the file that it is
    of. Raises AdrenoSimError for a launch that no launch file describes, and where the folder cannot be written."""
    require_writable(folder)
    launch, number = point.launch, point.number
    program = point.objects.program(launch.program)
    if program.linked:
        raise AdrenoSimError(f"launch {number}: its program was linked of compiled ones, whose sources make no single file")
    if not any(kernel is launch.kernel for kernel in program.kernels):
        raise AdrenoSimError(
            f"launch {number}: it takes pointers into shared virtual memory, which a launch file cannot describe"
        )
    try:
        prepared = point.prepare()
    except DeviceError as error:
        raise AdrenoSimError(f"launch {number} is refused, so that there is nothing to run: {error}") from None
    device = parse_device_string(point.settings.device).without(NAMES)
    run = take_options(Input.LAUNCH, describe_options(point.device.options))
    comment = [f"launch {number} of {recording}, {point.call}", *(f"it ran with {said}" for said in run.refused.values())]
    keys = {"device": str(device)}
    if device.names_file:
        keys = {}
        comment.append(f"on your own device: adreno-sim kernel --launch {LAUNCH} --device {shlex.quote(str(device))}")
    options = replace_folders(launch.kernel.options, lambda folder: [])  # the source holds what they had
    write_folder(folder, describe_launch(prepared, launch.local_size, keys, run.options, comment, options))
    return folder / LAUNCH
