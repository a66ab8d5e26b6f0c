"""Runs cases one after the other, each in a fork of a process that has imported everything, within limits of its own.

python server.py CASES OUTCOMES      pickled lists; OUTCOMES grows by one pickle for each case
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1"}
sys.dont_write_bytecode = True  # a fork of a process with threads may hang
sys.path[0:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3])]

from hostile.case import MOST_SECONDS, Case, Outcome  # noqa: E402

ADDRESSES = 12 << 30  # bytes of address space: what runs away fails before the machine does
WALL = 400.0  # seconds; a run that waits for something that never comes uses no CPU time
LAUNCH = 1.0  # seconds of a launch whose file names no timeout
COMPILATION = 5.0
SHOWN = 4 << 20  # characters of what a run printed that are looked at

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}


def main() -> None:
    cases, outcomes = (Path(name).resolve() for name in sys.argv[1:])
    scratch = outcomes.parent / f"{outcomes.name}-scratch"
    os.environ |= {"TMPDIR": str(scratch / "tmp"), "HOME": str(scratch / "tmp")}
    os.environ.pop("ADRENO_SIM_TRACEBACK", None)
    first, *rest = pickle.loads(cases.read_bytes())
    with outcomes.open("wb") as file:
        for warm_up in first:
            _run(warm_up, scratch, modules := scratch / "modules")
            for name in modules.read_text().split():
                __import__(name)
        for case in rest:
            pickle.dump(_run(case, scratch), file)
            file.flush()
    shutil.rmtree(scratch)


def _run(case: Case, scratch: Path, modules: Path | None = None) -> Outcome:
    shutil.rmtree(scratch / "case", ignore_errors=True)
    for folder in ("case", "tmp"):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    for name, data in case.files.items():
        path = scratch / "case" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    before = _listing(scratch / "case")
    child = os.fork()
    if child == 0:
        _be_the_child(case, scratch, modules)
    timer = threading.Timer(WALL, os.kill, (child, signal.SIGKILL))
    timer.start()
    _, status, used = os.wait4(child, 0)
    timer.cancel()
    timer.join()
    out, err = ((scratch / name).read_bytes()[:SHOWN].decode("utf-8", "replace") for name in ("out", "err"))
    new = sorted(_listing(scratch / "case") - before)
    outside = (scratch / "written").read_text(errors="replace").splitlines()
    code = os.waitstatus_to_exitcode(status)
    return Outcome(code, out, err, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, (*outside, *new))


def _listing(folder: Path) -> set[str]:
    return {
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder)
        for name in names
        if not os.path.relpath(parent, folder).startswith("cache")
    }


def _be_the_child(case: Case, scratch: Path, modules: Path | None) -> None:
    code = 1
    try:
        for number, name in ((1, "out"), (2, "err")):
            handle = os.open(scratch / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
        written = os.open(scratch / "written", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.chdir(scratch / "case")
        own_cache = any(name.startswith("cache/") for name in case.files)
        os.environ["ADRENO_SIM_CACHE_DIR"] = str(scratch / "case" / "cache") if own_cache else os.environ["HOSTILE_CACHE"]
        seconds = int(2 * MOST_SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _watch_writes(written, str(scratch))
        code = _command(case.args)
        if modules is not None:
            modules.write_text("\n".join(name for name in sys.modules if name.split(".")[0] == "adreno_sim"))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _command(args: tuple[str, ...]) -> int:
    from adreno_sim.base.run_options import RunOptions
    from adreno_sim.cli.main import main as command
    from adreno_sim.frontend import compiler_process

    compiler_process.TIME_LIMIT = COMPILATION
    RunOptions()  # its `__init__` is compiled when it is first called
    RunOptions.__init__.__kwdefaults__["timeout"] = LAUNCH
    return command(list(args))


def _watch_writes(handle: int, scratch: str) -> None:
    """Note every file outside of `scratch` that Python opens to write, makes, moves or removes."""

    def note(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            paths = [args[0]] if isinstance(args[2], int) and args[2] & _WRITES else []
        else:
            paths = [arg for arg in args[:2] if isinstance(arg, (str, bytes, os.PathLike))] if event in _CHANGES else []
        for path in paths:
            if not isinstance(path, int):
                full = os.path.abspath(os.fsdecode(path))
                if not f"{full}/".startswith((scratch, os.environ["HOSTILE_CACHE"] + os.sep, "/dev/", "/proc/self/")):
                    os.write(handle, os.fsencode(full) + b"\n")

    sys.addaudithook(note)


if __name__ == "__main__":
    main()
