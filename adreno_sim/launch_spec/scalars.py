"""Values that go to a kernel by value: OpenCL C's scalar and vector types, structs as bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .data import fits

SCALARS = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": "int64", "ulong": "uint64", "half": "float16", "float": "float32", "double": "float64",
}  # fmt: skip
"""numpy's name of every scalar type."""

IN_OPENCL = {dtype: name for name, dtype in SCALARS.items()}

_LONG_NAMES = {"unsigned char": "uchar", "unsigned short": "ushort", "unsigned int": "uint", "unsigned": "uint",
               "unsigned long": "ulong", "signed char": "char"}  # fmt: skip
_VECTOR = re.compile(r"([a-z]+)(2|3|4|8|16)?")


def shape_of(spelled: str) -> tuple[str, int] | None:
    """numpy dtype and number of elements of an OpenCL type, None for what is neither scalar nor vector."""
    found = _VECTOR.fullmatch(_LONG_NAMES.get(spelled, spelled))
    if found is None or found[1] not in SCALARS:
        return None
    return SCALARS[found[1]], int(found[2] or 1)


def is_type(name: str) -> bool:
    return name == "bytes" or shape_of(name) is not None


def value_error(type: str, value: Any) -> str:
    """What is wrong with `value` as a `type`, "" if nothing is."""
    dtype, count = ("uint8", None) if type == "bytes" else (shape_of(type) or ("", 1))
    values = value if isinstance(value, list) else [value]
    what = f"{count or 'a list of'} numbers" if count != 1 else "a number"
    if not dtype or (count is None and not isinstance(value, list)):
        return "expected a list of bytes"
    if count is not None and len(values) != count:
        one = f" (one number of NumPy's {type} is {IN_OPENCL[type]})" if type in IN_OPENCL else ""
        return f"expected {what} for {type}, got {len(values)} values{one}"
    wrong = [item for item in values if not fits(item, dtype)]
    expected = "bytes, numbers from 0 to 255" if type == "bytes" else IN_OPENCL[dtype]
    return f"expected {expected}, got {wrong[0]!r:.40}" if wrong else ""


def make(type: str, value: Any) -> Any:
    """The launch argument for a checked value: a numpy scalar, an array for a vector, np.void for a struct's bytes.

    A 3-component vector takes the room of four.
    """
    if type == "bytes":
        return np.void(bytes(value))
    dtype, count = shape_of(type) or ("int32", 1)
    if count == 1:
        return np.dtype(dtype).type(value[0] if isinstance(value, list) else value)
    return np.array([*value, 0] if count == 3 else value, dtype)
