"""The process that builds, compiles and launches: takes pickled tasks from a file, and leaves a line of JSON for each step.

A line {"begin": name} before each step says what was at work where the process dies; it is started anew for the rest.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["ADRENO_SIM_STRICT_ANALYSIS"] = "1"
sys.path[0:1] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3])]

from corpora.launches import make_launch  # noqa: E402
from corpora.source import Source  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError  # noqa: E402
from adreno_sim.engine.run import launch  # noqa: E402

DEVICE = "sim:adreno-830"
LAUNCH_SECONDS = 5.0
"""After which the watchdog ends a launch."""
WARM_UP = "kernel void k(global float *a) { a[get_global_id(0)] = sqrt(a[0]); }"


@dataclass(frozen=True)
class Task:
    """kernels: those to launch at level full; None = compile every kernel at level bounds, and run none."""

    source: Source
    kernels: tuple[str, ...] | None = None


class _CompiledError(Exception):
    """Everything that a launch compiles is compiled."""


def serve(tasks: list[Task], output: Path) -> None:
    """Work on the tasks; `output` gets the lines."""
    with output.open("a") as file:

        def tell(line: dict[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        compile_only = adreno_sim.open_device(DEVICE, cache=False)
        full = adreno_sim.open_device(DEVICE, checks="full", cache=False, timeout=LAUNCH_SECONDS, threads=1)
        with _nothing_runs():
            _compile(compile_only, compile_only.build(WARM_UP)["k"], "")
        for number, task in enumerate(tasks):
            (_compile_all(compile_only, task.source, tell) if task.kernels is None else _launch_all(full, task, tell))
            tell({"done": number})


def _compile_all(device: Any, source: Source, tell: Any) -> None:
    program, seconds = _build(device, source, tell)
    for name in program.kernel_names() if program else ():
        tell({"begin": f"{source.name}:{name}"})
        start = _cpu_seconds()
        line: dict[str, Any] = {"compiled": f"{source.name}:{name}", "build": round(seconds, 3)}
        try:
            with _nothing_runs():
                _compile(device, program[name], f"{source.name}:{name}")
        except AdrenoSimError as error:
            line["refused"] = _first_line(error)
        except Exception as error:
            line["internal"] = f"{type(error).__name__}: {_first_line(error)}"
        tell({**line, "seconds": round(seconds + _cpu_seconds() - start, 3)})


def _build(device: Any, source: Source, tell: Any) -> tuple[Any, float]:
    tell({"begin": source.name})
    start = _cpu_seconds()
    try:
        program = device.build(source.text, source.options)
    except AdrenoSimError as error:
        tell({"refused": source.name, "why": _first_line(error)})
        return None, 0.0
    except Exception as error:
        tell({"refused": source.name, "internal": f"{type(error).__name__}: {_first_line(error)}"})
        return None, 0.0
    return program, _cpu_seconds() - start


def _compile(device: Any, kernel: Any, seed: str) -> None:
    made = make_launch(device, kernel, seed)
    try:
        device.launch(kernel, made.global_size, made.local_size, made.args)
    except _CompiledError:
        pass
    finally:
        _free(device, made.args)


def _launch_all(device: Any, task: Task, tell: Any) -> None:
    program, _ = _build(device, task.source, tell)
    for name in task.kernels or () if program else ():
        tell({"begin": f"{task.source.name}:{name} at level full"})
        start = _cpu_seconds()
        line: dict[str, Any] = {"launched": f"{task.source.name}:{name}"}
        made = make_launch(device, program[name], f"{task.source.name}:{name}")
        try:
            found = device.launch(program[name], made.global_size, made.local_size, made.args)
            line["findings"] = sorted({finding.kind.label for finding in found.findings})
        except AdrenoSimError as error:
            line["refused"] = _first_line(error)
        except Exception as error:
            line["internal"] = f"{type(error).__name__}: {_first_line(error)}"
        _free(device, made.args)
        tell({**line, "seconds": round(_cpu_seconds() - start, 3)})


def _free(device: Any, args: list[Any]) -> None:
    for arg in args:
        if hasattr(arg, "storage"):
            device.free(arg.storage)


@contextmanager
def _nothing_runs() -> Iterator[None]:
    """A launch ends where its code would run."""

    def stop(*_: object, **__: object) -> None:
        raise _CompiledError

    real = launch.run
    launch.run = stop
    try:
        yield
    finally:
        launch.run = real


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]


if __name__ == "__main__":
    serve(pickle.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]))
