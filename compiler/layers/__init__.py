"""Working on chosen layers of a Relax model: counting, other element types, other layouts.

A layer's number is its position, in execution order, among the calls of the named operators in one function; negative
numbers count from the end.
"""

from .layout_config import LayoutConfig, convert_layout
from .numbering import count_layers, layer_names
from .recast import recast

__all__ = ["LayoutConfig", "convert_layout", "count_layers", "layer_names", "recast"]
