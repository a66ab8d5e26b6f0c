"""What goes into the calls of a session and comes out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from ....base.errors import AdrenoSimError
from ...run.values import HostObject, Tensor, TupleValue, Value, release, retain


class Held:
    """A result that stays on the device: a tensor, or an object of TVM's runtime as a KV cache. It may be given to later calls.

    step, path: the call that gave it, and the items of tuples that lead to it. expected: the same of the reference, None if
    there is none.
    """

    def __init__(self, value: Tensor | HostObject, step: int, path: tuple[int, ...], expected: Any):
        self.value: Tensor | HostObject | None = value
        self.step, self.path, self.expected = step, path, expected
        retain(value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._tensor().shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._tensor().dtype)

    def numpy(self) -> np.ndarray:
        """The contents, copied from the device. AdrenoSimError for anything but a tensor, and after `free` or the session's
        end."""
        return self._tensor().read()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        what = f"{self.value.dtype} {list(self.value.shape)}" if isinstance(self.value, Tensor) else type(self.value).__name__
        return f"<{what} on the device, of call {self.step}>"

    def free(self) -> None:
        """Let the device have its memory back; the session does it at its end."""
        if self.value is not None:
            release(self.value)
        self.value = self.expected = None

    def __del__(self) -> None:
        self.free()

    def _tensor(self) -> Tensor:
        if self.value is None:
            raise AdrenoSimError(f"a result of call {self.step} that was freed")
        if not isinstance(self.value, Tensor):
            raise AdrenoSimError(f"{self!r}: no tensor, so that it has no contents")
        return self.value


Result = Union[Held, int, float, None, tuple["Result", ...]]
"""What a call gives: what stays on the device, numbers, and tuples of these."""

Argument = Union[np.ndarray, Held, int, float, Sequence[Any]]
"""What a call takes: arrays, earlier results, numbers, shapes (integers), tuples."""


def wrap(value: Value, step: int, expected: Any, split: Any, path: tuple[int, ...] = ()) -> Result:
    """A result of call `step`. expected: of the reference; split: its items of a tuple."""
    if isinstance(value, TupleValue):
        others = split(expected) or [None] * len(value.items)
        pairs = zip(value.items, others, strict=True)
        return tuple(wrap(item, step, other, split, (*path, i)) for i, (item, other) in enumerate(pairs))
    if isinstance(value, (Tensor, HostObject)):
        return Held(value, step, path, expected)
    if value is None or isinstance(value, (int, float)):
        return value
    raise AdrenoSimError(f"call {step} gives {value!r}: expected tensors, state and numbers")


def settle(given: Any, value: Value, where: str) -> Any:
    """What a callable gave instead of a result, as that result is built. AdrenoSimError if it is built otherwise."""
    from ....golden.session_callables import fit

    if given is None or isinstance(value, HostObject):
        return given
    if isinstance(value, TupleValue):
        if not isinstance(given, (tuple, list)) or len(given) != len(value.items):
            count = f"{len(given)} items" if isinstance(given, (tuple, list)) else type(given).__name__
            raise AdrenoSimError(f"{where}: {count}: expected {len(value.items)} in a tuple, None for those that are not given")
        pairs = enumerate(zip(given, value.items, strict=True))
        return tuple(settle(one, item, f"{where}, result {i}") for i, (one, item) in pairs)
    if isinstance(value, Tensor):
        return fit(given, value.shape, value.dtype, where)
    return given


def find_held(result: Result) -> list[Held]:
    """What of a result stays on the device, in order."""
    if isinstance(result, tuple):
        return [held for item in result for held in find_held(item)]
    return [result] if isinstance(result, Held) else []


def find_tensors(result: Result) -> list[Held]:
    """The tensors of a result, in order."""
    return [held for held in find_held(result) if isinstance(held.value, Tensor)]
