"""How much of each argument a launch touches."""

from __future__ import annotations

import numpy as np

from ...backends.sim.arguments import bind_argument
from ...backends.sim.program import SimKernel
from ...backends.simulated import find_bytes_of_launch
from ...base.errors import DeviceError
from ...device.protocol import Device
from ...engine.abi.bound import BoundImage
from ...image.formats import format_of
from ..bind import BoundArguments, RejectedCall
from ..model import BufferArgument, ImageArgument, LaunchSpec

Extent = tuple[int, ...]
"""Elements of a buffer; texels along each axis of an image."""


def measure_needs(device: Device, kernel: SimKernel, spec: LaunchSpec) -> dict[int, Extent] | None:
    """What a launch touches of each buffer and image, from its start to the last that is touched, by position; None if that is
    not known, or the launch is refused."""
    try:
        bound = BoundArguments(device, spec, kernel.params)
        bound.fill()
        touched = find_bytes_of_launch(device, kernel, spec.global_size, spec.local_size, bound.values)
    except (DeviceError, RejectedCall):
        return None
    if touched is None:
        return None
    found: dict[int, Extent] = {}
    for index, (read, written) in touched.items():
        either = np.bitwise_or(read, written)
        argument = spec.arguments[index]
        if isinstance(argument, ImageArgument):
            bits = np.unpackbits(either, bitorder="little")
            found[index] = _texels(bits, bind_argument(bound.values[index]), argument)
        elif isinstance(argument, BufferArgument):
            found[index] = (-(-find_end(either) // np.dtype(argument.dtype).itemsize),)
    return found


def find_end(bits: np.ndarray) -> int:
    """The place behind the last bit that is set, of bits in bytes, the lowest first; 0 if none is."""
    places = np.flatnonzero(bits)
    return int(places[-1]) * 8 + int(bits[places[-1]]).bit_length() if len(places) else 0


def _texels(bits: np.ndarray, bound: object, argument: ImageArgument) -> Extent:
    """Width, height, and depth or layers of what is touched."""
    assert isinstance(bound, BoundImage)
    places = np.flatnonzero(bits)
    if not len(places):
        return (0, 0, 0)
    slice_pitch = bound.slice_pitch or bound.row_pitch * bound.height
    texel = format_of(argument.spec.order, argument.spec.channel_type).texel_bytes
    layer, inside = places // slice_pitch, places % slice_pitch
    rows, columns = inside // bound.row_pitch, inside % bound.row_pitch // texel
    return int(columns.max()) + 1, int(rows.max()) + 1, int(layer.max()) + 1
