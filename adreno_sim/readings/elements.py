"""The types of a buffer's elements if a host gave only bytes: as far as the kernel's code shows them."""

from __future__ import annotations

import re

import numpy as np

from ..base.specs import ImageSpec
from ..image.formats import CHANNEL_TYPES
from ..ir import ir
from ..ir.mod_ref import moved_elements
from ..memory.storage import StorageView

_POINTEE = re.compile(r"(u?char|u?short|u?int|u?long|half|float|double)(?:2|3|4|8|16)?\s*\*")
_POINTEES = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64",
    "ulong": "uint64", "half": "float16", "float": "float32", "double": "float64",
}  # fmt: skip
_FLOATS = {16: "float16", 32: "float32", 64: "float64"}


def find_element_type(function: ir.Function, param: ir.Param, view: StorageView, stores: bool) -> np.dtype:
    """Returns the type of a view's elements: an image's own; of a buffer what the kernel's pointer points to where these are
    floats, else what its stores (or loads) move where that is one type of floats, else what it points to."""
    if isinstance(view.spec, ImageSpec):
        return np.dtype(CHANNEL_TYPES[view.spec.channel_type][0])
    found = _POINTEE.search(param.spelled)
    named = np.dtype(_POINTEES[found[1]] if found else "uint8")
    if named.kind == "f":
        return named
    moved = moved_elements(function, param, stores)
    (one,) = moved if len(moved) == 1 else (None,)
    return np.dtype(_FLOATS[one.bits]) if isinstance(one, ir.Float) else named


def as_elements(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns the bytes of an array as elements of another type; unchanged if they are not a whole number of these."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(dtype) if flat.nbytes % dtype.itemsize == 0 else flat
