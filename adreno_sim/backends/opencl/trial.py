"""Runs the kernels with known answers on a device; as a program, on every device that the OpenCL loader finds.

The program writes a line of JSON to a file as each step begins and ends, so that the step of a driver is
known even where it takes the process with it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import BufferSpec, ImageSpec, View
from ...device.protocol import Device, DeviceInfo
from .known_answers import KNOWN_ANSWERS, SIMPLEST, KnownAnswer, Texels


def required_answers(info: DeviceInfo) -> list[KnownAnswer]:
    """The known answers that a device must give: those that need no extension or image support that it lacks."""
    images = bool(info.limits.get("IMAGE_SUPPORT", 1))
    return [known for known in KNOWN_ANSWERS if known.applies(info.extensions, images)]


def find_failure(device: Device, known: KnownAnswer) -> str:
    """A sentence on the wrong answer, or on the rejected kernel; "" if the answer is right."""
    try:
        return known.judge(_run(device, known))
    except AdrenoSimError as error:
        return known.failure(f"refused, {summarise(str(error))}")


def summarise(message: str) -> str:
    """The first line of a driver's error, and the first line of its build log that names an error."""
    first, *log = message.splitlines() or [""]
    named = next((line.strip() for line in log if "error" in line.lower()), "")
    return f"{first}: {named}" if named else first


def _run(device: Device, known: KnownAnswer) -> np.ndarray:
    """The contents of the answer's argument after the launch."""
    kernel = device.build(known.source)["k"]
    args: list[Any] = [_to_device(device, arg) for arg in known.args]
    device.launch(kernel, known.global_size, known.local_size, args)
    return device.read(args[known.at])


def _to_device(device: Device, arg: Any) -> Any:
    if isinstance(arg, Texels):
        layers, height, width, _ = arg.array.shape
        return _make_view(device, ImageSpec(arg.kind, width, height, layers), arg.array)
    if isinstance(arg, np.ndarray):
        return _make_view(device, BufferSpec(arg.nbytes, arg.dtype.name), arg.reshape(-1))
    return arg


def _make_view(device: Device, spec: BufferSpec | ImageSpec, array: np.ndarray) -> View:
    view = device.view(device.allocate(device.view_nbytes(spec)), spec)
    device.write(view, array)
    return view


def try_all(path: str) -> None:
    """Try every device of every platform, and write the steps to the file at `path`."""
    import pyopencl as cl

    from ...base.run_options import make_options
    from . import loader
    from .device import OpenCLDevice
    from .open import devices_of

    loader.hide_shipped_drivers()
    with open(path, "w", encoding="utf-8") as file:

        def write_line(**line: Any) -> None:
            print(json.dumps(line), file=file, flush=True)

        for platform in cl.get_platforms():
            for handle in devices_of(platform):
                device = OpenCLDevice(handle, make_options({}))
                info = device.info
                write_line(platform=str(platform.name), name=info.name, version=info.version, lacks=info.lacks)
                for known in required_answers(info):
                    write_line(asks=known.name, what=known.what)
                    wrong = find_failure(device, known)
                    write_line(wrong=wrong)
                    if wrong and known is SIMPLEST:
                        break
        write_line(done=True)


if __name__ == "__main__":
    try_all(sys.argv[1])
