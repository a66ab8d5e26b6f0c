"""Inputs on which a kernel that adds and multiplies is exact: on a real device, a single wrong term of thousands shows.

No tolerance of halves sees one, and a wide rerun runs on the simulator: what a driver makes of the text it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...base.errors import AdrenoSimError
from ...golden.expectations import KernelExpectations
from ...records import dataclass
from ...results.comparison import compare
from ...results.expected import Expected
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall
from .distinguishing_inputs import OtherRun, arguments_with
from .golden import is_result
from .second_device import SecondDevice
from .wide_precision_rerun import WidePrecisionRerun

DRAWS = ((3, 0), (2, 0), (1, 0), *((1, power) for power in range(1, 11)))
"""The largest whole number, and which power of two of elements one in the largest tensor is not zero; tried in order until every
sum is exact. The others have no zeros: of two factors with zeros, most terms would vanish, and those of one input everywhere."""


MOST_RUNS = 4
"""Of one call."""


class IntegerInputs:
    """Judges a device by the first call of each function that only adds and multiplies, on small whole numbers instead of its
    floats.

    Their truth must be what the simulator computes of the kernel's own text, to the bit: a text that is exact in no order (a
    division by multiplying with the inverse) tells nothing here.
    """

    def __init__(self, model: CompiledModel, reference: KernelExpectations, rerun: WidePrecisionRerun, seed: int = 0):
        self._model = model
        self._reference = reference
        self._rerun = rerun
        self._rng = np.random.default_rng(seed)
        self._judged: set[tuple[object, ...]] = set()

    def is_due(self, call: FunctionCall) -> bool:
        """Whether a call is the first of its function with arguments of these shapes, and may be exact."""
        if call.signature in self._judged or not self._reference.has_bound(call.function.golden):
            return False
        self._judged.add(call.signature)
        return True

    def runs(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> Iterator[OtherRun]:
        """The call on whole numbers, and what each result is to the bit; more than once where most of a tensor are zeros, never
        where no such numbers are found."""
        power = 0
        for number in range(MOST_RUNS):
            if number == 2**power:
                return
            drawn = self._draw(call, before)
            if drawn is None or (other := self._run(call, drawn)) is None:
                return
            power = drawn.power
            yield other

    def _run(self, call: FunctionCall, drawn: _Drawn) -> OtherRun | None:
        given, golden = drawn.given, drawn.golden
        results = [i for i, expected in enumerate(golden) if expected is not None and _is_judged(call, i, given[i], expected)]
        try:
            simulated = self._rerun.run(call, given)
        except AdrenoSimError:
            return None
        if not all(_is_same(simulated[position], golden[position]) for position in results):
            return None
        second = SecondDevice(self._model, call.device)
        try:
            got = second.results(call, given)
        finally:
            second.close()
        if got is None:
            return None
        return OtherRun(given, golden, {position: array for position in results if (array := got[position]) is not None})

    def _draw(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> _Drawn | None:
        read = {position for position, _ in call.tensors(written=False)}
        floats = {i: array for i, array in enumerate(before) if array is not None and array.dtype.kind == "f" and i in read}
        largest = max(floats, key=lambda i: floats[i].size, default=None)
        for most, power in DRAWS if floats else ():
            given = list(before)
            for i, array in floats.items():
                given[i] = self._whole_numbers(array, most, power if i == largest else 0)
            try:
                golden = self._reference.expect_exact(call.function.golden, arguments_with(call, given))
            except AdrenoSimError:
                return None
            if any(one is not None and one.value is not None and one.array.any() for one in golden):
                return _Drawn(given, golden, power)
        return None

    def _whole_numbers(self, like: np.ndarray, most: int, power: int) -> np.ndarray:
        numbers = self._rng.integers(1, most + 1, like.shape) * self._rng.choice((-1, 1), like.shape)
        return np.where(self._rng.integers(0, 2**power, like.shape) == 0, numbers, 0).astype(like.dtype)


@dataclass(frozen=True)
class _Drawn:
    """Arguments before a call, and after it; one in 2^power elements of the largest is not zero."""

    given: list[np.ndarray | None]
    golden: list[Expected | None]
    power: int


def _is_judged(call: FunctionCall, position: int, before: np.ndarray | None, expected: Expected) -> bool:
    return before is not None and expected.value is not None and is_result(call, position, before, expected.array)


def _is_same(got: np.ndarray | None, golden: Expected | None) -> bool:
    return got is not None and golden is not None and compare(got, golden.reshape(got.shape)).ok
