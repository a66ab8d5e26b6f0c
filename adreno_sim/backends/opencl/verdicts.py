"""Verdicts on drivers: each runs the kernels with known answers in a separate process; the verdict is cached on disk.

A driver brings its own LLVM and may crash or hang, so none is loaded to be judged. A verdict holds for one library file, as
large and as old as it was, on this machine, under this version of the known answers.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import field
from pathlib import Path

from ...base import disk_cache
from ...base.code_digest import code_digest
from ...base.processes.scratch import scratch_folder
from ...base.text.spelling import decode
from ...records import dataclass
from . import drivers
from .known_answers import SIMPLEST

TIME_LIMIT = 120.0
"""Seconds that all kernels of one driver may take; the slowest that is known takes ten."""

_KIND = "drivers"


@dataclass(frozen=True)
class JudgedDevice:
    """One device after its trial. wrong: a sentence for each known answer that it does not give, empty where it is fit."""

    platform: str
    name: str
    version: str
    lacks: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def runs(self) -> bool:
        """Whether it ran the simplest kernel; one that did not is asked nothing more."""
        return not any(sentence.startswith(SIMPLEST.failure("").rstrip(")")) for sentence in self.wrong)


@dataclass(frozen=True)
class Verdict:
    """One driver after its trial: `devices` in the order of their indices. problem: why there is none that could be tried."""

    devices: tuple[JudgedDevice, ...] = ()
    problem: str = ""

    @property
    def runs(self) -> bool:
        """Whether its first device runs kernels at all, right or wrong."""
        return not self.problem and self.devices[0].runs

    @property
    def against(self) -> str:
        """Why the driver's first device is not to be believed; "" if it is fit."""
        return self.problem or "; ".join(self.devices[0].wrong)


@dataclass
class _TrialLog:
    """The messages of a trial so far. asked: name and subject of the known answer that is running, None between two."""

    devices: list[JudgedDevice] = field(default_factory=list)
    wrong: list[list[str]] = field(default_factory=list)
    asked: tuple[str, str] | None = None
    done: bool = False


def judge_driver(icd: str) -> Verdict:
    """The verdict on the driver whose .icd file has this text: from this process, from disk, or by a trial."""
    return _judge(icd, _identity(icd))


@functools.cache
def _judge(icd: str, identity: str) -> Verdict:
    place = disk_cache.folder(_KIND) / identity
    if identity and (kept := disk_cache.load(place)) is not None:
        return _decode(json.loads(kept))
    verdict, lasting = _try(icd)
    if identity and lasting:
        devices = [vars(device) for device in verdict.devices]
        disk_cache.store(place, json.dumps({"devices": devices, "problem": verdict.problem}).encode())
    return verdict


def _decode(data: dict) -> Verdict:
    devices = [JudgedDevice(**{**item, "lacks": tuple(item["lacks"]), "wrong": tuple(item["wrong"])}) for item in data["devices"]]
    return Verdict(tuple(devices), data["problem"])


def _identity(icd: str) -> str:
    """A digest of what a verdict depends on; "" if the library's file is not known."""
    library = drivers.find_library(icd)
    if library is None:
        return ""
    status = library.stat()
    settings = sorted((key, value) for key, value in os.environ.items() if key.startswith(("POCL_", "CL_", "LD_")))
    parts = (
        library,
        status.st_size,
        status.st_mtime_ns,
        platform.node(),
        settings,
        code_digest(_KIND),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _try(icd: str) -> tuple[Verdict, bool]:
    """Run the trial; the verdict, and whether the trial came to its end: another may fare better than one that did not."""
    with scratch_folder("trial") as folder:
        (folder / "driver.icd").write_text(icd)
        file = folder / "told"
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, drivers.VARIABLE: str(folder), drivers.OURS: str(folder), "PYTHONPATH": path}
        with subprocess.Popen(
            trial_command(file),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                _, printed = process.communicate(timeout=TIME_LIMIT)
                end = _describe_end(process.returncode, printed)
            except subprocess.TimeoutExpired:
                end = f"did not end within {TIME_LIMIT:g} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    told = _read(lines)
    return _conclude(told, end), told.done


def trial_command(file: Path) -> list[str]:
    """The command that tries all drivers of its OpenCL loader and writes the results to `file`."""
    return [sys.executable, "-m", f"{__package__}.trial", str(file)]


def _describe_end(code: int, printed: bytes) -> str:
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    said = decode(printed).strip().splitlines()
    return f"ended with exit code {code}{f': {said[-1]}' if said else ''}"


def _read(lines: list[str]) -> _TrialLog:
    told = _TrialLog()
    for line in lines:
        with contextlib.suppress(ValueError):  # the last line of a process that was killed
            _add_line(told, json.loads(line))
    return told


def _add_line(told: _TrialLog, line: dict) -> None:
    if "platform" in line:
        told.devices.append(JudgedDevice(line["platform"], line["name"], line["version"], tuple(line["lacks"]), ()))
        told.wrong.append([])
    elif "asks" in line:
        told.asked = line["asks"], line["what"]
    elif "wrong" in line:
        told.asked = None
        told.wrong[-1] += filter(None, [line["wrong"]])
    told.done = told.done or "done" in line


def _conclude(told: _TrialLog, end: str) -> Verdict:
    """The verdict from the messages of a trial; `end` says how its process ended."""
    if not told.devices:
        return Verdict(problem="has no OpenCL device" if told.done else f"is not to be opened: its process {end}")
    if not told.done:
        name, what = told.asked or ("between kernels", "its own process")
        told.wrong[-1].append(f"gets {what} wrong ({name}: its process {end})")
    devices = [
        JudgedDevice(one.platform, one.name, one.version, one.lacks, tuple(wrong))
        for one, wrong in zip(told.devices, told.wrong, strict=True)
    ]
    return Verdict(tuple(devices))
