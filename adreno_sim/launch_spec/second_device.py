"""The same launch on a second device, from the same memory, and what both left beside each other."""

from __future__ import annotations

import numpy as np

from ..base.errors import AdrenoSimError
from ..device.protocol import Device, Kernel
from ..results.comparison import compare
from ..results.launch_report import ComparedArgument
from .bind import Arrays, BoundArguments, check_names
from .model import BufferArgument, ImageArgument, LaunchSpec
from .wanted import WantedOutput


def run_beside(device: Device, kernel: Kernel, spec: LaunchSpec, before: Arrays) -> dict[int, np.ndarray]:
    """What buffers and images hold after the launch on `device`; before: what they held on the first one, unwritten ones too.

    Raises AdrenoSimError or RejectedCall where the launch cannot run there.
    """
    placed = [argument for argument in spec.arguments if isinstance(argument, (BufferArgument, ImageArgument))]
    images = [argument.place.storage for argument in placed if isinstance(argument, ImageArgument) and argument.place.storage]
    storages = [argument.place.storage for argument in placed]
    if any(storages.count(storage) > 1 for storage in images):
        raise AdrenoSimError("an image shares its storage with another argument, and its rows may lie elsewhere there")
    check_names(spec, kernel.name, kernel.params, named=device.info.names_params)
    bound = BoundArguments(device, spec, kernel.params)
    bound.write(before)
    device.launch(kernel, spec.global_size, spec.local_size, bound.values, offset=spec.global_offset)
    return bound.read(bound.views)


def compare_devices(
    name: str, mine: np.ndarray, theirs: np.ndarray, devices: tuple[str, str], wanted: WantedOutput | None
) -> tuple[ComparedArgument, str]:
    """How two devices agree on one argument, and the message of a finding, "" if they do. wanted: what it should hold."""
    result = compare(theirs.reshape(-1), mine.reshape(-1), None if wanted is None else wanted.tolerance)
    worst = result.worst[0] if result.worst else 0
    same = mine.tobytes() == theirs.tobytes()
    compared = ComparedArgument(name, result.elements, same, result.wrong, result.max_abs, result.max_ulp, worst)
    if result.ok:
        return compared, ""
    return compared, (
        f"{name}: {devices[0]} and {devices[1]} differ, {_blame(devices, (mine, theirs), wanted)}: {result.wrong} of "
        f"{result.elements} elements; worst at [{worst}]: {result.golden:.9g} and {result.got:.9g}"
    )


def _blame(devices: tuple[str, str], arrays: tuple[np.ndarray, np.ndarray], wanted: WantedOutput | None) -> str:
    """Which side is not as expected, in words."""
    if wanted is None:
        return "and nothing says which is right"
    both = zip(devices, arrays, strict=True)
    wrong = [device for device, array in both if not compare(array.reshape(-1), wanted.array, wanted.tolerance).ok]
    return f"{' and '.join(wrong)} not as expected" if wrong else "both within tolerance of what is expected"
