"""The calls that a bundle carries, run once more on any device, without TVM."""

from __future__ import annotations

from typing import Any

from ....base.errors import AdrenoSimError
from ....base.progress import Progress
from ....device.protocol import Device
from ....results.model import Report
from ...artifact.model import CompiledModel
from ...artifact.script import ArrayValue, NumberArgument, ResultOf, ScriptValue, ShapeArgument
from .session import Session
from .values import Result, find_tensors


def check_script(
    model: CompiledModel, device: str | Device | None, checks: str | None, progress: Progress | None, options: dict[str, Any]
) -> Report:
    """Run the script of a model; the report compares each call's results with those that were recorded.

    Raises AdrenoSimError if the model has entries and no script, or a step does not fit.
    """
    if model.script is None:
        raise AdrenoSimError("this bundle has several entries and no calls to run: Session.save writes them")
    with Session(model, device=device, checks=checks, progress=progress, tolerance=model.script.tolerance, **options) as session:
        results: list[Result] = []
        session.keep_arrays(model.recorded)
        for step in model.script.steps:
            results.append(session.call(step.function, *(_argument(value, model, results) for value in step.args)))
            got = [held.numpy() for held in find_tensors(results[-1])]
            session.judge_recorded(len(results) - 1, step, got)
        session.note_unchecked(model.script.unchecked)
        return session.report()


def _argument(value: ScriptValue, model: CompiledModel, results: list[Result]) -> Any:
    if isinstance(value, ArrayValue):
        return model.recorded[value.key]
    if isinstance(value, ShapeArgument):
        return value.dims
    if isinstance(value, NumberArgument):
        return value.value
    if isinstance(value, ResultOf):
        found = results[value.step]
        for index in value.path:
            if not isinstance(found, tuple) or index >= len(found):
                raise AdrenoSimError(f"the script takes item {value.path} of call {value.step}, which has none: make it again")
            found = found[index]
        return found
    return [_argument(item, model, results) for item in value.items]
