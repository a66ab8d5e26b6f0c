"""What is said of a result: a wrong value with the stores that made it and whom it is blamed on, rounding, births of NaN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ....device.protocol import Kernel, MLProgram
from ....findings import Finding, Kind
from ....results.comparison import Comparison
from ....results.expected import Expected
from ....results.nonfinite import find_birth
from ....results.untouched import find_untouched
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall
from ...run.values import Tensor
from ..distinguishing_inputs import arguments_with
from ..replay import replay
from .device_stage import find_device_stage
from .judges import Found, Judges
from .rows import KernelRows, count_comparison

if TYPE_CHECKING:
    from ....mlops.engine import GraphRun

Before = Sequence[np.ndarray | None]
"""The tensor arguments of a call before it, None for others."""


class ResultReporter:
    """Reports results of calls. kernels: those that were launched, as built; graphs: those that ran, with their last run."""

    def __init__(self, model: CompiledModel, judges: Judges, rows: KernelRows, found: Found):
        self._model, self._judges, self._rows, self._found = model, judges, rows, found
        self._wrong_stage = judges.wrong_stage
        self._replayed: set[str] = set()
        self.kernels: dict[str, Kernel] = {}
        self.graphs: dict[str, tuple[MLProgram, GraphRun]] = {}

    def report(
        self,
        call: FunctionCall,
        position: int,
        before: Before,
        golden: Expected,
        result: Comparison,
        how: str,
        note: str,
        own: bool = True,
    ) -> bool:
        """Report one result; False if it is wrong. how: the other run than the model's that it is from. note: the facts about a
        wrong one. own: on its inputs.
        """
        tensor = call.args[position]
        assert isinstance(tensor, Tensor)
        got = tensor.read()
        param = call.function.params[position].name
        name = self._rows.find_writer(call, position)
        count_comparison(self._rows.of_kernel(name, call.function), result)
        if result.uninformative:
            message = f"{param} of {call.function.name}: {result.uninformative}"
            self._found.findings.add([Finding(Kind.UNINFORMATIVE, message, kernel=name, tensor=tensor.name)])
        if own:
            self.report_nonfinite(call, position, got, before, golden)
        if result.ok:
            return True
        detail: dict[str, object] = {"function": call.function.name, "call": call.index, "index": result.worst, "got": result.got}
        detail |= {"golden": result.golden, "max_abs": result.max_abs, "max_ulp": result.max_ulp, "wrong": result.wrong}
        line = column = 0
        element = int(np.ravel_multi_index(result.worst, got.shape)) if result.worst else 0
        if own:
            self._found.evidence.add_array(tensor.name, name, got, golden.reshape(got.shape), around=element)
        if (
            own and name not in self._replayed and call.device.info.records_stores and not call.function.graphs()
        ):  # one replay a kernel: more would show the same stores
            self._replayed.add(name)
            stores = replay(self._model, call, self.kernels, before, position, element)
            detail["stores"] = stores
            line, column = (stores[-1]["line"], stores[-1]["column"]) if stores else (0, 0)
        assert self._judges.golden is not None
        what = self._judges.golden.describe(call)
        message = f"{param} of {call.function.name} (call {call.index}){how} is not what its {what} computes: {result}"
        message += self._blame(call, before, own, position, golden) + note
        finding = Finding(Kind.WRONG_VALUE, message, name, line, column, tensor=tensor.name, detail=detail)
        self._found.findings.add([finding])
        if self._found.on_wrong is not None and own:
            self._found.on_wrong(call, position, golden.array, finding)
        return False

    def report_rounding(
        self, call: FunctionCall, position: int, golden: Expected, got: np.ndarray, result: Comparison, told: Comparison, how: str
    ) -> None:
        """A warning on a result with a larger error than expected, from rounding alone. told: what its rerun is."""
        assert golden.allowed is not None
        assert self._judges.rerun is not None
        tensor = call.args[position]
        assert isinstance(tensor, Tensor)
        param = call.function.params[position].name
        name = self._rows.find_writer(call, position)
        row = self._rows.of_kernel(name, call.function)
        if not how:
            count_comparison(row, replace(result, ok=True, uninformative=told.uninformative))
        expected = golden.reshape(got.shape)
        assert expected.allowed is not None
        message = (
            f"{param} of {call.function.name} (call {call.index}){how} has an error of {abs(result.got - result.golden):.3g} at "
            f"{list(result.worst)}, where {float(expected.allowed[result.worst]):.3g} was expected ({result.wrong} of "
            f"{result.elements} elements, rms {result.rms:.3g}): its order of operations rounds more than its PrimFunc's. "
            f"Evaluated in {self._judges.rerun.describe(call)} it is right, with an error of {told.max_abs:.3g} at most"
        )
        self._found.findings.add([Finding(Kind.LARGE_ROUNDING, message, kernel=name, tensor=tensor.name)])

    def report_nonfinite(self, call: FunctionCall, position: int, got: np.ndarray, before: Before, golden: Expected) -> None:
        """A warning if NaN or infinity occurs in a result."""
        given = [array for place, _ in call.tensors(written=False) if (array := before[place]) is not None]
        what = find_birth(got, golden.reshape(got.shape), given, find_untouched(before[position], golden.array))
        tensor = call.args[position]
        if what and isinstance(tensor, Tensor):
            message = what.format(result=tensor.name, function=call.function.name)
            kernel = self._rows.find_writer(call, position)
            self._found.findings.add([Finding(Kind.NONFINITE_INTRODUCED, message, kernel=kernel, tensor=tensor.name)])

    def _blame(self, call: FunctionCall, before: Before, own: bool, position: int, wanted: Expected) -> str:
        """For a subgraph: text on its first operator that is wrong on its own inputs; for a kernel, on the stage that changed its
        meaning; "" if that is not known. own: on the run's inputs. wanted: what argument `position` should be."""
        golden = self._judges.golden
        if golden is None or not golden.knows(call):
            return ""
        if call.function.name not in self.graphs:
            if not own:
                return ""
            stage = find_device_stage(self._model, call, before, position, wanted)
            if not stage and self._wrong_stage is not None:
                find, self._wrong_stage = self._wrong_stage, None
                stage = find(call.function.golden, arguments_with(call, before))
            return stage and f"; {stage}"
        program, _ = self.graphs[call.function.name]
        inputs = [array for array in before[: len(program.graph.of("input"))] if array is not None]
        found = golden.blame(call, program.trace(inputs))
        return f"; first in {found}" if found else "; each operator alone is right"
