"""What each kernel should compute: its operator or its PrimFunc without rounding where a truth is made of it, else as TVM's llvm
runs it."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.tvm_bridge.versions import import_tvm
from ..records import dataclass
from ..results.expected import Expected
from .kernel_reference import Argument, KernelReference, StoredReference
from .serial import without_threads
from .truth.bound import expect
from .truth.kernels import KernelTruth, StoredTruth
from .truth.operators.kernels import OperatorTruths, StoredOperators
from .truth.run import Truth
from .truth.units import WIDE, Units

if TYPE_CHECKING:
    from tvm import IRModule


@dataclass(frozen=True)
class StoredExpectations:
    """KernelExpectations as data, without any object of TVM's."""

    units: Units
    operators: StoredOperators
    truth: StoredTruth
    magnitudes: StoredTruth | None
    native: StoredReference | None


class KernelExpectations:
    """The PrimFuncs of a model before scheduling; one that was scheduled already counts without its threads.

    `unavailable`: those that have no reference -> the reason.

    units: how the device rounds. exact: also know for which arguments results are exact.
    """

    def __init__(self, unscheduled: IRModule, units: Units | None = None, exact: bool = False):
        self.units = units or Units()
        self._operators = OperatorTruths(unscheduled)
        unscheduled = without_threads(_without(unscheduled, self._operators))
        self.truth = KernelTruth(unscheduled)
        self._magnitudes = KernelTruth(unscheduled, _magnitudes().write_magnitudes) if exact else None
        rest = _without(unscheduled, self.truth)
        self._native = KernelReference(rest) if rest.functions else None
        self.unavailable = dict(self._native.unavailable) if self._native else {}

    def to_stored(self) -> StoredExpectations:
        """All but what was compiled."""
        magnitudes, native = self._magnitudes, self._native
        return StoredExpectations(
            self.units,
            self._operators.to_stored(),
            self.truth.to_stored(),
            None if magnitudes is None else magnitudes.to_stored(),
            None if native is None else native.to_stored(),
        )

    @staticmethod
    def from_stored(stored: StoredExpectations) -> KernelExpectations:
        """What `to_stored` was called on."""
        made, magnitudes, native = KernelExpectations.__new__(KernelExpectations), stored.magnitudes, stored.native
        made.units, made._operators = stored.units, OperatorTruths.from_stored(stored.operators)
        made.truth = KernelTruth.from_stored(stored.truth)
        made._magnitudes = None if magnitudes is None else KernelTruth.from_stored(magnitudes)
        made._native = None if native is None else KernelReference.from_stored(native)
        made.unavailable = dict(made._native.unavailable) if made._native else {}
        return made

    def begin(self) -> None:
        """Have what the references run compiled by a thread."""
        if self.truth.programs:
            self.truth.begin()

    def __contains__(self, name: str) -> bool:
        return self.has_truth(name) or (self._native is not None and name in self._native)

    def has_truth(self, name: str) -> bool:
        """Whether a truth is made of a function, so that a wide rerun of its kernels can be judged."""
        return name in self.truth or name in self._operators

    def computes_halves(self, name: str) -> bool:
        """Whether a function that a truth is made of holds halves."""
        return name in self._operators.halves or (name in self.truth and self.truth.programs[name].halves)

    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        """What each argument should hold after the call; None for scalars. What the function does not write holds what it held.

        args: contents before the call in the order of the parameters, in their shapes. Raises AdrenoSimError if an index
        leaves its tensor.
        """
        if not self.has_truth(name):
            assert self._native is not None
            return [None if array is None else Expected(array) for array in self._native.run(name, args)]
        return self._expect(name, args, self.units, drift=True)

    def expect_wide(self, name: str, args: Sequence[Argument], doubles: bool = False) -> list[Expected | None]:
        """The same of a device that computes all halves as float32: results are float32 where they were float16.

        doubles: of one that computes halves and floats as float64.
        """
        units = Units(WIDE, False, WIDE) if doubles else Units("float32", self.units.flushes)
        return self._expect(name, args, units, drift=False)

    def gives_places(self, name: str) -> bool:
        """Whether the last result of a function says where sorted values come from."""
        return self._operators.gives_places(name)

    def has_bound(self, name: str) -> bool:
        """Whether `expect_exact` can say anything of a function: it only adds and multiplies."""
        return self._magnitudes is not None and name in self._magnitudes and name in self.truth

    def expect_exact(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        """What each argument should hold after the call, to the bit, whichever order its sums are taken in; None for scalars, and
        for all where the floats among `args` (whole numbers) are too large for that."""
        assert self._magnitudes is not None
        sizes = [np.abs(arg) if isinstance(arg, np.ndarray) and arg.dtype.kind == "f" else arg for arg in args]
        most = _magnitudes().largest_exact(self._magnitudes.programs[name])
        bounds = [bound.value for bound in self._magnitudes.run(name, sizes, self.units) if bound is not None]
        if any(bound.dtype.kind == "f" and not float(bound.max(initial=0)) <= most for bound in bounds):
            return [None] * len(args)
        results: list[Expected | None] = []
        for arg, truth in zip(args, self.truth.run(name, args, self.units), strict=True):
            if truth is None or not isinstance(arg, np.ndarray):
                results.append(Expected(arg) if isinstance(arg, np.ndarray) else None)
            else:
                results.append(Expected(truth.value.astype(arg.dtype), truth.value, np.zeros(truth.value.shape)))
        return results

    def _run(self, name: str, args: Sequence[Argument], units: Units) -> list[Truth | None]:
        return (self._operators if name in self._operators else self.truth).run(name, args, units)

    def _expect(self, name: str, args: Sequence[Argument], units: Units, drift: bool) -> list[Expected | None]:
        results: list[Expected | None] = []
        for arg, truth in zip(args, self._run(name, args, units), strict=True):
            if not isinstance(arg, np.ndarray):
                results.append(None)
            elif truth is None:
                results.append(Expected(arg))
            else:
                results.append(expect(truth, units.dtype_of(arg.dtype.name), units, drift))
        return results


def _magnitudes() -> ModuleType:
    """The module of bounds, with all that writes C: only truths that are made, and exact results, need it."""
    from .truth import magnitudes

    return magnitudes


def _without(module: IRModule, known: OperatorTruths | KernelTruth) -> IRModule:
    """The module without the functions that are known there."""
    return import_tvm().IRModule({var: function for var, function in module.functions_items() if str(var.name_hint) not in known})
