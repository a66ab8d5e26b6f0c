"""Runs kernels once more on the simulator with wider types: they round so little that one wrong term shows, and that an error
which is only rounding does not."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...backends.open import open_device
from ...base.errors import AdrenoSimError
from ...results.comparison import Comparison, compare
from ...results.expected import Expected
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall
from ..run.values import Tensor
from .second_device import SecondDevice
from .wide_text import BitsMatter, Width, rounds_as_floats, widen_model

if TYPE_CHECKING:
    from ...golden.expectations import KernelExpectations

DEVICE = "sim:reference,pool=none"
"""It has doubles, flushes nothing, its limits leave room for them, and it keeps no memory between runs. It checks accesses: the
text that it runs is the kernel's, and may be a stranger's."""

SHARE_OF_FLOATS = 2.0**-8
"""Largest error of a rerun in doubles, in those of floats; `golden.truth.units.WIDE` judges by the same."""

SHARE_OF_HALVES = 2.0**-12
"""How much of what halves drift floats may: their unit roundoff is 2^-13 of it."""

NUDGES = 4.0
"""How often the change by nudged constants is allowed: they may have been off the other way round."""

Arrays = Sequence[np.ndarray | None]


class WidePrecisionRerun:
    """The wide reruns of a model's functions. reasons: functions that have none -> why, in words."""

    def __init__(self, model: CompiledModel, reference: KernelExpectations):
        self.reasons: dict[str, str] = {}
        self.model = model
        self.device = open_device(DEVICE)
        self._reference = reference
        self._judged: set[tuple[object, ...]] = set()
        self._widths: dict[str, list[Width]] = {}

    def is_due(self, call: FunctionCall) -> bool:
        """Whether a rerun would say more of a call than the call itself, and it is the first of its function with arguments of
        these shapes.

        Of floats it would not where it rounds as they do.
        """
        name = call.function.name
        if name in self.reasons or call.signature in self._judged or not self.can_judge(call):
            return False
        if not self._reference.computes_halves(call.function.golden) and rounds_as_floats(self.model, name):
            return False
        self._judged.add(call.signature)
        return True

    def can_judge(self, call: FunctionCall) -> bool:
        """Whether it is known without rounding what a call should compute."""
        return self._reference.has_truth(call.function.golden)

    def describe(self, call: FunctionCall) -> str:
        """What a rerun of the call is, in words; "" if none ran."""
        widths = self._widths.get(call.function.name)
        return str(widths[0]) if widths else ""

    def low_power(self) -> dict[str, str]:
        """Functions in halves that have no rerun -> why, in words: their bound alone sees little."""
        halves = self._reference.computes_halves
        return {name: why for name, why in self.reasons.items() if halves(self.model.host_functions[name].golden)}

    def judge(
        self, call: FunctionCall, before: Arrays, golden: Sequence[Expected | None], wrong: Container[int] = ()
    ) -> dict[int, Comparison]:
        """Each result of a call as its rerun computes it, by position; empty where it has none (`reasons` says why).

        before: the arguments before the call; golden: what they should hold after it, in their own types. wrong: positions at
        which they do not.
        """
        name = call.function.name
        widths = self._widths.setdefault(name, self._all_widths(call))
        while widths:
            try:
                return self._judge_as(widths[0], call, before, golden, wrong)
            except (AdrenoSimError, BitsMatter) as error:
                self.reasons[name] = str(error).splitlines()[0]
                widths.pop(0)
        return {}

    def _judge_as(
        self, width: Width, call: FunctionCall, before: Arrays, golden: Sequence[Expected | None], wrong: Container[int]
    ) -> dict[int, Comparison]:
        got = self.run(call, before, width)
        pure = width.doubles and not rounds_as_floats(self.model, call.function.name)
        found: dict[int, Comparison] = {}
        wide: Mapping[int, Expected] = _scale(golden) if pure and not width.halves else {}
        if wide:  # the truth of floats says enough, unless rounding decides something
            found = _compare_all(got, wide)
        if not wide or not all(result.ok for result in found.values()):
            wide = self._expect(call, before, pure)
            found = _compare_all(got, wide)
        for position, expected in wide.items():
            mine, narrow = got[position], golden[position]
            if mine is None or narrow is None or position in wrong:
                continue
            if not _is_same_computation(mine, expected, narrow, self._reference.units.flushes):
                raise BitsMatter(f"{width} mean something else")
        if pure and not all(result.ok for result in found.values()):
            nudged = self.run(call, before, width, nudge=True)
            found = _compare_all(got, {i: _loosen(expected, golden[i], got[i], nudged[i]) for i, expected in wide.items()})
        if not width.doubles and not all(result.ok for result in found.values()):
            halves = self.run(call, before)
            found = _compare_all(got, {i: _allow_drift(expected, golden[i], got[i], halves[i]) for i, expected in wide.items()})
        self.reasons.pop(call.function.name, None)
        return found

    def _expect(self, call: FunctionCall, before: Arrays, doubles: bool) -> dict[int, Expected]:
        """What a rerun's arguments should hold, by position, where it is known how far they may be off."""
        args = [arg if array is None else array for arg, array in zip(call.args, before, strict=True)]
        expected = self._reference.expect_wide(call.function.golden, args, doubles)  # type: ignore[arg-type]
        return {i: one for i, one in enumerate(expected) if one is not None and one.allowed is not None}

    def run(self, call: FunctionCall, before: Arrays, width: Width | None = None, nudge: bool = False) -> list[np.ndarray | None]:
        """The tensor arguments after the call, by this rerun's device; width: None for the types of the model.

        Raises AdrenoSimError if it cannot run, BitsMatter where it has no rerun of this width.
        """
        changed, dtypes = (self.model, []) if width is None else self._widen(call, width, nudge)
        second = SecondDevice(changed, self.device)
        try:
            got = second.results(call, before, dtypes)
            if got is None:
                raise AdrenoSimError(next(iter(second.refused.values())))
            return got
        finally:
            second.close()

    def widen(self, call: FunctionCall) -> tuple[CompiledModel, list[str]]:
        """The model that `judge` begins with, and the types of the arguments there, by position; "" of a scalar. Raises
        BitsMatter."""
        return self._widen(call, self._all_widths(call)[0])

    def _all_widths(self, call: FunctionCall) -> list[Width]:
        halves = self._reference.computes_halves(call.function.golden)
        return [Width(halves, doubles=True)] + [Width(halves, doubles=False)] * halves

    def _widen(self, call: FunctionCall, width: Width, nudge: bool = False) -> tuple[CompiledModel, list[str]]:
        params = call.function.params
        lent = {
            param.name for param, arg in zip(params, call.args, strict=True) if isinstance(arg, Tensor) and arg.lent is not None
        }
        changed, kept = widen_model(self.model, call.function.name, width, nudge, lent)
        dtypes = [
            "" if not isinstance(arg, Tensor) else arg.dtype if param.name in kept else width.dtype_of(arg.dtype, arg.scope)
            for param, arg in zip(params, call.args, strict=True)
        ]
        return changed, dtypes


def _compare_all(got: Arrays, expected: Mapping[int, Expected]) -> dict[int, Comparison]:
    found = {}
    for position, one in expected.items():
        mine = got[position]
        if mine is not None:
            with np.errstate(over="ignore"):
                array = one.array if one.value is None else one.value.astype(mine.dtype)
            found[position] = compare(mine.reshape(one.array.shape), replace(one, array=array))
    return found


def _scale(golden: Sequence[Expected | None]) -> dict[int, Expected]:
    """What doubles should hold instead of floats: the same, with a share of their errors."""
    return {
        position: replace(one, allowed=one.allowed * (SHARE_OF_FLOATS if one.array.dtype.kind == "f" else 1))
        for position, one in enumerate(golden)
        if one is not None and one.allowed is not None
    }


def _loosen(expected: Expected, narrow: Expected | None, got: np.ndarray | None, nudged: np.ndarray | None) -> Expected:
    """The same, with what constants that are known by few digits may change, as far as it may be off in narrow types."""
    if narrow is None or got is None or nudged is None or expected.array.dtype.kind != "f":
        return expected
    assert expected.allowed is not None
    assert narrow.allowed is not None
    with np.errstate(invalid="ignore"):
        change = np.abs(nudged.astype(np.float64) - got.astype(np.float64))
    change = np.where(np.isfinite(change), change, 0.0).reshape(expected.allowed.shape)
    most = narrow.allowed.reshape(expected.allowed.shape)
    allowed = np.maximum(expected.allowed, np.minimum(expected.allowed + NUDGES * change, most))
    return replace(expected, allowed=allowed)


def _allow_drift(expected: Expected, narrow: Expected | None, got: np.ndarray | None, halves: np.ndarray | None) -> Expected:
    """The same, with what floats drift where a kernel's own order of operations lets halves drift further than its PrimFunc's."""
    from ...golden.truth.bound import drift_of

    if narrow is None or narrow.allowed is None or got is None or halves is None or expected.value is None:
        return expected
    shape = expected.value.shape
    with np.errstate(invalid="ignore"):
        error = halves.astype(np.float64).reshape(shape) - got.astype(np.float64).reshape(shape)
    drift = SHARE_OF_HALVES * drift_of(error, expected.value, narrow.allowed.reshape(shape))
    assert expected.allowed is not None
    return replace(expected, allowed=np.maximum(expected.allowed, drift))


def _is_same_computation(got: np.ndarray, wide: Expected, narrow: Expected, flushes: bool) -> bool:
    """Whether narrower types could turn what the rerun computed into a result that is right; a kernel that reads bits could not.

    They may be off from the truth by what is allowed, and from the rerun by as much; small numbers they may take for zero.
    """
    if wide.value is None or narrow.allowed is None or got.dtype.kind != "f":
        return True
    computed, most = got.astype(np.float64).reshape(wide.value.shape), 2 * narrow.allowed.reshape(wide.value.shape)
    with np.errstate(invalid="ignore"):
        error = np.abs(computed - wide.value)
        far = error > most
        if not far.any():
            return True
        if flushes:
            size = np.abs(computed)
            smallest = float(np.finfo(narrow.array.dtype).smallest_normal)  # what is smaller may be flushed
            far &= error > most + np.where(size < smallest, size, 0.0)
    far &= np.isfinite(narrow.array.reshape(wide.value.shape))  # halves overflow where floats do not
    return not bool(far.any())
