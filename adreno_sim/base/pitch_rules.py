"""How devices place the rows and layers of an image: the row pitch, the slice pitch, and which pitches and addresses they take.

They are properties of the device, and of how an image comes to be. An image with its own memory is laid out by the driver, by
the profile's `own_pitch_rule`. An image over a buffer follows its `pitch_rule`, as the pitches that a host gives also do. Public
sources read a device's IMAGE_PITCH_ALIGNMENT (A) in three ways:

bytes     row_pitch = align_up(width * texel_bytes, A); rows and layers follow each other    (TVM's runtime, TFLite)
pixels    row_pitch = align_up(width, A) * texel_bytes; rows and layers follow each other    (Khronos)
hardware  row_pitch = align_up(width, 64) * texel_bytes; layers start at multiples of 4096   (a6xx linear images)

An A of 0 (no images over buffers) counts as 64 in `bytes` and `pixels`, as TVM's runtime does. A row pitch that a caller gives
must be a multiple of A bytes, of A texels in `pixels`; an address of IMAGE_BASE_ADDRESS_ALIGNMENT, counted alike. `hardware`
takes any multiple of 64 bytes, whatever the device reports, and a slice pitch of 4096 (its texture descriptor counts in these).

Devices, plans of memory and TVM's runtime all ask here, so that a plan has the room that the device's views take.
"""

from __future__ import annotations

import typing
from types import MappingProxyType
from typing import Literal

from ..records import dataclass
from .alignment import align_up
from .errors import DeviceError

PitchRuleName = Literal["bytes", "pixels", "hardware"]
PITCH_RULES: tuple[str, ...] = typing.get_args(PitchRuleName)

DEFAULT_ALIGNMENT = 64


@dataclass(frozen=True)
class PitchRule:
    """pads_texels: rows are padded to a number of texels, else of bytes. takes_texels: a device under this rule takes pitches and
    addresses of a number of texels, else of bytes. alignment: what replaces the device's alignments, 0 = nothing
    does. layer: bytes at whose multiples the layers of an image start.
    """

    pads_texels: bool = False
    takes_texels: bool = False
    alignment: int = 0
    layer: int = 1

    def row_pitch(self, width: int, texel_bytes: int, alignment: int) -> int:
        """Bytes from row to row of `width` texels. alignment: the device's IMAGE_PITCH_ALIGNMENT."""
        unit = self.alignment or alignment or DEFAULT_ALIGNMENT
        return align_up(width, unit) * texel_bytes if self.pads_texels else align_up(width * texel_bytes, unit)

    def slice_pitch(self, plane: int, layers: int) -> int:
        """Bytes from layer to layer, of `plane` bytes each."""
        return align_up(plane, self.layer) if layers > 1 else plane

    def required_multiple(self, alignment: int, texel_bytes: int) -> int:
        """The device accepts multiples of these bytes as a row pitch, or as an address; 0 = any. alignment: the device's
        for it."""
        return (self.alignment or alignment) * (texel_bytes if self.takes_texels else 1)


_RULES = MappingProxyType(
    {
        "bytes": PitchRule(),
        "pixels": PitchRule(pads_texels=True, takes_texels=True),
        "hardware": PitchRule(pads_texels=True, alignment=64, layer=4096),
    }
)


def find_pitch_rule(name: str) -> PitchRule:
    """The rule of this name. Raises DeviceError (CL_INVALID_VALUE) for another."""
    if name not in _RULES:
        raise DeviceError("CL_INVALID_VALUE", f"pitch rule {name!r}: expected one of {', '.join(_RULES)}")
    return _RULES[name]
