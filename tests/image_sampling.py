"""read_image and write_image as the OpenCL C specification says them, in NumPy over whole arrays of coordinates.

Coordinates are (n, 4): x, y, z and an unused fourth, float32 or int32. Image arrays take the layer from the component
after their last extent; it is rounded to nearest even and clamped. Sections 6.15.15 and 8.2 of OpenCL C 3.0.

Where the specification leaves a read undefined this sampler gives a fixed answer: NaN as a coordinate counts as 0,
infinities as the largest magnitude, and a coordinate outside the image with addressing "none" reads 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adreno_sim.base.specs import Sampler
from adreno_sim.image.formats import Format

_FILTERED = {"image1d": 1, "image1d_buffer": 1, "image1d_array": 1, "image2d": 2, "image2d_array": 2, "image3d": 3}
_FAR = 1 << 30  # beyond every image, and its neighbours still fit in an int


def read_image(
    texels: NDArray, texel_format: Format, kind: str, sampler: Sampler, coordinates: NDArray, filter_bits: int = 0
) -> NDArray:
    """Colours (n, 4) at `coordinates` of an image held as `texels` (layers, height, width, channels).

    filter_bits: fractional bits of a texel that linear filtering knows of a coordinate, 0 = all.
    """
    extents = (texels.shape[2], texels.shape[1], texels.shape[0])
    axes = _FILTERED[kind]
    layer = _layers(kind, coordinates, texels.shape[0])
    if coordinates.dtype.kind == "i":
        indices = [_address(coordinates[:, axis].astype(np.int64), extents[axis], sampler.addressing) for axis in range(axes)]
        return _fetch(texels, texel_format, indices, layer, kind)
    scaled = [_scale(coordinates[:, axis], extents[axis], sampler) for axis in range(axes)]
    if sampler.filter == "nearest":
        indices = [_nearest(u, extents[axis], sampler) for axis, u in enumerate(scaled)]
        return _fetch(texels, texel_format, indices, layer, kind)
    if filter_bits:
        scaled = [
            np.rint((u - np.float32(0.5)) * np.float32(2**filter_bits)) / np.float32(2**filter_bits) + np.float32(0.5)
            for u in scaled
        ]
    return _linear(texels, texel_format, kind, sampler, scaled, layer)


def write_image(texels: NDArray, texel_format: Format, kind: str, coordinates: NDArray, colours: NDArray) -> NDArray[np.bool_]:
    """Store `colours` (n, 4) at integer `coordinates`, later ones last; which were inside the image and hence written."""
    where = _whole_coordinates(kind, coordinates)
    extents = (texels.shape[2], texels.shape[1], texels.shape[0])
    inside = np.ones(len(coordinates), bool)
    for index, extent in zip(where, extents, strict=True):
        inside &= (index >= 0) & (index < extent)
    for i in np.flatnonzero(inside):
        texels[where[2][i], where[1][i], where[0][i]] = texel_format.encode(colours[i])
    return inside


def _whole_coordinates(kind: str, coordinates: NDArray) -> list[NDArray]:
    """x, y and layer of sampler-less access, zeros for the extents an image does not have."""
    used = {"image1d_array": (0, None, 1), "image2d": (0, 1, None), "image2d_array": (0, 1, 2), "image3d": (0, 1, 2)}
    zeros = np.zeros(len(coordinates), np.int64)
    return [zeros if axis is None else coordinates[:, axis].astype(np.int64) for axis in used.get(kind, (0, None, None))]


def _layers(kind: str, coordinates: NDArray, layers: int) -> NDArray:
    if not kind.endswith("_array"):
        return np.zeros(len(coordinates), np.int64)
    component = coordinates[:, _FILTERED[kind]]
    rounded = component if component.dtype.kind == "i" else _to_index(np.rint(component))
    return np.clip(rounded.astype(np.int64), 0, layers - 1)


def _to_index(value: NDArray) -> NDArray:
    return np.clip(np.nan_to_num(value, nan=0.0, posinf=_FAR, neginf=-_FAR), -_FAR, _FAR).astype(np.int64)


def _scale(coordinate: NDArray, extent: int, sampler: Sampler) -> NDArray:
    """Unnormalised u of one axis, in float32 as devices compute it; wrapped for the repeating modes."""
    size = np.float32(extent)
    with np.errstate(invalid="ignore", over="ignore"):
        if sampler.addressing == "repeat":
            return (coordinate - np.floor(coordinate)) * size
        if sampler.addressing == "mirrored_repeat":
            nearest_even = np.float32(2) * np.rint(np.float32(0.5) * coordinate)
            return np.abs(coordinate - nearest_even) * size
        return coordinate * size if sampler.normalized else coordinate


def _address(index: NDArray, extent: int, addressing: str) -> NDArray:
    """The index after the addressing mode; -1 = the border colour or, with mode "none", undefined."""
    if addressing == "clamp_to_edge":
        return np.clip(index, 0, extent - 1)
    return np.where((index >= 0) & (index < extent), index, -1)


def _nearest(u: NDArray, extent: int, sampler: Sampler) -> NDArray:
    index = _to_index(np.floor(u))
    if sampler.addressing == "repeat":
        return np.where(index > extent - 1, index - extent, index)
    if sampler.addressing == "mirrored_repeat":
        return np.minimum(index, extent - 1)
    return _address(index, extent, sampler.addressing)


def _neighbours(u: NDArray, extent: int, sampler: Sampler) -> tuple[NDArray, NDArray, NDArray]:
    """The two texels to blend along one axis, and the weight of the second."""
    with np.errstate(invalid="ignore"):
        shifted = u - np.float32(0.5)
        low = _to_index(np.floor(shifted))
        weight = np.nan_to_num(shifted - np.floor(shifted)).astype(np.float32)
    high = low + 1
    if sampler.addressing == "repeat":
        return np.where(low < 0, low + extent, low), np.where(high > extent - 1, high - extent, high), weight
    if sampler.addressing == "mirrored_repeat":
        return np.maximum(low, 0), np.minimum(high, extent - 1), weight
    return _address(low, extent, sampler.addressing), _address(high, extent, sampler.addressing), weight


def _fetch(texels: NDArray, texel_format: Format, indices: list[NDArray], layer: NDArray, kind: str) -> NDArray:
    x, y = indices[0], indices[1] if len(indices) > 1 else np.zeros_like(layer)
    z = indices[2] if kind == "image3d" else layer
    outside = (x < 0) | (y < 0) | (z < 0)
    stored = texels[np.where(outside, 0, z), np.where(outside, 0, y), np.where(outside, 0, x)]
    colour = texel_format.decode(stored)
    return np.where(outside[:, None], np.array(texel_format.border, colour.dtype), colour)


def _linear(texels: NDArray, texel_format: Format, kind: str, sampler: Sampler, scaled: list[NDArray], layer: NDArray) -> NDArray:
    extents = (texels.shape[2], texels.shape[1], texels.shape[0])
    corners = [_neighbours(u, extents[axis], sampler) for axis, u in enumerate(scaled)]

    def blend(axis: int, chosen: list[NDArray]) -> NDArray:
        if axis < 0:
            return _fetch(texels, texel_format, chosen, layer, kind).astype(np.float64)
        low, high, weight = corners[axis]
        share = weight.astype(np.float64)[:, None]
        return (1 - share) * blend(axis - 1, [low, *chosen]) + share * blend(axis - 1, [high, *chosen])

    return blend(len(scaled) - 1, []).astype(np.float32)
