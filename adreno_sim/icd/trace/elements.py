"""A buffer of a recorded launch as what its kernel's pointer points to: the driver itself knows bytes."""

from __future__ import annotations

import re

import numpy as np

from ...device.protocol import KernelParam

SCALARS = {
    "char": "i1", "uchar": "u1", "bool": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "long": "i8", "ulong": "u8", "size_t": "u8", "half": "f2", "float": "f4",
}  # fmt: skip
_POINTEE = re.compile(r"(u?char|u?short|u?int|u?long|half|float)(?:2|3|4|8|16)?\s*\*")


def element_type(param: KernelParam, array: np.ndarray) -> np.dtype:
    """The type of the elements of an argument, which holds `array`: its own where the kernel's says nothing that fits."""
    element = _POINTEE.match(param.spelled)
    dtype = np.dtype(SCALARS[element[1]] if element and param.kind == "buffer" else array.dtype)
    return dtype if array.nbytes % dtype.itemsize == 0 else array.dtype


def as_elements(array: np.ndarray, param: KernelParam) -> np.ndarray:
    """The contents of an argument as such elements."""
    dtype = element_type(param, array)
    return array if dtype == array.dtype else np.ascontiguousarray(array).view(dtype)
