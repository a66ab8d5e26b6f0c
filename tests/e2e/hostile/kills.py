"""kill -9 of a command at a random moment: no half file, no process left, and the next run is right.

python tests/e2e/hostile/kills.py KILLS [SEED [COMMAND...]]      as many of each command as its share says
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parents[3])]

MARK = "ADRENO_SIM_TEST_MARK"
PATIENCE = 240.0
"""Seconds: the program that `run` started is the user's, and goes on to its end, compilers and all."""
COLD = 6
"""Every so many kills the cache is empty, so that the kill meets compilers and its filling."""
CLIENT = """
import numpy as np, pyopencl as cl
(platform,) = [found for found in cl.get_platforms() if "QUALCOMM" in found.vendor]
context = cl.Context(platform.get_devices()); queue = cl.CommandQueue(context)
a = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(64, dtype=np.float32))
program = cl.Program(context, "kernel void f(global float *a) { a[get_global_id(0)] += 1; }").build()
for size in (64, 32, 65): program.f(queue, (size,), None, a)
queue.finish()
"""
MODEL = """
from tvm.script import ir as I
from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
COMMANDS = {
    "check": (5, ["check", "wrong.asim", "--json", "check.json", "--html", "check.html", "--sarif", "check.sarif"]),
    "run": (5, ["run", "--json", "run.json", "--record", "run.asim", "--html", "run.html", "--", sys.executable, "client.py"]),
    "sweep": (3, ["sweep", "wrong.asim", "right.asim", "--results", "cases", "--json", "sweep.json", "--markdown", "sweep.md"]),
    "replay": (5, ["replay", "given.asim", "--checks", "full", "--json", "replay.json", "--html", "replay.html"]),
    "bundle": (1, ["bundle", "model.py", "-o", "made.asim"]),
    "tune": (1, ["tune", "model.py", "--db", "db", "--trials", "2", "--json", "tune.json"]),
}
"""Its share of the kills, and its words; each has outputs of every kind that it can."""


class Trial:
    """A folder with inputs, where commands run with a cache of the trial's own."""

    def __init__(self, folder: Path):
        import handmade

        self.folder, self.cache = folder, folder.with_name("cache")
        folder.mkdir(parents=True)
        handmade.texture().save(folder / "right.asim")
        wrong = handmade.texture()
        for name, code in wrong.kernels.items():
            source = code.source.replace("(y, at,", "(y, at + (int4)(1, 0, 0, 0),")
            wrong.kernels[name] = replace(code, source=source)
        wrong.save(folder / "wrong.asim")
        (folder / "client.py").write_text(CLIENT)
        (folder / "model.py").write_text(MODEL)
        self.run(["run", "--record", "given.asim", "--", sys.executable, "client.py"])
        self.inputs = {path.name for path in folder.iterdir()}
        self.whole: dict[str, tuple[int, Any, set[str], float]] = {}

    def start(self, words: list[str], mark: str = "") -> subprocess.Popen[str]:
        more = {"ADRENO_SIM_CACHE_DIR": str(self.cache), "PYTHONPATH": str(HERE.parents[3]), MARK: mark}
        pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(
            [sys.executable, "-m", "adreno_sim", *words], cwd=self.folder, env={**os.environ, **more}, text=True, **pipes
        )

    def run(self, words: list[str]) -> int:
        with self.start(words) as running:
            said = running.communicate(timeout=600)[1]
        assert running.returncode in (0, 1), said
        return running.returncode

    def clear(self) -> None:
        """Remove what commands made."""
        for path in self.folder.iterdir():
            if path.name not in self.inputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def outcome(self, name: str) -> tuple[int, Any, set[str], float]:
        """Exit code, findings, and files of a run to its end, and its seconds."""
        begun = time.monotonic()
        code = self.run(COMMANDS[name][1])
        found = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        return code, self.findings(), found, time.monotonic() - begun

    def findings(self) -> list[str]:
        """What reports say is wrong."""
        told = []
        for path in sorted(self.folder.glob("*.json")):
            told += [f"{path.name}: {found['kind']}: {found['message']}" for found in dicts_with(json.loads(path.read_text()))]
        return told

    def kill(self, name: str, dice: random.Random, cold: bool) -> None:
        """Kill a run of the command, look at what it left, and run it to its end."""
        if name not in self.whole:
            self.clear()
            self.outcome(name)  # fills the cache
            self.clear()
            self.whole[name] = self.outcome(name)
        code, findings, files, seconds = self.whole[name]
        self.clear()
        if cold:
            shutil.rmtree(self.cache)
        mark = uuid.uuid4().hex
        with self.start(COMMANDS[name][1], mark) as running:
            time.sleep(dice.uniform(0.02, seconds * (2 if cold else 1)))
            running.send_signal(signal.SIGKILL)
            running.communicate(timeout=PATIENCE)
        assert not wait_until_gone(mark), f"{name}: processes are left"
        left = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        if name not in ("sweep", "tune"):  # which keep what was done, for a run that goes on
            assert left <= files, f"{name}: {left - files} are left"
            for path in map(self.folder.joinpath, left):
                read_whole(path)
        again = self.outcome(name)
        assert again[0] == code, f"{name}: {again[:2]} after a kill: expected {(code, findings)}"
        assert again[1] == findings, f"{name}: {again[:2]} after a kill: expected {(code, findings)}"
        assert files <= again[2], f"{name}: {files - again[2]} are missing after a kill"


def read_whole(path: Path) -> None:
    """Raise where a file is half one."""
    if path.suffix == ".asim":
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
    elif path.suffix in (".json", ".sarif"):
        json.loads(path.read_text())
    elif path.suffix == ".html":
        assert path.read_text().rstrip().endswith("</html>")


def dicts_with(tree: Any) -> Iterator[dict[str, Any]]:
    """Findings anywhere in a report."""
    if isinstance(tree, dict):
        if {"kind", "message"} <= tree.keys():
            yield tree
        for value in tree.values():
            yield from dicts_with(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from dicts_with(value)


def wait_until_gone(mark: str) -> list[int]:
    """The processes with the mark in their environment that are left after a while."""
    end = time.monotonic() + PATIENCE
    while (left := list(_marked(mark))) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def _marked(mark: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}\0".encode() in (entry / "environ").read_bytes():
                yield int(entry.name)
        except OSError:  # it has ended, or is another user's
            continue


def campaign(kills: int, seed: int, names: list[str], folder: Path) -> dict[str, int]:
    """Kill the commands so often in all, as their shares say; how often each was."""
    trial, dice = Trial(folder / "trial"), random.Random(seed)
    order = [name for name in names for _ in range(COMMANDS[name][0])]
    done = dict.fromkeys(names, 0)
    for number in range(kills):
        name = order[number % len(order)]
        trial.kill(name, dice, cold=number % COLD == COLD - 1)
        done[name] += 1
        print(f"{number + 1}: {name}", flush=True)
    return done


def main() -> None:
    kills, seed = (int(word) for word in [*sys.argv[1:], "0"][:2])
    with tempfile.TemporaryDirectory() as folder:
        print(campaign(kills, seed, sys.argv[3:] or list(COMMANDS), Path(folder)))


if __name__ == "__main__":
    main()
