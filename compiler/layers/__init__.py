"""Working on chosen layers of a Relax model: counting, other element types, other layouts.

A layer's number is its position, in execution order, among the calls of the named operators in one function; negative
numbers count from the end.
"""

from .hwnc import convert_hwnc
from .int4 import pack_int4, unpack_int4
from .layout_config import LayoutConfig, convert_layout
from .numbering import count_layers, layer_names
from .recast import recast

__all__ = [
    "LayoutConfig", "convert_hwnc", "convert_layout", "count_layers", "layer_names", "pack_int4", "recast", "unpack_int4",
]  # fmt: skip
