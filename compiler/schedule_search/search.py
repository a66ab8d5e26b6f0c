"""`tune`: MetaSchedule's evolutionary search over the space, then a search around the best that it found; every candidate judged,
written down, and never tried twice."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.machine_code import require_chip
from ...backends.open import announce_devices, open_device
from ...base.errors import AdrenoSimError, OptionError, UnsupportedError
from ...base.processes.scratch import scratch_folder
from ...device.protocol import Device
from ...results import encode
from ...results.unwatched import device_in_words
from ...timing.launches import LaunchTimer
from ..importers.fixed_inputs import Values
from ..importers.load import load_model
from ..importers.module_file import require_model
from ..lower.compile_options import CompileOptions
from ..lower.pipeline import PipelineName, select_fixes
from ..lower.targets import TargetLike, make_target, target_text
from ..memory_scopes.scoping import Scoping
from ..schedule_database.metaschedule import derive, meta_schedule, quiet_logger, without_tensor_intrinsics
from ..schedule_database.store import TuningStore, decisions_of, digest_of, key_of, variant_of
from ..schedule_database.tasks import Task, find_tasks
from ..tvm_bridge.versions import import_tvm
from .judge import Judge, Rejection, Verdict
from .measure import LatestResult, make_builder, make_runner, rank
from .neighbours import Key, Neighbours
from .report import CandidateResult, TaskReport, TuneReport, ranking, trials_of
from .space import space_generator

BATCH = 4
"""Candidates the search picks at a time."""

NEAR = 0.5
"""The share of a task's candidates that are neighbours of the best one."""

DEFAULT_CHECKER = "sim:adreno-740"

LIMITS = (
    "MAX_WORK_GROUP_SIZE", "MAX_WORK_ITEM_SIZES", "LOCAL_MEM_SIZE", "IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT",
    "IMAGE_MAX_ARRAY_SIZE", "MAX_COMPUTE_UNITS",
)  # fmt: skip
"""Limits of the checking device that decide what is accepted and how it ranks."""

Step = Callable[[Task, CandidateResult], None]
"""Notified of every candidate as soon as it was judged."""


def tune(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    trials: int = 64,
    device: str | Device | None = None,
    check_on: str | Device | None = None,
    target: TargetLike = "texture",
    pipeline: PipelineName = "fixed",
    without_fix: Sequence[str] = (),
    rule: str = "tvm",
    weights: str = "buffer",
    only: Sequence[str] = (),
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] | None = None,
    input_values: Values | None = None,
    isa: bool = False,
    step: Step = lambda _task, _trial: None,
) -> TuneReport:
    """Tune the convolutions and matrix products of a model, `trials` candidates each, those that `folder` has counted.

    device: a simulated one, on which candidates are checked and by whose limits they are judged; or a real one, on which the
    right ones are timed as well, checked before on `check_on` (a simulated device; default sim:adreno-740). Without a real device
    predicted times rank them (docs/time.md). rule, weights, shapes, input_values:
    as of CompileOptions. only: parts of the names of tasks to tune; empty = all. isa: also report registers, waves
    and spills of each candidate on the chip of the checking device. step: notified of every candidate.

    Raises AdrenoSimError for bad input and for a folder made with other settings, UnsupportedError for what TVM cannot do.
    """
    if trials < 1:
        raise AdrenoSimError(f"trials {trials}: expected 1 or more")
    CompileOptions.of({"target": target, "pipeline": pipeline, "without_fix": without_fix}, None)
    require_model(source)
    announce_devices(text for text in (device, check_on) if isinstance(text, str))
    checker, timer = _devices(device, check_on)
    model = load_model(source, shapes or None, seed, values=input_values)
    made = make_target(target, checker.info.limits)
    tasks = _select_tasks(find_tasks(model.module, made, select_fixes(pipeline, without_fix), Scoping(rule, weights)), only)
    if not tasks:
        raise UnsupportedError(
            f"unsupported: {model.name} has no function to tune: the space is for convolutions and matrix products of known sizes"
        )
    if isa:
        require_chip(checker)
    machine = LaunchTimer(checker).device.machine
    timed_on = timer.info.name if timer is not None else ""
    version = str(import_tvm().__version__)
    settings = {
        "target": target_text(target), "pipeline": pipeline, "without_fix": list(without_fix), "rule": rule, "weights": weights,
        "tvm": version,
        "checked_on": device_in_words(checker.info.name, checker.options.checks),
        "timed_on": timed_on, "ranking": ranking(timed_on),
        "limits": {name: checker.info.limits.get(name) for name in LIMITS},
        **({} if timer else {"machine": asdict(machine)}),
    }  # fmt: skip
    with TuningStore(folder, settings) as store, scratch_folder("tune") as scratch:
        resumed = sum(len(store.trials(digest_of(task.module))) for task in tasks)
        reports = []
        for task in tasks:
            judge = Judge(task, checker, timer, pipeline, tuple(without_fix), seed, isa)
            _Search(task, judge, store, made, scratch, step).run(trials, seed)
            reports.append(_report(task, store))
    return TuneReport(
        model.name, target_text(target), pipeline, version, checker.info.name, timed_on, ranking(timed_on), os.fspath(folder),
        seed, resumed, tuple(reports),
    )  # fmt: skip


def _devices(device: str | Device | None, check_on: str | Device | None) -> tuple[Device, Device | None]:
    """(device that checks, device that times or None)."""
    first = open_device(device) if device is None or isinstance(device, str) else device
    if first.info.checks_accesses:
        if check_on is not None:
            raise OptionError("check_on", f"is for a real device; {first.info.name} checks what it runs")
        return first, None
    second = open_device(check_on or DEFAULT_CHECKER) if check_on is None or isinstance(check_on, str) else check_on
    if not second.info.checks_accesses:
        raise AdrenoSimError(f"check_on: expected a simulated device, given {second.info.name}")
    return second, first


def _select_tasks(tasks: Sequence[Task], only: Sequence[str]) -> list[Task]:
    """Those with one of these in their functions' names; OptionError for one that is in none."""
    names = [name for task in tasks for name in task.functions]
    for part in only if names else ():
        if not any(part in name for name in names):
            raise OptionError("only", f"{part}: no function to tune is named so; there are: {', '.join(names)}")
    return [task for task in tasks if not only or any(part in name for part in only for name in task.functions)]


class _Search:
    """The search of one task. Builder and Runner are those of any MetaSchedule run; the loop is here, so that every candidate
    is on disk before the next is judged."""

    def __init__(self, task: Task, judge: Judge, store: TuningStore, target: Any, scratch: Path, step: Step):
        self.task, self.judge, self.store, self.target, self.step = task, judge, store, target, step
        self.digest = digest_of(task.module)
        self.measured = LatestResult()
        self._seen: set[Key] = set()
        self.builder = make_builder(judge, scratch, self.measured)
        self.runner = make_runner(judge, self.measured)

    def run(self, trials: int, seed: int) -> None:
        """Judge candidates until the task has `trials` of them, or the space has no more."""
        self.store.align(self.digest, self.task.module)
        if self.store.default(self.digest) is None:
            self._judge_default()
        done = self.store.trials(self.digest)
        self._seen = {(line["variant"], *line["decisions"]) for line in done}
        context = self._context(seed, len(done))
        self._evolve(context, trials - int(NEAR * trials) - len(done))
        self._refine(context, trials - len(self.store.trials(self.digest)))

    def _evolve(self, context: Any, missing: int) -> None:
        """Judge so many candidates that MetaSchedule picks."""
        if missing <= 0:
            return
        most = 4 * missing + 16  # some that it picks were tried before
        context.pre_tuning(most, BATCH, context.generate_design_space(), self.store.database, _chance(context.rand_state))
        idle = 0
        while missing > 0 and idle < BATCH:
            candidates = context.generate_measure_candidates()
            if not candidates:
                break
            results = []
            fresh = 0
            for candidate in candidates:
                key = key_of(candidate.sch.trace)
                if key in self._seen or missing == 0:
                    results.append(meta_schedule().runner.RunnerResult(None, "tried before"))
                    continue
                self._seen.add(key)
                results.append(self._judge(candidate))
                missing -= 1
                fresh += 1
            idle = 0 if fresh else idle + 1
            context.notify_runner_results(candidates, results)
        with suppress(Exception):  # TVM complains of a search that was ended early
            context.post_tuning()

    def _refine(self, context: Any, missing: int) -> None:
        """Judge so many neighbours of the best candidate, or of the next best where all of its own were tried."""
        neighbours = Neighbours(context.generate_design_space())
        generator = np.random.default_rng(context.rand_state)
        ms = meta_schedule()
        info = ms.arg_info.ArgInfo.from_prim_func(self.task.module["main"])
        for _ in range(missing):
            lines = self.store.trials(self.digest)
            ranked = [((line["variant"], *line["decisions"]), line["rank"] if line["accepted"] else math.inf) for line in lines]
            key = neighbours.pick_next(ranked, self._seen, generator)
            if key is None:
                break
            self._seen.add(key)
            self._judge(ms.MeasureCandidate(neighbours.make_schedule(self.task.module, key), info))

    def _context(self, seed: int, done: int) -> Any:
        ms = meta_schedule()
        strategy = ms.search_strategy.EvolutionarySearch(
            population_size=32, init_measured_ratio=0.3, init_min_unmeasured=16, genetic_num_iters=2, eps_greedy=0.25
        )
        state = zlib.crc32(f"{seed} {done} {self.digest}".encode()) % (2**31 - 2) + 1
        with without_tensor_intrinsics():
            return ms.TuneContext(
                mod=self.task.module, target=self.target, space_generator=space_generator(), search_strategy=strategy,
                task_name=self.task.name, rand_state=state, num_threads=1, logger=quiet_logger(),
            )  # fmt: skip

    def _judge(self, candidate: Any) -> Any:
        """Build, run and write down one candidate; MetaSchedule's result."""
        ms = meta_schedule()
        built = self.builder.build([ms.builder.BuilderInput(candidate.sch.mod, self.target)])[0]
        result = ms.runner.RunnerResult(None, built.error_msg)
        if built.error_msg is None:
            future = self.runner.run([ms.runner.RunnerInput(built.artifact_path, "opencl", candidate.args_info)])[0]
            result = future.result()
        number = len(self.store.trials(self.digest))
        line = _line(number, candidate.sch, self.measured.verdict)
        self.store.add(
            {"kind": "trial", "task": self.digest, **line},
            self.task.module,
            candidate.sch.trace,
            candidate.args_info,
            self.target,
        )
        self.step(self.task, trials_of([line])[0])
        return result

    def _judge_default(self) -> None:
        """What the pipeline's own schedule ranks, for comparison."""
        built = self.judge.compile(self.task.module["main"], scheduled=False)
        found: Verdict | Rejection = built if isinstance(built, Rejection) else self._run_default(built)
        line: dict[str, Any] = {"kind": "default", "task": self.digest}
        if isinstance(found, Rejection):
            told: dict[str, Any] = {"reason": str(found)}
        else:
            told = {"time": found.time, "rank": rank(found), "register_use": found.register_use}
        self.store.add({**line, **told})

    def _run_default(self, built: Any) -> Verdict | Rejection:
        return self.judge.run(built.compiled)


def _chance(seed: int) -> Any:
    """The cost model. None learns from predicted times: the search goes by what they are, and chance.

    TVM's RandomModel seeds NumPy's global generator, afresh for each run unless it is given a seed; this one has its own.
    """
    generator = np.random.default_rng(seed)

    class Chance(meta_schedule().cost_model.PyCostModel):  # type: ignore[misc]
        def load(self, path: str) -> None:
            """Nothing is kept."""

        def save(self, path: str) -> None:
            """Nothing is kept."""

        def update(self, context: Any, candidates: Any, results: Any) -> None:
            """Nothing is learnt."""

        def predict(self, context: Any, candidates: Any) -> Any:
            return generator.random(len(candidates))

    return derive(Chance)


def _line(number: int, schedule: Any, found: Verdict | Rejection | None) -> dict[str, Any]:
    """A candidate for the journal, with the fields of `report.Trial`."""
    assert found is not None
    head = {
        "number": number,
        "variant": variant_of(schedule.trace),
        "decisions": decisions_of(schedule.trace),
    }
    if isinstance(found, Rejection):
        findings = [encode.finding_to_json(finding) for finding in found.findings]
        return {**head, "accepted": False, "stage": found.stage, "reason": found.reason, "findings": findings}
    return {
        **head, "accepted": True, "time": found.time, "seconds": found.seconds, "max_error": found.max_error,
        "rank": rank(found), "register_use": found.register_use,
    }  # fmt: skip


def _report(task: Task, store: TuningStore) -> TaskReport:
    digest = digest_of(task.module)
    default = store.default(digest) or {}
    shapes = tuple(f"{info.dtype} {'x'.join(str(int(size)) for size in info.shape)}" for info in task.params)
    return TaskReport(
        task.name, task.functions, task.anchor, shapes, tuple(sorted(task.textures)), trials_of(store.trials(digest)),
        default.get("rank"), default.get("reason", ""), default.get("time"),
        default.get("register_use"),
    )  # fmt: skip
