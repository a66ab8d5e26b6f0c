"""Every source through the workers: what builds, how long each kernel compiles, and what launches at level full end in."""

from __future__ import annotations

import json
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import clblast, darktable, ggml, opencv
from .source import Source
from .worker import Task

CORPORA = {"ggml": ggml.sources, "opencv": opencv.sources, "clblast": clblast.sources, "darktable": darktable.sources}
SILENCE = 120.0
"""Seconds without a line after which a worker hangs."""
WORKER = Path(__file__).with_name("worker.py")


def gather(folder: Path, pattern: str = "") -> list[Source]:
    """The sources of all corpora whose names hold `pattern`; where it begins with the name of a corpus, the archives of others
    are not fetched. Raises archives.ArchiveError."""
    named = pattern.partition("/")[0]
    wanted = [CORPORA[named]] if named in CORPORA else CORPORA.values()
    return [source for make in wanted for source in make(folder) if pattern in source.name]


def compile_all(sources: Sequence[Source], jobs: int) -> list[dict[str, Any]]:
    """The lines of the workers on every kernel, compiled at level bounds."""
    return _share([Task(source) for source in sources], jobs)


def launch_some(
    sources: Sequence[Source], lines: Sequence[dict[str, Any]], count: int, seed: int, jobs: int
) -> list[dict[str, Any]]:
    """The lines on `count` kernels of those that compile, drawn by a seed, at level full."""
    there = sorted(line["compiled"] for line in lines if "compiled" in line and not {"refused", "internal"} & line.keys())
    drawn = random.Random(seed).sample(there, min(count, len(there)))
    by_source: dict[str, list[str]] = {}
    for name in drawn:
        source, _, kernel = name.rpartition(":")
        by_source.setdefault(source, []).append(kernel)
    return _share([Task(source, tuple(by_source[source.name])) for source in sources if source.name in by_source], jobs)


def _share(tasks: list[Task], jobs: int) -> list[dict[str, Any]]:
    """Workers side by side, each with every so-manieth task."""
    with ThreadPoolExecutor(jobs) as pool:
        return [line for lines in pool.map(_serve, [tasks[start::jobs] for start in range(jobs)]) for line in lines]


def _serve(tasks: list[Task]) -> list[dict[str, Any]]:
    """One worker after another until no task is left: a task that ends or stops one is a line {"died": ..., "why": ...}."""
    lines: list[dict[str, Any]] = []
    while tasks:
        with tempfile.TemporaryDirectory(prefix="corpora-") as folder:
            given, output, log = Path(folder, "tasks"), Path(folder, "lines"), Path(folder, "log")
            given.write_bytes(pickle.dumps(tasks))
            with log.open("wb") as file:
                worker = subprocess.Popen([sys.executable, str(WORKER), str(given), str(output)], stdout=file, stderr=file)
                hung = _wait(worker, output)
            found = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
            tail = log.read_text(errors="replace").strip().splitlines()[-1:]
        lines += [line for line in found if not {"begin", "done"} & line.keys()]
        done = sum("done" in line for line in found)
        if worker.returncode == 0:
            return lines
        at = next((line["begin"] for line in reversed(found) if "begin" in line), "the start")
        why = f"no word for {SILENCE:g} s" if hung else _describe_end(worker.returncode, tail)
        lines.append({"died": at, "why": why})
        tasks = tasks[done + 1 :]
    return lines


def _wait(worker: subprocess.Popen[bytes], output: Path) -> bool:
    """Waits for the end; True where it had to be killed, for saying nothing any more."""
    size, since = -1, time.monotonic()
    while worker.poll() is None:
        now = output.stat().st_size if output.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        if time.monotonic() - since > SILENCE:
            worker.kill()
            worker.wait()
            return True
        time.sleep(0.05)
    return False


def _describe_end(code: int, tail: list[str]) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}: {' '.join(tail)}"
