"""The command line as a program: `python -m adreno_sim`, and the script `adreno-sim`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .cli.shell.computing import COMPUTING

if TYPE_CHECKING:
    from .icd.start.standby import Standby

_TOOLS = 6
"""The tools that `sys.monitoring` has room for."""


def run() -> int:
    """Runs the command line, in a child where a library may crash, and returns the exit code of this process."""
    arguments = sys.argv[1:]
    _keep_bytecode_whole()
    if arguments[:1] and arguments[0] in COMPUTING and not any(word.startswith("--progress-file") for word in arguments):
        from .base.processes.supervision import supervise

        return supervise(run_here, arguments, _end_child)
    return run_here()


def _keep_bytecode_whole() -> None:
    """Below a limit on the size of files Python keeps what fits of a module's bytecode, and cannot load the module ever after."""
    import resource

    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        sys.dont_write_bytecode = True


def run_here() -> int:
    """Runs the command line in this process, and returns its exit code."""
    from .base.garbage import begin_own_process

    begin_own_process()  # `main` begins to collect when the command's modules are imported
    try:
        standby = _begin_server(sys.argv[1:])
        from .cli.main import main

        code = main(is_program=True, standby=standby)
        if standby is not None:
            standby.end()
    except KeyboardInterrupt:  # before or after the command itself
        print("error: interrupted", file=sys.stderr)
        code = 130
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the verdict stands: a signal during Python's exit would replace it
    if code == 130:
        end_at_once(code)
    return code


def _begin_server(arguments: list[str]) -> Standby | None:
    """Begins the process from which the driver's servers come, of the OpenCL programs that `run` will have started."""
    if arguments[:1] != ["run"] or arguments[1:2] in ([], ["-h"], ["--help"]):
        return None
    try:
        from .icd.start.standby import begin
    except ImportError:  # `main` says what is missing
        return None
    return begin()


def _end_child(code: int) -> None:
    """Ends this process, a child that ran the command line. Python would free each object of a model, and pull down each module,
    before it ends: a tenth of a second check. It does where somebody watches, who then writes what he saw."""
    if not _is_watched():
        _do_at_exit()
        end_at_once(code)


def _is_watched() -> bool:
    """Whether a profiler, a tracer or a debugger follows this process."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    tools = [monitoring.get_tool(number) for number in range(_TOOLS)] if monitoring else []
    return any(tools) or bool(sys.getprofile() or sys.gettrace())


def _do_at_exit() -> None:
    """Does what others have registered for the end, in Python's order, and writes what C code has printed."""
    import atexit
    import ctypes
    import threading

    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    ctypes.CDLL(None).fflush(None)


def end_at_once(code: int) -> None:
    """Ends this process without Python's exit, which waits for threads, and ends by the signal if it came inside an `exec`."""
    import contextlib
    import os

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # its reader is gone
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(run())
