"""Inputs that can tell: where what a call was given is equal along an axis, a kernel that mixes that axis up goes unseen.

A kernel before it may have made it so (one that spreads a lane over a texel hides one that keeps a lane). Such a call is
run once more on the same inputs with every element scaled by a separate factor. A kernel that only compares (which rows of an
attention have only -inf?) gives the same everywhere on numbers that it looks for in vain: it gets some of those.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...records import dataclass
from ...results.comparison import why_uninformative
from ...results.expected import Expected
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall
from ..run.values import Tensor
from .golden import Golden, is_result
from .second_device import SecondDevice

if TYPE_CHECKING:
    from ...golden.kernel_reference import Argument

LEAST, MOST = 0.5, 1.5
"""Factors of the elements: signs and orders of magnitude stay, as a kernel may suppose (a variance is positive)."""


def find_equal_axis(array: np.ndarray) -> int | None:
    """The last axis of more than one place along which all floats are equal; None if there is none."""
    if array.dtype.kind != "f":
        return None
    for axis in reversed(range(array.ndim)):
        if array.shape[axis] < 2:
            continue
        first = np.take(array, [0], axis)
        if bool((np.take(array, [1], axis) == first).all()) and bool((array == first).all()):  # two places tell most of them
            return axis
    return None


def scale_elements(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each float by a separate factor; zeros become small numbers where there is nothing else. None leaves its type's range."""
    if array.dtype.kind != "f":
        return array
    factors = rng.uniform(LEAST, MOST, array.shape)
    with np.errstate(over="ignore"):
        changed = array.astype(np.float64) * factors if array.any() else factors - LEAST
    largest = np.float64(np.finfo(array.dtype).max)
    inside = np.where(np.isfinite(array), np.clip(changed, -largest, largest), changed)
    return np.asarray(inside, array.dtype)  # a scalar, where NumPy computed with arrays of no axes


SOUGHT = (0.0, -np.inf, np.inf)
"""What kernels look for in floats: padding, and what a mask leaves out."""


def mix_in(array: np.ndarray, value: float, axis: int, rng: np.random.Generator) -> np.ndarray:
    """The array with `value` in half of its places: a third of the lines along `axis` hold nothing else, a third hold none."""
    if array.dtype.kind != "f":
        return array
    there = rng.random(array.shape) < 0.5
    if array.ndim:
        lines = rng.integers(0, 3, array.shape[:axis] + (1,) + array.shape[axis + 1 :])
        there = np.where(lines == 2, there, lines == 1)
    return np.where(there, value, array).astype(array.dtype)


def _differing(array: np.ndarray) -> np.ndarray:
    """An array that holds another value in each element."""
    if array.dtype.kind == "b":
        return np.logical_not(array, out=np.empty_like(array))
    return np.where(array == 1, 2, 1).astype(array.dtype)


@dataclass(frozen=True)
class OtherRun:
    """A call on other inputs. before: its arguments before it; golden: what they should hold after it; got: its results by
    position."""

    before: list[np.ndarray | None]
    golden: list[Expected | None]
    got: dict[int, np.ndarray]


class DistinguishingInputs:
    """Judges calls whose inputs cannot tell on inputs that can, once for each function and axis. constants: names of tensors that
    are the model's own and may be equal."""

    def __init__(self, model: CompiledModel, golden: Golden, constants: Container[str], seed: int = 0):
        self._model = model
        self._golden = golden
        self._constants = constants
        self._seed = seed
        self._judged: set[tuple[str, str, int]] = set()

    @cached_property
    def _rng(self) -> np.random.Generator:
        """Made for the first call that needs it: in most runs none does, and NumPy's generators are imported with it."""
        return np.random.default_rng(self._seed)

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
    ) -> OtherRun | str:
        """The call over memory that holds nothing of its result; in words, why it did not run."""
        given = [
            array if array is None or expected is None else _differing(expected.array.reshape(array.shape))
            for array, expected in zip(before, golden, strict=True)
        ]
        return self._run(call, given)

    def run(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> OtherRun | str:
        """The call on scaled inputs; in words, why it did not run."""
        read = {position for position, _ in call.tensors(written=False)}
        given = [scale_elements(array, self._rng) if array is not None and i in read else array for i, array in enumerate(before)]
        return self._run(call, given)

    def run_over_sought(
        self, call: FunctionCall, before: Sequence[np.ndarray | None], golden: Sequence[Expected | None]
    ) -> OtherRun | None:
        """A call whose results are not floats and say nothing, on the first inputs with values it may look for whose results say
        something; None if there are none such, or it does not run. Once for each function."""
        results = [i for i, _ in call.tensors(written=True) if golden[i] is not None]
        read = [i for i, _ in call.tensors(written=False) if (array := before[i]) is not None and array.dtype.kind == "f"]
        if not results or not read or not all(_says_nothing(golden[i]) for i in results):
            return None
        if (call.function.name, "", -2) in self._judged:
            return None
        self._judged.add((call.function.name, "", -2))
        axes = range(max(array.ndim for i in read if (array := before[i]) is not None) or 1)
        for value, axis in itertools.product(SOUGHT, reversed(axes)):
            given = list(before)
            for i in read:
                array = before[i]
                assert array is not None
                given[i] = mix_in(array, value, min(axis, max(array.ndim - 1, 0)), self._rng)
            expected = self._golden.results(call, arguments_with(call, given))
            if not any(_says_nothing(expected[i]) for i in results):
                found = self._run(call, given, expected)
                return None if isinstance(found, str) else found
        return None

    def _run(
        self, call: FunctionCall, given: list[np.ndarray | None], golden: Sequence[Expected | None] | None = None
    ) -> OtherRun | str:
        """golden: what the call should give on these inputs, where that is known."""
        second = SecondDevice(self._model, call.device)
        try:
            got = second.results(call, given)
        finally:
            second.close()
        if got is None:
            return second.refused[call.function.name]
        golden = list(self._golden.results(call, arguments_with(call, given)) if golden is None else golden)
        found: dict[int, np.ndarray] = {}
        for position, expected in enumerate(golden):
            old, mine = given[position], got[position]
            if expected is None or old is None or mine is None or not isinstance(call.args[position], Tensor):
                continue
            if is_result(call, position, old, expected.array):
                found[position] = mine
        return OtherRun(given, golden, found)


def arguments_with(call: FunctionCall, given: Sequence[np.ndarray | None]) -> list[Argument]:
    """The arguments of a call with these arrays for its tensors."""
    return [arg if array is None else array for arg, array in zip(call.args, given, strict=True)]  # type: ignore[misc]


def _says_nothing(expected: Expected | None) -> bool:
    """Whether a result that is not a float would agree with nearly any other kernel's."""
    return expected is None or (expected.array.dtype.kind != "f" and bool(why_uninformative(expected.array)))
