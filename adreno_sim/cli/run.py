"""`adreno-sim run`: run any program on the simulated device through its OpenCL driver, and report what was found."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import cache, options
from .output import add_outputs, command_line, declare, write_data, write_outputs
from .recordings.launch_filters import add_filters, write_allow_list

if TYPE_CHECKING:
    from ..base.allow import AllowEntry
    from ..base.errors import AdrenoSimError
    from ..results.run_report import ProcessReport, RunReport
    from ..results.time_report import TimeReport

STDERR = 2
"""The descriptor of standard error."""

DETAILS = """\
COMMAND is any program that uses OpenCL, or starts others that do: it finds the simulated device through the OpenCL loader of the
machine, or through one that comes along. Findings are printed as they arise.

    adreno-sim run -- ./a_program with arguments
    adreno-sim run --checks bounds -- ./a_program         # faster: no uninitialised reads, no races
    adreno-sim run --device sim:adreno-650 -- pytest tests

exit code: the command's own where that is not 0 (128 + N: ended by signal N), else 0 ok; 1 findings, with --strict also
warnings; 2 usage, no process opened the simulated device, or the driver failed; 3 the program asked for what is unsupported
"""

MOST_SOURCE = 4 << 20
"""Characters of sources that SARIF holds."""

WAIT = 5.0
"""Seconds that servers of processes which have ended may take to write their reports."""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "run",
        help="run any OpenCL program on the simulated device",
        description="Run a command whose processes see the simulated device as their OpenCL device; report what is wrong with "
        "the kernels they launch.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--device", metavar="DEVICE", help="sim:PROFILE[,key=value...] (default: ADRENO_SIM_DEVICE, else sim:adreno-740)"
    )
    parser.add_argument("--checks", choices=("off", "bounds", "full"), help="how closely accesses are watched (default: full)")
    options.add(
        parser, "--all-drivers", "--seed", "--every-reading", *options.TIME,
        seed="of the order of work-items at level full, and of fresh memory (default: 0)",
        every_reading="refused: of replay, with a recording (--record)",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true", help="warnings count as errors, and a launch with an error fails (CL_OUT_OF_RESOURCES)"
    )
    parser.add_argument(
        "--allow", metavar="FILE", help="allow-list (default: the nearest adreno-sim.toml or pyproject.toml that has one)"
    )
    where = "- = standard output; what COMMAND prints then goes to standard error"
    parser.add_argument("--json", metavar="FILE", help=f"write the report as JSON ({where})")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    parser.add_argument("--record", metavar="FILE", help="write what the program does to FILE, for adreno-sim replay")
    parser.add_argument("--log", metavar="FILE", help="write a line for each call of OpenCL: arguments, result, time, from where")
    parser.add_argument("--trace-api", action="store_true", help="the same to standard error, while COMMAND runs")
    add_filters(parser)
    add_outputs(parser)
    cache.add_option(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND ...", help="what to run")
    declare(parser, ("--json", "--sarif", "--html", "--record", "--write-allow", "--log"), ("--allow", "--compare"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    report, unrecorded = _run_command(args, _command_of(args.command), read_allow_list(args.allow))
    if report.time is not None:
        from ..render.console import open_console
        from ..render.time.text import show_times

        show_times(open_console(sys.stderr), report.time)
    write_report(args, report)
    if unrecorded is not None:
        raise unrecorded
    return report.exit_code


def write_report(args: argparse.Namespace, report: RunReport, command: str = "run") -> None:
    """Print the report, and write it where the options ask for it."""
    from ..render.run import text

    text.show(report, sys.stderr, command)
    from ..results.run_encode import run_to_json

    write_data(args, lambda: run_to_json(report))
    if args.html:
        from ..render.run import html

        html.write_html(args.html, report, command_line(args))
    sources = {f"{kernel}.cl": text for kernel, text in report.sources.items()}
    if sum(map(len, sources.values())) > MOST_SOURCE:  # each kernel of a large program would bring it whole
        sources = {}
    write_outputs(args, report.shown, report.allowed, sources, report.lowest_level, _find_program(report.command))
    write_allow_list(args, report)


def _find_program(command: Sequence[str]) -> str:
    """The file that a command runs: the first that is below the current folder, as a script does, else the program itself."""
    below = (word for word in command if not os.path.isabs(word) and os.path.isfile(word))
    return next(below, command[0] if command else "")


def _command_of(words: Sequence[str]) -> list[str]:
    from ..base.errors import AdrenoSimError

    command = list(words[1:] if words[:1] == ["--"] else words)
    if not command:
        raise AdrenoSimError("no command: expected one after --, as in adreno-sim run -- ./program")
    return command


def read_allow_list(file: str | None) -> list[AllowEntry]:
    """Entries of a file, or of the nearest configuration that has some. AdrenoSimError if they cannot be read."""
    from ..base.allow import find_config, read_file

    return read_file(Path(file)) if file else find_config(Path.cwd())


def _run_command(
    args: argparse.Namespace, command: list[str], allow: Sequence[AllowEntry]
) -> tuple[RunReport, AdrenoSimError | None]:
    """Run the command with the driver in its environment, and gather the reports of its processes. The error: of a recording that
    could not be written."""
    from ..base.errors import AdrenoSimError
    from ..base.json_io import write_text
    from ..base.processes.orphans import adopting_orphans
    from ..base.processes.scratch import scratch_folder
    from ..icd.environment import environment
    from ..icd.loaded_libraries import LibraryWatch
    from ..icd.report_files import collect_reports, has_reports
    from ..render.run.text import prepare_to_show
    from ..results.run_report import make_run_report

    device, checks = _device_of(args)
    wish = options.time_wish(args, device)
    _refuse_missing(command[0])
    with scratch_folder("run") as folder:
        variables = environment(
            device=device, checks=checks, reports=str(folder), strict=args.strict, record=bool(args.record),
            kernels=args.kernels or "", skip_launches=args.skip_launches or 0, launches=args.launches,
            max_findings=args.max_findings, log=args.log, trace_api=args.trace_api, times=args.time,
        )  # fmt: skip
        found = {**os.environ, **variables}
        if args.standby:
            found |= args.standby.offer(folder, found)
        if args.log:
            write_text(args.log, "")
        with adopting_orphans() as orphans:
            process = _start(command, found, aside=args.json == "-")
            orphans.kept = process.pid
            watch = LibraryWatch(process.pid, lambda: has_reports(folder))
            with _signals_passed_on(process):
                prepare_to_show(sys.stderr)  # while the command runs, and not when it has ended
                status = process.wait()
        watch.stop()
        processes = collect_reports(folder, device, WAIT)
        unrecorded = None
        if args.record:
            try:
                _write_recording(args.record, command, device, checks, processes, folder)
            except AdrenoSimError as error:
                unrecorded = error
    report = make_run_report(
        command,
        device,
        checks,
        128 - status if status < 0 else status,
        processes,
        allow=allow,
        strict=args.strict,
        no_driver=watch.explain(),
        most=args.max_findings,
        time=_merge_times(processes) if args.time else None,
        wish=wish,
    )
    return report, unrecorded


def _merge_times(processes: Sequence[ProcessReport]) -> TimeReport | None:
    """The predicted times of all processes; names those that have none."""
    from ..results.time_report import merge_times

    merged = merge_times(process.time for process in processes if process.time is not None)
    for process in processes:
        if merged is not None and process.opened and process.time is None:
            merged.say_missing(f"{process.program} ({process.pid}): its server left no times")
    return merged


def _write_recording(
    path: str, command: list[str], device: str, checks: str, processes: Sequence[ProcessReport], folder: Path
) -> None:
    """Gather what the servers recorded; without any there is no file."""
    from ..icd.report_files import find_recordings
    from ..icd.trace.archive import RecordedSession, Trace, write_trace

    programs = {process.pid: process.program for process in processes}
    recorded = find_recordings(folder)
    sessions = [RecordedSession(programs.get(pid, ""), pid, f"session-{place}") for place, (pid, _) in enumerate(recorded)]
    if sessions:
        write_trace(path, Trace(tuple(command), device, checks, tuple(sessions)), [file for _, file in recorded])


def _device_of(args: argparse.Namespace) -> tuple[str, str]:
    """The device string with the seed in it, and the level of checks. AdrenoSimError for a device that cannot be."""
    from ..backends.sim.device_text import read_device
    from ..base.errors import OptionError
    from ..base.trust.device_string import default_device

    text = args.device or default_device()
    backend, _, rest = text.partition(":")
    if backend != "sim":
        raise OptionError("device", f"{text}: expected sim:PROFILE: a real device has its own driver")
    if args.every_reading:
        how = "record it (--record trace.asim), then replay trace.asim --every-reading"
        raise OptionError("every-reading", f"a program would wait for launches that are not its own: {how}")
    if args.all_drivers:
        rest += ",all_drivers=true"
    if args.seed is not None:
        rest += f",seed={args.seed}"
    level = options.level_of_checks(text, args.checks)
    given: dict[str, Any] = {"checks": level} if level else {}
    _, chosen = read_device(rest, **given)
    options.refuse_counters(chosen)
    return f"sim:{rest}", chosen.checks


def _refuse_missing(program: str) -> None:
    """Raise AdrenoSimError where there is no such program: before the first run compiles the driver, which takes seconds."""
    from ..base.errors import AdrenoSimError

    if shutil.which(program, os.F_OK) is None and not os.path.isdir(program):
        raise AdrenoSimError(f"cannot run {program}: {os.strerror(errno.ENOENT)}")


def _start(command: list[str], environment: dict[str, str], aside: bool) -> subprocess.Popen[bytes]:
    """Start the command. aside: what it prints goes to standard error, since standard output takes the report."""
    from ..base.errors import AdrenoSimError

    try:
        return subprocess.Popen(command, env=environment, stdout=STDERR if aside else None)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AdrenoSimError(f"cannot run {command[0]}: {reason}") from None


@contextlib.contextmanager
def _signals_passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Context in which Ctrl-C and its like are the command's own affair, whose terminal sends them, and SIGTERM and SIGHUP are
    sent on to it and all that it started, also where what is between has ended."""
    from ..base.processes.descendants import find_descendants, signal_all

    def send_on(number: int, _frame: object) -> None:
        started = [each for each in find_descendants(os.getpid()) if each != process.pid]  # while they are there to be named
        process.send_signal(number)  # first: it may end in another way once they do
        signal_all(started, number)

    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    before |= {number: signal.signal(number, send_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
