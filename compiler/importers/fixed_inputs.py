"""Inputs that are fixed at import: `input_values` says one number for each, which all elements of the input then are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Union

import numpy as np

from ...base.errors import AdrenoSimError

Number = Union[bool, int, float]
Values = Mapping[str, Number]


def require_inputs(values: Iterable[str], names: Sequence[str]) -> None:
    """Raise AdrenoSimError for a value of an input that the model has not."""
    for name in values:
        if name not in names:
            raise AdrenoSimError(f"value given for {name!r}, but the inputs are {', '.join(names) or 'none'}")


def fill(name: str, value: Number, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """An array of `shape` and `dtype` with this number everywhere. AdrenoSimError if the type does not hold it."""
    if not isinstance(value, (bool, int, float, np.number, np.bool_)):
        raise AdrenoSimError(f"value {value!r} of input {name!r}: expected a number, or true or false")
    if dtype.kind not in "biuf":
        raise AdrenoSimError(f"value {value} of input {name!r}: expected an input of numbers, got one of type {dtype}")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            held = np.array(value).astype(dtype)
        fits = dtype.kind == "f" or held == value
    except (OverflowError, ValueError):
        fits = False
    if not fits or (dtype.kind == "f" and np.isfinite(float(value)) and not np.isfinite(held)):
        raise AdrenoSimError(f"value {value} of input {name!r}: {dtype} does not hold it")
    return np.full(tuple(shape), held, dtype)
