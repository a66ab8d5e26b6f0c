"""A `Judge` as MetaSchedule's Builder and Runner, for `tune` and for any of MetaSchedule's own entry points."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ...base import json_io
from ...base.errors import AdrenoSimError
from ..artifact.model import CompiledModel
from ..schedule_database.metaschedule import derive, meta_schedule
from ..tvm_bridge.versions import import_tvm
from .judge import Judge, Rejection, Verdict


class LatestResult:
    """What became of the latest candidate: set by the builder where it rejects, else by the runner."""

    def __init__(self) -> None:
        self.verdict: Verdict | Rejection | None = None


def make_builder(judge: Judge, folder: str | os.PathLike[str], measured: LatestResult | None = None) -> Any:
    """A PyBuilder: the candidate compiled for OpenCL without a device, as a bundle in `folder`, beside it what
    is not counted.

    One that does not compile or breaks a limit is an error of the build, which says so.
    """
    ms = meta_schedule()
    path = Path(folder)
    noted = measured or LatestResult()

    class AdrenoBuilder(ms.builder.PyBuilder):  # type: ignore[name-defined]
        def build(self, build_inputs: list[Any]) -> list[Any]:
            return [self.one(item) for item in build_inputs]

        def one(self, item: Any) -> Any:
            descriptor, name = tempfile.mkstemp(suffix=".asim", dir=path)
            os.close(descriptor)
            schedule = import_tvm().s_tir.Schedule(item.mod)
            built = judge.build(schedule, name)
            if isinstance(built, Rejection):
                Path(name).unlink()
                noted.verdict = built
                return ms.builder.BuilderResult(None, str(built))
            json_io.write_json(_beside(name), {"copies": sorted(judge.needless(schedule))})
            return ms.builder.BuilderResult(name, None)

    return derive(AdrenoBuilder)


def make_runner(judge: Judge, measured: LatestResult | None = None) -> Any:
    """A PyRunner: runs what the builder made, and answers with the seconds of a real device or, without one, with predicted
    ones. A candidate that is wrong, or touches what it must not, is an error that says where. Artifacts go."""
    ms = meta_schedule()
    noted = measured or LatestResult()

    def as_future(result: Any) -> Any:
        return ms.runner.RunnerFuture(f_done=lambda: True, f_result=lambda: result)

    class AdrenoRunner(ms.runner.PyRunner):  # type: ignore[name-defined]
        def run(self, runner_inputs: list[Any]) -> list[Any]:
            return [as_future(self.one(str(item.artifact_path))) for item in runner_inputs]

        def one(self, path: str) -> Any:
            try:
                beside = json.loads(Path(_beside(path)).read_text(encoding="utf-8"))
                model = CompiledModel.load(path)
            except (OSError, ValueError) as error:
                raise AdrenoSimError(f"cannot read {_beside(path)}: {error}") from error
            finally:
                for name in (path, _beside(path)):
                    Path(name).unlink(missing_ok=True)
            found = judge.run(model, frozenset(beside["copies"]))
            noted.verdict = found
            if isinstance(found, Rejection):
                return ms.runner.RunnerResult(None, str(found))
            return ms.runner.RunnerResult([rank(found)], None)

    return derive(AdrenoRunner)


def rank(verdict: Verdict) -> float:
    """What candidates are ranked by: seconds where one was timed, else predicted ones."""
    return verdict.seconds if verdict.seconds is not None else verdict.time["seconds"]


def _beside(path: str) -> str:
    return f"{path}.json"
