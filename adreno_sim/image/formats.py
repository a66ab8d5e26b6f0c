"""Texel formats: channel orders x channel types, and the conversions of reads and writes (OpenCL C 3.0, section 8.3).

Names are those of OpenCL without CL_. A colour is always four components in the order r, g, b, a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.errors import DeviceError
from ..records import dataclass

ORDERS: dict[str, tuple[str, ...]] = {
    "R": ("r",), "A": ("a",), "RG": ("r", "g"), "RA": ("r", "a"),
    "RGBA": ("r", "g", "b", "a"), "BGRA": ("b", "g", "r", "a"), "ARGB": ("a", "r", "g", "b"), "ABGR": ("a", "b", "g", "r"),
    "INTENSITY": ("r",), "LUMINANCE": ("r",), "sRGBA": ("r", "g", "b", "a"), "sBGRA": ("b", "g", "r", "a"),
    "sRGB": ("r", "g", "b"), "sRGBx": ("r", "g", "b", "x"),
}  # fmt: skip
"""The colour component each stored channel holds, in memory order; "x" holds none: it is written as 0."""

_EIGHT_BITS = ("UNORM_INT8", "SNORM_INT8", "SIGNED_INT8", "UNSIGNED_INT8")
_FLOATS = ("UNORM_INT8", "UNORM_INT16", "SNORM_INT8", "SNORM_INT16", "HALF_FLOAT", "FLOAT")
_ONLY = {
    "BGRA": _EIGHT_BITS, "ARGB": _EIGHT_BITS, "ABGR": _EIGHT_BITS, "INTENSITY": _FLOATS, "LUMINANCE": _FLOATS,
    "sRGBA": ("UNORM_INT8",), "sBGRA": ("UNORM_INT8",), "sRGB": ("UNORM_INT8",), "sRGBx": ("UNORM_INT8",),
}  # fmt: skip
"""Channel types an order may be combined with, where not all (OpenCL API 3.0, table of channel orders)."""

CHANNEL_TYPES: dict[str, tuple[str, str]] = {
    "UNORM_INT8": ("uint8", "unorm"), "UNORM_INT16": ("uint16", "unorm"),
    "SNORM_INT8": ("int8", "snorm"), "SNORM_INT16": ("int16", "snorm"),
    "SIGNED_INT8": ("int8", "int"), "SIGNED_INT16": ("int16", "int"), "SIGNED_INT32": ("int32", "int"),
    "UNSIGNED_INT8": ("uint8", "uint"), "UNSIGNED_INT16": ("uint16", "uint"), "UNSIGNED_INT32": ("uint32", "uint"),
    "HALF_FLOAT": ("float16", "float"), "FLOAT": ("float32", "float"),
}  # fmt: skip
"""Of each channel type: how a channel is stored (numpy dtype) and what it means."""


@dataclass(frozen=True)
class Format:
    """A legal combination of order and channel type. `dtype` is what one channel is stored as."""

    order: str
    channel_type: str

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(CHANNEL_TYPES[self.channel_type][0])

    @property
    def meaning(self) -> str:
        """ "unorm", "snorm", "int", "uint" or "float"."""
        return CHANNEL_TYPES[self.channel_type][1]

    @property
    def channels(self) -> int:
        """Channels stored per texel."""
        return len(ORDERS[self.order])

    @property
    def texel_bytes(self) -> int:
        return self.channels * self.dtype.itemsize

    @property
    def colour_dtype(self) -> np.dtype:
        """What read_image gives: float32 (read_imagef), int32 (read_imagei) or uint32 (read_imageui)."""
        return np.dtype({"int": "int32", "uint": "uint32"}.get(self.meaning, "float32"))

    @property
    def srgb(self) -> bool:
        """Whether colours are stored on the sRGB curve; kernels see them linear."""
        return self.order.startswith("s")

    @property
    def border(self) -> tuple[int, int, int, int]:
        """The border colour of CLAMP addressing: opaque black only where the order has no alpha to say otherwise."""
        return (0, 0, 0, 1) if self.order in ("R", "RG", "sRGB", "LUMINANCE") else (0, 0, 0, 0)

    def decode(self, texels: NDArray) -> NDArray:
        """Stored texels (..., channels) of `dtype` as colours (..., 4) of `colour_dtype`."""
        values = _to_float(texels, self.meaning) if self.colour_dtype == np.float32 else texels.astype(self.colour_dtype)
        colour = np.zeros((*texels.shape[:-1], 4), self.colour_dtype)
        colour[..., 3] = 0 if self.order == "A" else 1
        for channel, component in self._stored_channels():
            colour[..., "rgba".index(component)] = values[..., channel]
        if self.order in ("INTENSITY", "LUMINANCE"):
            colour[..., : 4 if self.order == "INTENSITY" else 3] = values[..., :1]
        if self.srgb:
            colour[..., :3] = _srgb_to_linear(colour[..., :3])
        return colour

    def encode(self, colour: NDArray) -> NDArray:
        """Colours (..., 4) as texels to store (..., channels); integers saturate, floats round to nearest even."""
        if self.srgb:
            colour = np.concatenate([_linear_to_srgb(colour[..., :3]), colour[..., 3:]], axis=-1)
        stored = np.zeros((*colour.shape[:-1], self.channels), colour.dtype)
        for channel, component in self._stored_channels():
            stored[..., channel] = colour[..., "rgba".index(component)]
        if self.meaning in ("unorm", "snorm"):
            return _to_normalised(stored, self.dtype)
        if self.meaning == "float":
            with np.errstate(over="ignore"):
                return stored.astype(self.dtype)
        limits = np.iinfo(self.dtype)
        return np.clip(stored, limits.min, limits.max).astype(self.dtype)

    def _stored_channels(self) -> list[tuple[int, str]]:
        """The channels that hold a component, and which."""
        return [(channel, component) for channel, component in enumerate(ORDERS[self.order]) if component != "x"]


def combined_with(order: str) -> tuple[str, ...]:
    """The channel types that go with a channel order."""
    return _ONLY.get(order, tuple(CHANNEL_TYPES))


def format_of(order: str, channel_type: str) -> Format:
    """The format of an image; raises DeviceError with the code clCreateImage gives for one that cannot be."""
    if order not in ORDERS or channel_type not in CHANNEL_TYPES:
        known = f"orders {', '.join(ORDERS)}; channel types {', '.join(CHANNEL_TYPES)}"
        raise DeviceError("CL_IMAGE_FORMAT_NOT_SUPPORTED", f"image format {order} {channel_type}: expected one of {known}")
    if channel_type not in combined_with(order):
        raise DeviceError(
            "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
            f"image format {order} {channel_type}: {order} goes only with {', '.join(combined_with(order))}",
        )
    return Format(order, channel_type)


def _to_float(texels: NDArray, meaning: str) -> NDArray:
    if meaning == "float":
        return texels.astype(np.float32)
    scale = np.float32(np.iinfo(texels.dtype).max)
    values = texels.astype(np.float32) / scale
    return np.maximum(values, np.float32(-1)) if meaning == "snorm" else values


def _to_normalised(values: NDArray, dtype: np.dtype) -> NDArray:
    """convert_<type>_sat_rte(value * maximum); NaN becomes 0."""
    limits = np.iinfo(dtype)
    scaled = np.nan_to_num(values.astype(np.float32) * np.float32(limits.max), nan=0.0, posinf=limits.max, neginf=limits.min)
    low = 0 if limits.min == 0 else limits.min
    return np.clip(np.rint(scaled), low, limits.max).astype(dtype)


def _srgb_to_linear(value: NDArray) -> NDArray:
    """From multiples of 1/255, taken exactly."""
    wide = np.rint(255 * value.astype(np.float64)) / 255
    return np.where(wide <= 0.04045, wide / 12.92, ((wide + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _linear_to_srgb(value: NDArray) -> NDArray:
    """On the curve, and already rounded to a multiple of 1/255, which storing as float32 then leaves alone."""
    wide = np.clip(np.nan_to_num(value.astype(np.float64), nan=0.0), 0.0, 1.0)
    curve = np.where(wide < 0.0031308, 12.92 * wide, 1.055 * wide ** (1 / 2.4) - 0.055)
    return (np.rint(255 * curve) / 255).astype(np.float32)
