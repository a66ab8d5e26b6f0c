"""TVM's tensors and NumPy's arrays over the same bytes: a model's weights are large, and one copy of them is enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from .versions import import_tvm, tvm_series


def array_of(tensor: Any) -> np.ndarray:
    """The elements of a tensor on the CPU, to be read only. A copy where NumPy has no such type of its own."""
    try:
        array = np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError):
        return np.asarray(tensor.numpy())
    array.flags.writeable = False
    return array


def tensor_of(array: np.ndarray) -> Any:
    """A tensor of these elements; a copy where TVM does not take them as they lie."""
    runtime = import_tvm().runtime
    if array.flags.c_contiguous and array.flags.writeable:
        try:
            return runtime.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError):
            pass
    return runtime.tensor(np.asarray(array, order="C"))


def constant_array(expr: Any) -> np.ndarray | None:
    """The elements of a Relax tensor constant (Constant; GenericConst from 0.27) where they lie, to be read only; None for any
    other expression."""
    data = getattr(expr, "data" if tvm_series() != "0.27" else "value", None)
    return array_of(data) if isinstance(data, import_tvm().runtime.Tensor) else None
