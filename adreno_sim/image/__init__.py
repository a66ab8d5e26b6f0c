"""Images as memory: texel formats, row and slice pitch, coordinate <-> byte address, packing."""

from .formats import CHANNEL_TYPES, ORDERS, Format, format_of
from .layout import Layout, layout_of, layout_under, offsets_of, own_layout_of, texels_at
from .over_buffer import find_disagreement, find_refusal
from .packing import texel_array

__all__ = [
    "CHANNEL_TYPES",
    "ORDERS",
    "Format",
    "Layout",
    "find_disagreement",
    "find_refusal",
    "format_of",
    "layout_of",
    "layout_under",
    "offsets_of",
    "own_layout_of",
    "texel_array",
    "texels_at",
]
