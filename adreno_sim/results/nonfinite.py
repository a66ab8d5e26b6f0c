"""Where NaN and infinity occur: in which call, from arguments that held none."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .expected import Expected

_APPEARS = "NaN or infinity appears in {result}, though every input of {function} is finite"
_NAN_APPEARS = "NaN appears in {result}, though no input of {function} holds NaN"
_SWALLOWED = (
    "NaN occurs on the way to {result}, though no input of {function} holds NaN: the device's min or max left it out, and on "
    "another device it may pass on"
)


def find_birth(got: np.ndarray, expected: Expected, given: Iterable[np.ndarray], untouched: np.ndarray | None) -> str:
    """A sentence with {result} and {function} if NaN or infinity occurs in a call, else "".

    got: a result, of the shape of `expected`. given: what the call reads. untouched: where the result held nothing and still
    does. OpenCL leaves open whether min and max pass NaN on: where the reference has it and says nothing of the element, it came
    up, whatever the device made of it.
    """
    if got.dtype.kind != "f" or (np.isfinite(got).all() and not np.isnan(expected.array).any()):
        return ""
    infinite, nan = np.isinf(got), np.isnan(got)
    swallowed = np.zeros(got.shape, bool)
    if expected.allowed is not None and expected.array.dtype.kind == "f":
        swallowed = np.isnan(expected.array) & np.isinf(expected.allowed) & ~nan
    if untouched is not None:
        infinite, nan, swallowed = (found & ~untouched.reshape(got.shape) for found in (infinite, nan, swallowed))
    if not (infinite.any() or nan.any() or swallowed.any()):
        return ""
    floats = [array for array in given if array.dtype.kind == "f"]
    if (infinite.any() or nan.any()) and all(np.isfinite(array).all() for array in floats):
        return _APPEARS
    if not (nan.any() or swallowed.any()) or any(np.isnan(array).any() for array in floats):
        return ""
    return _NAN_APPEARS if nan.any() else _SWALLOWED
