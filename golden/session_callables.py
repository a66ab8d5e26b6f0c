"""Callables that say what functions of a module give, and keep its state between calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import AdrenoSimError


class CallableReference:
    """Functions by name, over NumPy arrays. What no callable gave is what the device gave; state that none gave is None.

    Arrays cannot be written in place; objects that stand for state can.
    """

    name = "given reference"
    needs_every_call = False

    def __init__(self, functions: Mapping[str, Callable[..., Any]]):
        for name, function in functions.items():
            if not callable(function):
                raise AdrenoSimError(f"reference of {name}: {type(function).__name__}: expected a callable over NumPy arrays")
        self._functions = dict(functions)

    def __contains__(self, function: str) -> bool:
        return function in self._functions

    def upload(self, array: np.ndarray) -> np.ndarray:
        """The array, to be read alone."""
        view = array.view()
        view.flags.writeable = False
        return view

    def shape(self, dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(dims)

    def pack(self, items: Sequence[Any]) -> tuple[Any, ...]:
        """A tuple."""
        return tuple(items)

    def call(self, function: str, args: Sequence[Any]) -> Any:
        """What the callable gives: an array, a number, an object, or a tuple; None if it says nothing."""
        try:
            return self._functions[function](*args)
        except AdrenoSimError:
            raise
        except Exception as error:  # the caller's code raises anything
            raise AdrenoSimError(f"reference of {function} raised {type(error).__name__}: {error}") from error

    def as_array(self, value: Any) -> np.ndarray | None:
        """A result as an array; None if nothing is said."""
        return None if value is None else np.asarray(value)

    def items_of(self, value: Any) -> list[Any] | None:
        """The items of a tuple; None for anything else."""
        return list(value) if isinstance(value, (tuple, list)) else None


def fit(given: Any, shape: tuple[int, ...], dtype: Any, where: str) -> np.ndarray:
    """What a callable gives for a tensor, in the tensor's type. AdrenoSimError if its shape or its kind is another."""
    array, wanted = np.asarray(given), np.dtype(dtype)
    same_kind = (array.dtype.kind in "iub") == (wanted.kind in "iub") and array.dtype.kind in "iubf"
    if array.shape != tuple(shape) or not same_kind:
        raise AdrenoSimError(f"{where}: {array.dtype}{list(array.shape)}: expected {wanted}{list(shape)}, as the function gives")
    with np.errstate(over="ignore"):
        return array.astype(wanted)
