"""Run a command of this program in a separate process, with a time limit: a driver that hangs or crashes takes only that.

The child writes the name of each step to a file as it begins; what it was at is known even where it could say no more.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ...findings import Finding, Kind
from ...records import dataclass
from ..progress import has_ended, note_steps
from .crashes import CRASHES, DRIVER, ENGINE, note_crash, read_crash
from .interrupts import EXIT_INTERRUPTED
from .scratch import scratch_folder

DEFAULT_LIMIT = 600.0
"""Seconds that an isolated run may take."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a command that can run isolated."""
    parser.add_argument("--isolate", action="store_true", help="run in a separate process: a driver's crash or hang is a finding")
    limit = f"of --isolate, in seconds (default: {DEFAULT_LIMIT:g})"
    parser.add_argument("--time-limit", type=seconds, metavar="S", help=limit)
    parser.add_argument("--progress-file", help=argparse.SUPPRESS)


def seconds(text: str) -> float:
    """A command line's number of seconds, more than 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, as 60")
    return value


@dataclass(frozen=True)
class ChildOutcome:
    """The end of the process: its exit code, and the finding for a device that crashed or hung; problem: in a line, why it ended
    by a signal that is not a device's fault."""

    code: int
    finding: Finding | None = None
    problem: str = ""


class Processes:
    """What threads of this process `run`, to be ended together: each then gets the end of its process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    @contextmanager
    def holding(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """While the block runs, `process` is one of these."""
        with self._lock:
            self._running.add(process)
            if self._ended:
                _kill(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)

    def end(self) -> None:
        """End them, and whatever comes later."""
        with self._lock:
            self._ended = True
            for process in self._running:
                _kill(process)


def run(arguments: Sequence[str], limit: float, output: IO[bytes] | None = None, among: Processes | None = None) -> ChildOutcome:
    """`adreno-sim ARGUMENTS --progress-file FILE` in a separate process, killed with all it started after `limit` seconds.

    output: a file for what it prints (default: this process's own). It ends when this process does, however that ends.
    among: those that another thread may end.
    """
    with scratch_folder("isolated") as folder:
        noted = folder / "progress"
        command = [sys.executable, "-m", "adreno_sim", *arguments, "--progress-file", str(noted)]
        with subprocess.Popen(
            command,
            start_new_session=True,
            env=_environment(),
            stdin=subprocess.PIPE,  # never written to: it closes when this process is gone
            stdout=output,
            stderr=output and subprocess.STDOUT,
        ) as process:
            try:
                with (among or Processes()).holding(process):
                    code = process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                _kill(process)
                return ChildOutcome(
                    1, Finding(Kind.DEVICE_HUNG, f"did not end within {limit:g} s; it was at {_last_step(noted)}")
                )
            except BaseException:
                _kill(process)
                raise
        return judge_end(code, noted, _crash_file(noted), arguments)


def judge_end(code: int, noted: Path, crash: Path, arguments: Sequence[str]) -> ChildOutcome:
    """Whose doing the end of a process is, by its exit code, or its signal below 0; the files and arguments as of `judge_crash`.

    An exit code is a verdict only of a process that came to its end, or was interrupted: code of others can end it before.
    """
    if code < 0:
        return judge_crash(signal.Signals(-code), noted, crash, arguments)
    if code == EXIT_INTERRUPTED or has_ended(noted):
        return ChildOutcome(code)
    at = f"ended with exit code {code} and without a verdict; it was at {_last_step(noted)}"
    return ChildOutcome(2, problem=f"the process {at}: code of the model, or of a reference, can do that")


def judge_crash(number: signal.Signals, noted: Path, crash: Path, arguments: Sequence[str]) -> ChildOutcome:
    """Whose fault it is: a device's is a finding, another's a problem with the exit code of its kind.

    noted: the file of steps. crash: that of `note_crash`. arguments: of the command line.
    """
    step, place = _last_step(noted), read_crash(crash)
    at = f"ended by {number.name}; it was at {step}"
    if number == signal.SIGKILL:
        return ChildOutcome(2, problem=f"the process was {at}: killed from outside, as the system does where memory is short")
    if number not in CRASHES:
        return ChildOutcome(2, problem=f"the process was {at}: a signal from outside, or a limit of the system")
    real = any(re.match(r"(--device=|--compare-with=)?cl(:|$)", argument) for argument in arguments)
    if place.owner == DRIVER or (real and not place.owner):
        return ChildOutcome(1, Finding(Kind.DEVICE_CRASHED, at))
    inside = f" in {place.frame}" if place.frame else ""
    if not place.owner and step == "references":  # all else that runs meanwhile says what it was at
        return ChildOutcome(
            3, problem=f"unsupported: a library that computes references crashes: {at} ({_next_step('its makers')})"
        )
    if place.owner not in ("", ENGINE):
        problem = f"unsupported: {place.owner} crashes: {at}{inside} ({_next_step(place.owner)})"
        return ChildOutcome(3, problem=problem)
    if re.search(r"--checks[ =]off", " ".join(arguments)) and number in (signal.SIGSEGV, signal.SIGBUS):
        return ChildOutcome(
            1, Finding(Kind.DEVICE_CRASHED, f"{at}; at --checks off no access is checked: --checks bounds names it")
        )
    return ChildOutcome(
        4, problem=f"internal error: {at}{inside} (a bug of adreno-sim; please report it with this line and the model)"
    )


def _next_step(owner: str) -> str:
    return f"a limit of {owner}, or of code that the model brings; next: report it to {owner}, or check a model without it"


def _crash_file(noted: Path) -> Path:
    return noted.with_name("crash")


def begin(progress_file: str) -> None:
    """In the isolated process: leave word of steps and of a crash, and end, with all that was started, when the process that
    waits for it is gone."""
    note_crash(_crash_file(Path(progress_file)))
    note_steps(Path(progress_file))

    def watch() -> None:
        while os.read(0, 1):  # not sys.stdin, whose lock a thread must not hold when the interpreter ends
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _environment() -> dict[str, str]:
    """This process's, with the package on the path also where it is not installed."""
    home = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_step(noted: Path) -> str:
    """The step that had begun last."""
    return (noted.read_text(encoding="utf-8", errors="replace") if noted.exists() else "") or "its start"
