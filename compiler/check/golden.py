"""Where a check gets what a call should compute: from TVM here and now, or from what a bundle carries."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...base.errors import AdrenoSimError, UnsupportedError
from ...findings import Finding, Kind
from ...golden.errors import StrayAccessError
from ...results.expected import Expected
from ..artifact.golden import GoldenData
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall

if TYPE_CHECKING:
    from ...golden.kernel_reference import Argument
    from ...golden.subgraph_reference import SubgraphReference


class Golden(Protocol):
    """The expected results of calls. forces: each call must be given the exact results of those before it."""

    @property
    def forces(self) -> bool: ...

    def knows(self, call: FunctionCall) -> bool:
        """Whether `results` can say anything about the call."""
        ...

    def results(self, call: FunctionCall, args: Sequence[Argument]) -> list[Expected | None]:
        """Each argument after the call, None if it is a scalar or not known. args: what they hold before it."""
        ...

    def needs_no_tvm(self, call: FunctionCall) -> bool:
        """Whether any thread may ask for `results`: TVM would begin threads of its own for each that does."""
        ...

    def describe(self, call: FunctionCall) -> str:
        """What says what the call should compute, in a word or two."""
        ...

    def blame(self, call: FunctionCall, values: Sequence[np.ndarray]) -> str:
        """The first operator of a subgraph whose value is not what it computes of those before it, in words; "" for none.

        values: of every node of the graph.
        """
        ...


class Reference(Protocol):
    """Functions by name, and what they make of a call's arguments."""

    def __contains__(self, name: str) -> bool: ...
    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]: ...


class References:
    """Several references as one; the first that has a function runs it."""

    def __init__(self, *references: Reference):
        self._references = references

    def __contains__(self, name: str) -> bool:
        return any(name in reference for reference in self._references)

    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        return next(reference for reference in self._references if name in reference).expect(name, args)


class LiveGolden:
    """The model's PrimFuncs before scheduling, and its subgraphs, run on the very arguments of the call.

    given: functions whose reference the caller gave. has_truth: the functions that `reference` has a truth for.
    strays: functions whose PrimFunc accesses memory outside of its tensors whatever it is given -> which, in words.
    """

    forces = False

    def __init__(
        self,
        reference: Reference,
        subgraphs: SubgraphReference | None = None,
        given: Container[str] = (),
        has_truth: Callable[[str], bool] = lambda name: False,
    ):
        self.reference = reference
        self._given = given
        self._has_truth = has_truth
        self.strays: dict[str, str] = {}
        self._subgraphs = subgraphs

    def knows(self, call: FunctionCall) -> bool:
        return call.function.golden in self.reference

    def results(self, call: FunctionCall, args: Sequence[Argument]) -> list[Expected | None]:
        try:
            return self.reference.expect(call.function.golden, args)
        except StrayAccessError as error:
            self.strays[call.function.name] = str(error)
            return [None] * len(args)
        except UnsupportedError as error:
            raise UnsupportedError(f"unsupported: the reference of {call.function.name} (call {call.index}): {error}") from error
        except AdrenoSimError as error:
            raise AdrenoSimError(f"the reference of {call.function.name} (call {call.index}): {error}") from error

    def needs_no_tvm(self, call: FunctionCall) -> bool:
        return call.function.golden not in self._given and self._has_truth(call.function.golden)

    def describe(self, call: FunctionCall) -> str:
        return "given reference" if call.function.golden in self._given else _maker(call)

    def blame(self, call: FunctionCall, values: Sequence[np.ndarray]) -> str:
        if self._subgraphs is None or call.function.golden not in self._subgraphs:
            return ""
        return self._subgraphs.first_wrong(call.function.golden, values)


class StoredGolden:
    """Results recorded when the bundle was made. Each call must be given the recorded results of those before it."""

    forces = True

    def __init__(self, data: GoldenData):
        self._data = data

    def knows(self, call: FunctionCall) -> bool:
        stored = self._data.calls.get(str(call.index))
        if stored is not None and stored.function != call.function.name:
            raise AdrenoSimError(
                f"call {call.index} is {call.function.name}, in the bundle's golden results {stored.function}: "
                "the bundle was changed; make it again"
            )
        return stored is not None

    def results(self, call: FunctionCall, args: Sequence[Argument]) -> list[Expected | None]:
        known = self._data.calls[str(call.index)].results
        return [self._data.result(call.index, position) if position in known else None for position in range(len(args))]

    def needs_no_tvm(self, call: FunctionCall) -> bool:
        return True

    def describe(self, call: FunctionCall) -> str:
        return _maker(call)

    def blame(self, call: FunctionCall, values: Sequence[np.ndarray]) -> str:
        return ""


def _maker(call: FunctionCall) -> str:
    return "subgraph" if call.function.graphs() else "PrimFunc"


def find_out_of_tensor_indices(golden: Golden | None, model: CompiledModel) -> list[Finding]:
    """A finding for each function of the run whose PrimFunc means nothing, at the last of its kernels."""
    strays = golden.strays if isinstance(golden, LiveGolden) else {}
    found = []
    for name, why in strays.items():
        launches = model.host_functions[name].launches()
        kernel = launches[-1].kernel if launches else name
        detail: dict[str, object] = {"function": name}
        found.append(Finding(Kind.WRONG_VALUE, f"{name} cannot be judged, nor be right: {why}", kernel, detail=detail))
    return found


def is_result(call: FunctionCall, position: int, before: np.ndarray, after: np.ndarray) -> bool:
    """A kernel may write the argument, or the reference changed it."""
    if getattr(call.function.params[position], "access", "") in ("write", "read_write"):
        return True
    return after is not before and after.tobytes() != before.tobytes()
