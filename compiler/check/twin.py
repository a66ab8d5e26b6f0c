"""Runs kernels of halves once more as kernels of floats, on the simulator: they round so little that one wrong term shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...backends.open import open_device
from ...base.errors import AdrenoSimError
from ...results.comparison import Comparison, compare
from ...results.expected import Expected
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall
from ..run.values import Tensor
from .peer import Peer
from .wide_text import BitsMatter, widen_dtype, widen_model

if TYPE_CHECKING:
    from ...golden.expectations import KernelExpectations

DEVICE = "sim:reference,checks=off"
"""Whose limits leave room for floats in the place of halves."""

SMALLEST_HALF = float(np.finfo(np.float16).smallest_normal)
"""Of normal halves; a device may flush what is smaller."""


class WideTwin:
    """The twins of a model's functions. reasons: functions that have none -> why, in words."""

    def __init__(self, model: CompiledModel, reference: KernelExpectations):
        self.reasons: dict[str, str] = {}
        self._model = model
        self._reference = reference
        self._device = open_device(DEVICE)
        self._judged: set[tuple[object, ...]] = set()

    def is_due(self, call: FunctionCall) -> bool:
        """Whether a call computes in halves and is the first of its function with arguments of these shapes."""
        name = call.function.name
        shapes = tuple(arg.shape if isinstance(arg, Tensor) else arg for arg in call.args)
        if name in self.reasons or (name, *shapes) in self._judged or not self._reference.computes_halves(call.function.golden):
            return False
        self._judged.add((name, *shapes))
        return True

    def judge(
        self, call: FunctionCall, before: Sequence[np.ndarray | None], golden: Sequence[Expected | None]
    ) -> dict[int, Comparison]:
        """Each result of a call as its twin computes it, by position; empty where it has none (`reasons` says why).

        before: the arguments before the call; golden: what they should hold after it, in halves.
        """
        try:
            got = self._run(call, before)
            args = [arg if array is None else array for arg, array in zip(call.args, before, strict=True)]
            expected = self._reference.expect_wide(call.function.golden, args)  # type: ignore[arg-type]
        except (AdrenoSimError, BitsMatter) as error:
            self.reasons[call.function.name] = str(error).splitlines()[0]
            return {}
        found: dict[int, Comparison] = {}
        for position, (mine, wide, narrow) in enumerate(zip(got, expected, golden, strict=True)):
            if mine is None or wide is None or narrow is None or wide.allowed is None:
                continue
            mine = mine.reshape(wide.array.shape)
            if not _is_same_computation(mine, wide, narrow, self._reference.units.flushes):
                self.reasons[call.function.name] = "floats in the place of halves mean something else"
                return {}
            found[position] = compare(mine, wide)
        return found

    def _run(self, call: FunctionCall, before: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        peer = Peer(widen_model(self._model, call.function.name), self._device)
        try:
            got = peer.results(call, before, widen_dtype)
            if got is None:
                raise AdrenoSimError(next(iter(peer.refused.values())))
            return got
        finally:
            peer.close()


def _is_same_computation(got: np.ndarray, wide: Expected, narrow: Expected, flushes: bool) -> bool:
    """Whether halves could turn what the twin computed into the result that was found right; a kernel that reads bits could not.

    They may be off from the truth by what is allowed, and from the twin by as much; small numbers they may take for zero.
    """
    if wide.value is None or narrow.allowed is None or got.dtype.kind != "f":
        return True
    size = np.abs(got.astype(np.float64))
    flushed = np.where(size < SMALLEST_HALF, size, 0.0) if flushes else 0.0
    with np.errstate(invalid="ignore"):
        far = np.abs(got.astype(np.float64) - wide.value) > 2 * narrow.allowed.reshape(got.shape) + flushed
        far &= np.isfinite(narrow.array.reshape(got.shape))  # halves overflow where floats do not
    return not bool(far.any())
