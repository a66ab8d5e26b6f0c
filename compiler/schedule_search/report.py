"""What a tuning run did, as data: every candidate of every task, accepted or rejected with its reason, and the best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ...base import json_io
from ...records import dataclass
from .candidate_times import LABEL

SCHEMA = "adreno-sim/tune/2"
TIMED = "device time"


@dataclass(frozen=True)
class CandidateResult:
    """A candidate. number: from 0 within its task. decisions: tile sizes and the choice of unrolling, in the order sampled.

    stage: where it was rejected ("compile", "limits", "run", "values"), "" if it was accepted. time: what the
    predicted time is made of (`CandidateTimes.time`); seconds: on a real device. max_error: relative to the rms.
    register_use: what its kernels take of a chip's registers (`CandidateRegisters`), where it was asked for.
    """

    number: int
    variant: str
    decisions: tuple[str, ...]
    accepted: bool
    stage: str = ""
    reason: str = ""
    findings: tuple[dict[str, Any], ...] = ()
    time: dict[str, float] | None = None
    seconds: float | None = None
    max_error: float | None = None
    rank: float | None = None
    register_use: dict[str, Any] | None = None


@dataclass(frozen=True)
class TaskReport:
    """A task. default: what the pipeline's own schedule ranks, None if it could not be judged (default_reason says why);
    default_time, default_register_use: as of CandidateResult."""

    name: str
    functions: tuple[str, ...]
    operator: str
    shapes: tuple[str, ...]
    textures: tuple[int, ...]
    trials: tuple[CandidateResult, ...]
    default: float | None
    default_reason: str = ""
    default_time: dict[str, float] | None = None
    default_register_use: dict[str, Any] | None = None

    @property
    def accepted(self) -> list[CandidateResult]:
        return [trial for trial in self.trials if trial.accepted]

    @property
    def best(self) -> CandidateResult | None:
        """The accepted candidate that ranks first."""
        return min(self.accepted, key=lambda trial: trial.rank if trial.rank is not None else float("inf"), default=None)

    @property
    def rejected(self) -> dict[str, int]:
        """How many were rejected, by stage."""
        stages = [trial.stage for trial in self.trials if not trial.accepted]
        return {stage: stages.count(stage) for stage in dict.fromkeys(stages)}


@dataclass(frozen=True)
class TuneReport:
    """ranking: what candidates are ranked by, in words that say what it is worth. resumed: candidates of earlier runs."""

    model: str
    target: str
    pipeline: str
    tvm: str
    checked_on: str
    timed_on: str
    ranking: str
    folder: str
    seed: int
    resumed: int
    tasks: tuple[TaskReport, ...] = ()

    @property
    def ok(self) -> bool:
        """Every task has an accepted candidate."""
        return bool(self.tasks) and all(task.accepted for task in self.tasks)

    @property
    def timed(self) -> bool:
        """Whether candidates were ranked by a device's time."""
        return self.ranking == TIMED

    def as_json(self) -> dict[str, Any]:
        tasks = [
            {**asdict(task), "rejected": task.rejected, "best": None if task.best is None else task.best.number}
            for task in self.tasks
        ]
        head = {"schema": SCHEMA, "ok": self.ok, "timed": self.timed}
        return json_io.plain_json({**head, **asdict(self), "tasks": tasks})


def ranking(timed_on: str) -> str:
    """The ranking in words."""
    return TIMED if timed_on else LABEL


def trials_of(lines: Iterable[dict[str, Any]]) -> tuple[CandidateResult, ...]:
    """Lines of a journal as trials."""
    return tuple(map(_trial, lines))


def _trial(line: dict[str, Any]) -> CandidateResult:
    known: dict[str, Any] = {key: value for key, value in line.items() if key in CandidateResult.__dataclass_fields__}
    known["decisions"] = tuple(known["decisions"])
    known["findings"] = tuple(known.get("findings", ()))
    return CandidateResult(**known)
