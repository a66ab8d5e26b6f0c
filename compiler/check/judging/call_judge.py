"""Judges the results of calls: on the run's own inputs, and where those say nothing on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....results.comparison import Comparison
from ....results.expected import Expected
from ....results.untouched import compare_touched
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall
from ...run.values import Tensor
from ..distinguishing_inputs import DistinguishingInputs, OtherRun
from ..golden import is_result
from ..rounding_verdict import RoundingVerdict, tell_rounding_from_defect
from .judges import Found, Judges
from .reporter import Before, ResultReporter


class CallJudge:
    """Compares every argument that a kernel may write or golden changed, and has `reporter` say what is wrong.

    sorted_places: what functions gave for which `gives_places` says that their last result is where sorted values come from.
    """

    def __init__(self, model: CompiledModel, judges: Judges, reporter: ResultReporter, found: Found):
        self._judges, self._reporter, self._found = judges, reporter, found
        golden = judges.golden
        self._distinguishing = None if golden is None or golden.forces else DistinguishingInputs(model, golden, model.constants)
        self.sorted_places: list[np.ndarray] = []

    def judge(self, call: FunctionCall, before: Before, golden: Sequence[Expected | None]) -> bool:
        """Judge every result of a call; False if one is wrong. It runs again in wider types where narrow ones would hide what is
        wrong, and where what seems wrong may be rounding."""
        got: dict[int, np.ndarray] = {}
        for position, (old, expected) in enumerate(zip(before, golden, strict=True)):
            if old is not None and expected is not None and is_result(call, position, old, expected.array):
                tensor = call.args[position]
                assert isinstance(tensor, Tensor)
                got[position] = tensor.read()
        gives_places, integers = self._judges.gives_places, self._judges.integer_inputs
        if got and gives_places is not None and gives_places(call.function.golden):
            self.sorted_places.append(got[max(got)])
        other, how = self._run_over_others(call, before, golden)
        right = self._judge_results(call, before, golden, got, settled=other is not None)
        if right and other is not None:
            right = self._judge_results(call, other.before, other.golden, other.got, how, settled=True)
        if right and self._distinguishing is not None and (reason := self._distinguishing.find_reason(call, before)):
            scaled = self._distinguishing.run(call, before)
            if isinstance(scaled, str):
                self._found.unchecked[f"{call.function.name} on inputs that can tell ({reason}): {scaled}"] = None
            else:
                right = self._judge_results(call, scaled.before, scaled.golden, scaled.got, f", on scaled inputs ({reason}),")
        if right and integers is not None and integers.is_due(call):
            how = ", on whole numbers that it sums exactly,"
            right = all(self._judge_results(call, x.before, x.golden, x.got, how) for x in integers.runs(call, before))
        return right

    def _run_over_others(
        self, call: FunctionCall, before: Before, golden: Sequence[Expected | None]
    ) -> tuple[OtherRun | None, str]:
        """A call whose own run says nothing, once more where it says something, and on what; None for another.

        One that reads no tensor runs over memory that holds other values: its constant says nothing where memory may have held
        it, and all where it did not. One that compares runs on values that it may look for.
        """
        if self._distinguishing is None:
            return None, ""
        if not self._distinguishing.takes_nothing(call):
            return self._distinguishing.run_over_sought(call, before, golden), ", on inputs with values that it may look for,"
        other = self._distinguishing.run_over_others(call, before, golden)
        return None if isinstance(other, str) else other, ", over memory that held other values,"

    def _judge_results(
        self,
        call: FunctionCall,
        before: Before,
        golden: Sequence[Expected | None],
        got: Mapping[int, np.ndarray],
        how: str = "",
        settled: bool = False,
    ) -> bool:
        """Judge results by position; False if one is wrong. how: the other run than the model's that they are from: what agrees
        there says no more than the run did. settled: another run tells results that memory held anyway."""
        known = {position: expected for position in got if (expected := golden[position]) is not None}
        results: dict[int, Comparison] = {}
        for position, expected in known.items():
            results[position] = compare_touched(got[position], expected.reshape(got[position].shape), before[position])
            if settled:
                results[position] = replace(results[position], uninformative="")
        verdicts, wide = self._ask_rerun(call, before, golden, got, results, how)
        rerun, right = self._judges.rerun, True
        for position, result in results.items():
            told, verdict, expected = wide.get(position, result), verdicts.get(position), known[position]
            if verdict is not None and verdict.is_rounding:
                self._reporter.report_rounding(call, position, expected, got[position], result, told, how)
                if not how:
                    self._reporter.report_nonfinite(call, position, got[position], before, expected)
                continue
            if how and result.ok:
                continue
            in_rerun = result.ok and told is not result and not (told.ok and not result.uninformative)
            named = f", evaluated in {rerun.describe(call)}," if in_rerun and rerun is not None else how
            note = "" if verdict is None else verdict.note
            judged = told if in_rerun else result
            right &= self._reporter.report(call, position, before, expected, judged, named, note, own=not how)
        return right

    def _ask_rerun(
        self,
        call: FunctionCall,
        before: Before,
        golden: Sequence[Expected | None],
        got: Mapping[int, np.ndarray],
        results: Mapping[int, Comparison],
        how: str,
    ) -> tuple[dict[int, RoundingVerdict], dict[int, Comparison]]:
        """Verdicts on results that are wrong, and what the rerun says of results; nothing where it is not asked."""
        rerun, wrong = self._judges.rerun, [position for position, result in results.items() if not result.ok]
        if rerun is not None and wrong:
            return tell_rounding_from_defect(rerun, call, before, golden, got, wrong)
        if rerun is not None and not how and rerun.is_due(call):
            return {}, rerun.judge(call, before, golden)
        return {}, {}
