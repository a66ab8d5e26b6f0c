"""Computes the byte address of each texel of an image, under the device's pitch rule (`base.pitch_rules`)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import DeviceError
from ..base.pitch_rules import find_pitch_rule
from ..base.specs import ImageSpec
from ..records import dataclass
from .formats import format_of

Ints = NDArray[np.int64]

if TYPE_CHECKING:
    from ..profiles.profile import Profile

ONE_ROW = ("image1d", "image1d_buffer")
"""Kinds of images that have no pitch."""
_ARRAYS = ("image1d_array", "image2d_array", "image3d")
KINDS = (*ONE_ROW, "image1d_array", "image2d", "image2d_array", "image3d")


@dataclass(frozen=True)
class Layout:
    """Texel (x, y, layer) is at byte layer * slice_pitch + y * row_pitch + x * texel_bytes; extents in texels, pitches in bytes.

    An image1d_array has height 1, its layers one row each. Neither rows nor layers overlap, and `nbytes` holds them all.
    """

    width: int
    height: int
    layers: int
    texel_bytes: int
    row_pitch: int
    slice_pitch: int

    @property
    def nbytes(self) -> int:
        """Bytes of the image, padding included (the specification's size rule: slice_pitch * layers)."""
        return self.slice_pitch * self.layers

    @property
    def dense_bytes(self) -> int:
        """Bytes of the texels alone."""
        return self.width * self.height * self.layers * self.texel_bytes


def layout_of(spec: ImageSpec, profile: Profile | None = None, rule: str | None = None) -> Layout:
    """The layout of `spec` over a buffer of a simulated device; without a profile, dense. A `rule` goes before the profile's.

    Errors as of `layout_under`.
    """
    if profile is None:
        return layout_under(spec, None)
    return layout_under(spec, rule or profile["pitch_rule"], profile["IMAGE_PITCH_ALIGNMENT"])


def own_layout_of(spec: ImageSpec, profile: Profile) -> Layout:
    """The layout of an image with its own memory, which the device's driver chooses. Errors as of `layout_under`."""
    return layout_of(spec, profile, profile["own_pitch_rule"])


def layout_under(spec: ImageSpec, rule: str | None, alignment: int = 0) -> Layout:
    """The layout of `spec` under a pitch rule and an IMAGE_PITCH_ALIGNMENT; dense without a rule.

    Raises DeviceError: CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_IMAGE_SIZE (an extent below 1), CL_INVALID_VALUE (no such rule),
    or the format's error.
    """
    texel = format_of(spec.order, spec.channel_type).texel_bytes
    _check_extents(spec)
    chosen = None if rule is None else find_pitch_rule(rule)
    dense = spec.width * texel
    row = dense if chosen is None or spec.kind in ONE_ROW else chosen.row_pitch(spec.width, texel, alignment)
    row = _given_pitch(spec, "row_pitch", spec.row_pitch, dense, row)
    plane = row * spec.height
    slice_ = plane if chosen is None else chosen.slice_pitch(plane, spec.depth_or_layers)
    slice_ = _given_pitch(spec, "slice_pitch", spec.slice_pitch, plane, slice_)
    return Layout(spec.width, spec.height, spec.depth_or_layers, texel, row, slice_)


def offsets_of(layout: Layout, coordinates: ArrayLike) -> NDArray[np.int64]:
    """Byte offsets of the texels at integer `coordinates` (n, 3) of (x, y, layer); -1 for one outside the image."""
    table = np.ascontiguousarray(coordinates, np.int64).reshape(-1, 3)
    return _kernels()[0](table, *_numbers(layout))


def texels_at(layout: Layout, offsets: ArrayLike) -> NDArray[np.int64]:
    """The texels (n, 3) that hold the bytes at `offsets` (n,); (-1, -1, -1) where a byte is padding or outside."""
    return _kernels()[1](np.ascontiguousarray(offsets, np.int64).reshape(-1), *_numbers(layout))


def _check_extents(spec: ImageSpec) -> None:
    if spec.kind not in KINDS:
        raise DeviceError("CL_INVALID_IMAGE_DESCRIPTOR", f"image kind {spec.kind!r}: expected one of {', '.join(KINDS)}")
    extents = {"width": spec.width, "height": spec.height, "depth_or_layers": spec.depth_or_layers}
    for name, extent in extents.items():
        if extent < 1:
            raise DeviceError("CL_INVALID_IMAGE_SIZE", f"{spec.kind} with {name} {extent}: expected at least 1")
    unused = {"height": spec.kind in (*ONE_ROW, "image1d_array"), "depth_or_layers": spec.kind not in _ARRAYS}
    for name, extent in extents.items():
        if unused.get(name) and extent != 1:
            raise DeviceError("CL_INVALID_IMAGE_DESCRIPTOR", f"{spec.kind} with {name} {extent}: expected 1")


def _given_pitch(spec: ImageSpec, name: str, given: int | None, least: int, chosen: int) -> int:
    if given is None:
        return chosen
    texel = format_of(spec.order, spec.channel_type).texel_bytes
    if given < least or given % texel:
        raise DeviceError(
            "CL_INVALID_IMAGE_DESCRIPTOR",
            f"{spec.kind} with {name} {given}: expected at least {least} and a multiple of {texel} bytes",
        )
    return given


def _numbers(layout: Layout) -> tuple[int, ...]:
    return (layout.width, layout.height, layout.layers, layout.texel_bytes, layout.row_pitch, layout.slice_pitch)


@functools.cache
def _kernels() -> tuple[Any, Any]:
    """The two maps as machine code; numba is imported only here, because it takes half a second."""
    import numba

    @numba.njit(nogil=True)
    def to_offsets(coordinates: Ints, width: int, height: int, layers: int, texel: int, row: int, plane: int) -> Ints:
        out = np.empty(coordinates.shape[0], np.int64)
        for i in range(coordinates.shape[0]):
            x, y, z = coordinates[i, 0], coordinates[i, 1], coordinates[i, 2]
            inside = 0 <= x < width and 0 <= y < height and 0 <= z < layers
            out[i] = z * plane + y * row + x * texel if inside else -1
        return out

    @numba.njit(nogil=True)
    def to_texels(offsets: Ints, width: int, height: int, layers: int, texel: int, row: int, plane: int) -> Ints:
        out = np.full((offsets.shape[0], 3), -1, np.int64)
        for i in range(offsets.shape[0]):
            z, rest = divmod(offsets[i], plane)
            y, column = divmod(rest, row)
            x = column // texel
            if 0 <= z < layers and y < height and x < width:
                out[i, 0], out[i, 1], out[i, 2] = x, y, z
        return out

    return to_offsets, to_texels
