"""Element types to compute in, and constants in them."""

from __future__ import annotations

import numpy as np

from ...base.errors import AdrenoSimError


def numeric(name: str) -> str:
    """The NumPy name of an element type to compute in; AdrenoSimError for anything but floats and integers."""
    try:
        found = np.dtype(name)
    except TypeError:
        found = np.dtype(object)
    if found.kind not in "fiu":
        raise AdrenoSimError(f"dtype {name!r}: expected a float or integer type, as float16 or int8")
    return found.name


def cast(array: np.ndarray, dtype: str, layer: int) -> np.ndarray:
    """A constant in another type, floats rounded to nearest, integers towards zero; AdrenoSimError if a value has no place."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.dtype(dtype).kind == "f":
            made = array.astype(dtype)
            if np.isfinite(array).all() and not np.isfinite(made).all():
                raise AdrenoSimError(f"layer {layer}: a constant of up to {np.abs(array).max():g} does not fit {dtype}")
            return made
        info = np.iinfo(dtype)
        whole = np.trunc(array)
        if array.size and not (np.isfinite(whole).all() and whole.min() >= info.min and whole.max() <= info.max):
            span = f"{np.nanmin(array):g} to {np.nanmax(array):g}"
            raise AdrenoSimError(f"layer {layer}: a constant of {span} does not fit {dtype} ({info.min} to {info.max})")
        return whole.astype(dtype)
