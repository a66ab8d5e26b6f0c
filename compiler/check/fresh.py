"""Inputs that can tell: where what a call was given is equal along an axis, a kernel that mixes that axis up goes unseen.

A kernel before it may have made it so (one that spreads a lane over a texel hides one that keeps a lane). Such a call is
run once more on the same inputs with every element scaled by a factor of its own.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from ...results.expected import Expected
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall
from ..run.values import Tensor
from .golden import Golden, is_result
from .peer import Peer

LEAST, MOST = 0.5, 1.5
"""Factors of the elements: signs and orders of magnitude stay, as a kernel may suppose (a variance is positive)."""


def find_equal_axis(array: np.ndarray) -> int | None:
    """The last axis of more than one place along which all floats are equal; None where there is none."""
    if array.dtype.kind != "f":
        return None
    for axis in reversed(range(array.ndim)):
        if array.shape[axis] > 1 and bool((array == np.take(array, [0], axis)).all()):
            return axis
    return None


def scale_elements(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each float by a factor of its own; zeros become small numbers where there is nothing else. None leaves its type's range."""
    if array.dtype.kind != "f":
        return array
    factors = rng.uniform(LEAST, MOST, array.shape)
    with np.errstate(over="ignore"):
        changed = array.astype(np.float64) * factors if array.any() else factors - LEAST
    largest = np.float64(np.finfo(array.dtype).max)
    inside = np.where(np.isfinite(array), np.clip(changed, -largest, largest), changed)
    return np.asarray(inside, array.dtype)  # a scalar, where NumPy computed with arrays of no axes


def _differing(array: np.ndarray) -> np.ndarray:
    """An array that holds another value in each element."""
    if array.dtype.kind == "b":
        return np.logical_not(array, out=np.empty_like(array))
    return np.where(array == 1, 2, 1).astype(array.dtype)


@dataclass(frozen=True)
class Fresh:
    """A call on other inputs. before: its arguments before it; golden: what they should hold after it; got: its results by
    position."""

    before: list[np.ndarray | None]
    golden: list[Expected | None]
    got: dict[int, np.ndarray]


class FreshInputs:
    """Judges calls whose inputs cannot tell on inputs that can, once for each function and axis. constants: names of tensors that
    are the model's own and may be equal."""

    def __init__(self, model: CompiledModel, golden: Golden, constants: Container[str], seed: int = 0):
        self._model = model
        self._golden = golden
        self._constants = constants
        self._rng = np.random.default_rng(seed)
        self._judged: set[tuple[str, str, int]] = set()

    def find_reason(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> str:
        """Which input of a call cannot tell, in words; "" for none, or where it was judged on others already."""
        for position, tensor in call.tensors(written=False):
            array = before[position]
            if array is None or tensor.name in self._constants or (axis := find_equal_axis(array)) is None:
                continue
            name = call.function.params[position].name
            if (call.function.name, name, axis) not in self._judged:
                self._judged.add((call.function.name, name, axis))
                return f"what the run gave it in {name} is equal along axis {axis}"
        return ""

    def takes_nothing(self, call: FunctionCall) -> bool:
        """Whether a call reads no tensor, so that its result is the same each time; once for each function."""
        if any(True for _ in call.tensors(written=False)) or (call.function.name, "", -1) in self._judged:
            return False
        self._judged.add((call.function.name, "", -1))
        return True

    def run_over_others(
        self, call: FunctionCall, before: Sequence[np.ndarray | None], golden: Sequence[Expected | None]
    ) -> Fresh | str:
        """The call over memory that holds nothing of its result; in words, why it did not run."""
        given = [
            array if array is None or expected is None else _differing(expected.array.reshape(array.shape))
            for array, expected in zip(before, golden, strict=True)
        ]
        return self._run(call, given)

    def run(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> Fresh | str:
        """The call on scaled inputs; in words, why it did not run."""
        read = {position for position, _ in call.tensors(written=False)}
        given = [scale_elements(array, self._rng) if array is not None and i in read else array for i, array in enumerate(before)]
        return self._run(call, given)

    def _run(self, call: FunctionCall, given: list[np.ndarray | None]) -> Fresh | str:
        peer = Peer(self._model, call.device)
        try:
            got = peer.results(call, given)
        finally:
            peer.close()
        if got is None:
            return peer.refused[call.function.name]
        args = [arg if array is None else array for arg, array in zip(call.args, given, strict=True)]
        golden = self._golden.results(call, args)  # type: ignore[arg-type]
        found: dict[int, np.ndarray] = {}
        for position, expected in enumerate(golden):
            old, mine = given[position], got[position]
            if expected is None or old is None or mine is None or not isinstance(call.args[position], Tensor):
                continue
            if is_result(call, position, old, expected.array):
                found[position] = mine
        return Fresh(given, golden, found)
