"""A tuning folder: MetaSchedule's JSON database, a journal of every candidate with its reason, and what they were made for.

A candidate is written as soon as it was judged, to the database first. After a kill at any moment the folder opens again: a
line cut short is dropped, and a candidate that only the database has gets its line.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...base import json_io, output_file
from ...base.bounded_read import parse_json, read_json, read_text
from ...base.errors import AdrenoSimError
from ...base.trust.plain_files import require_plain_files
from .database_files import require_database
from .metaschedule import meta_schedule
from .variants import KEY

SETTINGS, TRIALS = "settings.json", "trials.jsonl"

ABSENT = {"rule": "tvm", "weights": "buffer"}
"""Settings that folders of earlier versions do not name, and what held there."""

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"
SCHEMA = "adreno-sim/tuning/1"

NEVER = 1e10
"""Seconds recorded for a rejected candidate: MetaSchedule's databases have no other way to say it."""

ENDED = "rejected by a run that was ended before it wrote the reason"

JOURNAL_LIMIT = 1 << 30
"""Bytes of the journal: some hundreds a candidate."""

Line = dict[str, Any]


class TuningStore:
    """The folder `path`, held by this process until `close`.

    settings: what results depend on (None = only read; then the folder must be there). Raises AdrenoSimError if the folder
    was made with other settings, is in use, or is not one.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any] | None = None):
        self.path = Path(path)
        self._lock: int | None = None
        require_plain_files(self.path / name for name in (SETTINGS, TRIALS, WORKLOADS, RECORDS))
        if settings is not None:
            self._create()
        self.settings = self._settings(settings)
        self._drop_partial_line()
        self.lines = self._read()
        self.database = self._open_database(self.path / WORKLOADS, self.path / RECORDS)

    def __enter__(self) -> TuningStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the folder go."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open_database(self, workloads: Path, records: Path) -> Any:
        """TVM's database. AdrenoSimError if it is damaged."""
        try:
            require_database(workloads, records)
            return meta_schedule().database.JSONDatabase(str(workloads), str(records))
        except AdrenoSimError:
            self.close()
            raise
        except Exception as error:  # TVM's own, of many kinds
            self.close()
            said = next(filter(None, reversed(str(error).splitlines())), type(error).__name__)
            raise AdrenoSimError(f"{self.path}: TVM cannot read its database: {said}") from None

    def trials(self, task: str) -> list[Line]:
        """The candidates of a task (`digest_of` its module), in order."""
        return [line for line in self.lines if line["task"] == task and line["kind"] == "trial"]

    def default(self, task: str) -> Line | None:
        """The line of the task's default schedule."""
        return next((line for line in self.lines if line["task"] == task and line["kind"] == "default"), None)

    def align(self, task: str, module: Any) -> None:
        """Make journal and database agree about a task: each candidate has a line in one and a record in the other.

        A record that was entered just before the process ended gets its line, without the reason; a line whose record did not
        reach the disk goes, and its candidate may be tried again.
        """
        workload = self.database.commit_workload(module)
        records = {
            key_of(record.trace): float(record.run_secs[0])
            for record in self.database.get_all_tuning_records()
            if record.workload.same_as(workload)
        }
        lines = {(line["variant"], *line["decisions"]): line for line in self.trials(task)}
        lost = [line for key, line in lines.items() if key not in records]
        if lost:
            self.lines = [line for line in self.lines if line not in lost]
            output_file.write_text(self.path / TRIALS, "".join(_text(line) for line in self.lines))
        for key, seconds in records.items():
            if key not in lines:
                rejected = {"accepted": False, "stage": "run", "reason": ENDED}
                found = {"accepted": True, "rank": seconds} if seconds < NEVER else rejected
                head = {"number": len(self.trials(task)), "variant": key[0], "decisions": list(key[1:])}
                self._append({"kind": "trial", "task": task, **head, **found})

    def add(self, line: Line, module: Any = None, trace: Any = None, args: Any = None, target: Any = None) -> None:
        """Write a line, and for a candidate its tuning record: rejected ones too, so that none is tried twice."""
        if trace is not None:
            workload = self.database.commit_workload(module)
            record = meta_schedule().database.TuningRecord(trace, workload, [line.get("rank", NEVER)], target, args)
            self.database.commit_tuning_record(record)
        self._append(line)

    def _append(self, line: Line) -> None:
        text = _text(line)
        try:
            with open(self.path / TRIALS, "a", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:  # the next run goes on with what is there
            raise AdrenoSimError(f"cannot write {self.path / TRIALS}: {error.strerror or error}") from error
        self.lines.append(json.loads(text))

    def _create(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise AdrenoSimError(f"{self.path} is in use by another tuning run; wait for it, or give another folder") from None
        except OSError as error:
            raise AdrenoSimError(f"cannot write {self.path}: {error.strerror or error}") from error

    def _settings(self, wanted: Mapping[str, Any] | None) -> dict[str, Any]:
        file = self.path / SETTINGS
        if wanted is not None and not file.exists():
            others = sorted(item.name for item in self.path.iterdir())
            if others:
                self.close()
                raise AdrenoSimError(f"{self.path} holds {others[0]} and is not a tuning folder: give a new or empty one")
            json_io.write_json(file, {"schema": SCHEMA, **json_io.plain_json(wanted)})
        try:
            found = read_json(file)
        except (OSError, ValueError) as error:
            self.close()
            reason = f"{SETTINGS}: {error}"
            raise AdrenoSimError(f"{self.path} is not a tuning folder ({reason}); adreno-sim tune makes one") from error
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            self.close()
            raise AdrenoSimError(f"{file}: expected an object of schema {SCHEMA!r}")
        for name, value in json_io.plain_json(wanted or {}).items():
            if found.get(name, ABSENT.get(name)) != value:
                self.close()
                raise AdrenoSimError(
                    f"{self.path} was made with {name} {found.get(name)!r}, this run has {value!r}: their results cannot be "
                    "ranked together; give another folder"
                )
        return found

    def _drop_partial_line(self) -> None:
        """Drop what a kill left of a last line."""
        for name in (TRIALS, WORKLOADS, RECORDS):
            file = self.path / name
            if self._lock is not None and not file.exists():
                file.touch()
            if self._lock is not None and file.exists():
                data = file.read_bytes()
                whole = data[: data.rfind(b"\n") + 1]
                if whole != data:
                    output_file.write_bytes(file, whole)

    def _read(self) -> list[Line]:
        file = self.path / TRIALS
        try:
            texts = read_text(file, JOURNAL_LIMIT).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise AdrenoSimError(f"{self.path}: cannot read {TRIALS}: {reason}") from error
        lines = []
        for number, text in enumerate(texts, 1):
            try:
                lines.append(_line(parse_json(text)))
            except ValueError as error:
                raise AdrenoSimError(f"{file}:{number}: damaged: {error}") from error
        return lines


def digest_of(module: Any) -> str:
    """Names a task: equal functions have equal digests."""
    return hashlib.sha256(module.script(show_meta=True).encode()).hexdigest()[:16]


def variant_of(trace: Any) -> str:
    """The variant of a schedule of the space, in words."""
    for step in trace.insts:
        if str(step.kind.name) == "Annotate" and str(step.attrs[0]) == KEY:
            return str(step.inputs[1])
    return "?"


def decisions_of(trace: Any) -> list[str]:
    """What was sampled, in the order of the steps: tile sizes as "2x7x2", choices as their number."""
    found = []
    for step in trace.insts:
        if step in trace.decisions:
            value = trace.decisions[step]
            found.append("x".join(str(int(part)) for part in value) if hasattr(value, "__iter__") else str(int(value)))
    return found


def key_of(trace: Any) -> tuple[str, ...]:
    """The key of a candidate among those of its task."""
    return (variant_of(trace), *decisions_of(trace))


def _line(value: Any) -> Line:
    """A value as a line of the journal. Raises ValueError if it is none."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("task", "kind")):
        raise ValueError("expected an object with task and kind")
    for key in _NEEDED if value["kind"] == "trial" else ():
        if key not in value:
            raise ValueError(f"{key} is missing")
    for key, fits in _FIELDS.items():
        if key in value and not fits(value[key]):
            raise ValueError(f"{key}: {str(value[key])[:60]!r} is not such a value")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_figure(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _is_time(value: object) -> bool:
    """Whether it is None, or the parts of a predicted time by name, and the whole."""
    if not isinstance(value, dict):
        return value is None
    return "seconds" in value and all(figure is not None and _is_figure(figure) for figure in value.values())


_NEEDED = ("number", "variant", "decisions", "accepted")
_FIELDS: dict[str, Callable[[object], bool]] = {
    "number": _is_whole, "variant": _is_text, "decisions": _is_list_of(str), "accepted": lambda value: isinstance(value, bool),
    "stage": _is_text, "reason": _is_text, "findings": _is_list_of(dict), "time": _is_time, "seconds": _is_figure,
    "max_error": _is_figure, "rank": _is_figure,
}  # fmt: skip
"""What a candidate's line has to have, and what the fields of lines are: a folder may be somebody else's, and edited."""


def _text(line: Line) -> str:
    return json.dumps(json_io.plain_json(line), ensure_ascii=False, allow_nan=False) + "\n"
