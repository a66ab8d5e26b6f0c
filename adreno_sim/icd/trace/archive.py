"""The file of a recording: a zip archive with a member for each process that opened the device, and what they were run with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import IO, Any

from ...base.archive import open_zip, read_member, require_room
from ...base.bundle_name import RECORDING
from ...base.errors import AdrenoSimError
from ...base.output_file import open_output
from ...records import dataclass

FORMAT, FORMATS = 3, (1, 2, 3)
"""Format 1 does not say which calls failed; formats before 3 not where in the program calls came from."""


@dataclass(frozen=True)
class RecordedSession:
    """One process: its program and number, and the member that holds its events."""

    program: str
    pid: int
    member: str


@dataclass(frozen=True)
class Trace:
    """What was recorded: the command, the device string, the level of checks, sessions by process number. format: of the file."""

    command: tuple[str, ...]
    device: str
    checks: str
    sessions: tuple[RecordedSession, ...] = field(default=())
    format: int = FORMAT

    @property
    def knows_failures(self) -> bool:
        """Whether an event without a failure is one that had none."""
        return self.format > 1


def write_trace(path: str | os.PathLike[str], trace: Trace, files: Sequence[Path]) -> None:
    """Write a recording whose sessions' events are in `files`. AdrenoSimError if it cannot be written."""
    with open_output(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(RECORDING, json.dumps(asdict(trace), indent=1))
        for session, file in zip(trace.sessions, files, strict=True):
            with archive.open(session.member, "w", force_zip64=True) as member, open(file, "rb") as events:
                shutil.copyfileobj(events, member, 1 << 20)


@contextlib.contextmanager
def open_trace(path: str | os.PathLike[str]) -> Iterator[tuple[Trace, zipfile.ZipFile]]:
    """A recording and its archive. AdrenoSimError in one line for what is none, or is damaged."""
    name = os.fspath(path)
    try:
        with open_zip(name) as archive:
            trace = _read_manifest(archive)
            missing = {session.member for session in trace.sessions} - set(archive.namelist())
            if missing:
                raise ValueError(f"session {sorted(missing)[0]} is missing")
            if len({session.member for session in trace.sessions}) < len(trace.sessions):
                raise ValueError("two sessions have the same events")  # a small file would play one of them for hours
            yield trace, archive
    except OSError as error:
        raise AdrenoSimError(f"cannot read {name}: {error.strerror or error}") from None
    except ValueError as error:
        raise AdrenoSimError(f"{name}: {error}: expected a file that adreno-sim run --record wrote") from None


@contextlib.contextmanager
def open_session(archive: zipfile.ZipFile, session: RecordedSession) -> Iterator[IO[bytes]]:
    """The events of a session, as a stream."""
    with archive.open(session.member) as stream:
        yield stream


def _read_manifest(archive: zipfile.ZipFile) -> Trace:
    try:
        info = archive.getinfo(RECORDING)
    except KeyError:
        raise ValueError(f"no {RECORDING} in it") from None
    require_room(RECORDING, info.file_size, info.compress_size)
    data = json.loads(read_member(archive, info))
    if not isinstance(data, dict) or (number := data.pop("format", None)) not in FORMATS or isinstance(number, (bool, float)):
        raise ValueError(f"{RECORDING}: expected format {' or '.join(map(str, FORMATS))}")
    try:
        sessions = tuple(map(_session_of, _list(data["sessions"])))
        command = tuple(map(_text, _list(data["command"])))
        if not command:
            raise ValueError(f"{RECORDING}: command: expected the words of a command, got none")
        return Trace(command, _text(data["device"]), _text(data["checks"]), sessions, number)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{RECORDING}: {type(error).__name__} {error}") from None


def _session_of(item: dict[str, Any]) -> RecordedSession:
    return RecordedSession(_text(item["program"]), _number(item["pid"]), _text(item["member"]))


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise TypeError(f"{value!r}: expected the number of a process")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r}: expected a list")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r}: expected text")
    return value
