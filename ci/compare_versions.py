"""Run the same kernels with an older version and with this working tree, and print all that differs.

    python ci/compare_versions.py OLD_REF                   # the corpus, 200 random kernels, three networks
    python ci/compare_versions.py OLD_REF --parts random --random 2000

Compared bit for bit, at levels bounds and full: every buffer and image after each launch, findings (kind, place, work-item,
access, count, message), watched stores, printed text, and how many accesses are proven. Exit status 1 if anything differs, or
could not be compared.
Each version runs in a separate process, both at the same time, with caches of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
WORKER = ROOT / "ci/compare_worker.py"
PARTS = ("corpus", "random", "networks")
SIDES = ("old", "new")
SECONDS = 900
"""For one case: the largest is a network on a busy machine."""
SHOWN = 5
"""Elements of an array that are shown where it differs."""

Answer = tuple[str, dict[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a commit, branch or tag")
    parser.add_argument("--random", type=int, default=200, metavar="N", help="random kernels (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other random kernels (default 1)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)} (default: all)")
    options = parser.parse_args()
    if unknown := set(options.parts.split(",")) - set(PARTS):
        parser.error(f"--parts: expected some of {','.join(PARTS)}, got {','.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        trees = {"old": Path(folder) / "old", "new": ROOT}
        export_tree(options.old, trees["old"])
        tally = Tally()
        with contextlib.ExitStack() as stack:
            sides = [stack.enter_context(Side(trees[name], Path(folder) / f"cache-{name}", options)) for name in SIDES]
            for old, new in zip(*sides, strict=True):
                tally.add(old, new)
    print(tally)
    return 1 if tally.differing or tally.errors or not tally.cases else 0


def export_tree(ref: str, folder: Path) -> None:
    """Puts the files of a commit into `folder`."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", ref], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if archive.returncode:
        sys.exit(f"{ref}: git archive knows no such commit")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


class Side:
    """The answers of one version, in order; they are made while the other side's are."""

    def __init__(self, tree: Path, cache: Path, options: argparse.Namespace):
        self._tree, self._options = tree, options
        self._environment = {**os.environ, "ADRENO_SIM_CACHE_DIR": str(cache), "ADRENO_SIM_STRICT_ANALYSIS": ""}
        self._environment.pop("PYTHONPATH", None)
        self._answers: queue.Queue[Answer | None] = queue.Queue()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def __enter__(self) -> Side:
        threading.Thread(target=self._read_all, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if self._process is not None:
            self._process.kill()

    def __iter__(self) -> Iterator[Answer]:
        with contextlib.suppress(queue.Empty):
            while (answer := self._answers.get(timeout=SECONDS)) is not None:
                yield answer
            return
        yield "a case that does not end", {"error": f"no answer from {self._tree} within {SECONDS} s"}

    def _read_all(self) -> None:
        """Starts a worker, and another one after each case in which one dies."""
        first: int | None = 0
        while first is not None and not self._closed:
            first = self._read_worker(first)
        self._answers.put(None)

    def _read_worker(self, first: int) -> int | None:
        """Passes on the answers of one worker. Returns the case after the one in which it died, None if it did not."""
        at: tuple[int, str] | None = None
        with self._start(first) as stream, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                number, name, record = pickle.load(stream)
                at = number, name
                if record is not None:
                    self._answers.put((name, record))
                    at = None
        assert self._process is not None
        status = self._process.wait()
        if at is not None:
            self._answers.put((at[1], {"error": f"the process ended with {status}"}))
            return at[0] + 1
        if status:
            self._answers.put((f"case {first} or later", {"error": f"the process ended with {status}"}))
        return None

    def _start(self, first: int) -> Any:
        """Starts a worker at case `first`; returns the stream of its answers."""
        readable, writable = os.pipe()
        asked = [str(first), self._options.parts, str(self._options.random), str(self._options.seed)]
        command = [sys.executable, str(WORKER), str(self._tree), str(writable), *asked]
        self._process = subprocess.Popen(command, env=self._environment, pass_fds=[writable], stdout=subprocess.DEVNULL)
        os.close(writable)
        return os.fdopen(readable, "rb")


@dataclass
class Tally:
    """What was compared. errors: what both versions failed with alike, so that there was less to compare."""

    began: float = field(default_factory=time.monotonic)
    cases: int = 0
    values: int = 0
    differing: int = 0
    errors: list[str] = field(default_factory=list)

    def add(self, old: Answer, new: Answer) -> None:
        """Compares one case, and prints what differs."""
        (name, before), (name_of_new, after) = old, new
        both = [key for key in before if key in after]
        told = [f"  the new version is at {name_of_new}"] if name != name_of_new else []
        told += _one_sided("old", before, after) + _one_sided("new", after, before)
        told += [f"  {key}\n{text}" for key in both if (text := difference(before[key], after[key]))]
        refused = "DeviceError"  # as OpenCL refuses a call: an answer like another
        self.errors += [f"{name}: {before[key]}" for key in both if key.endswith("error") and not before[key].startswith(refused)]
        self.cases, self.values, self.differing = self.cases + 1, self.values + len(both), self.differing + bool(told)
        if told:
            print(f"\n{name}", *told, sep="\n", flush=True)

    def __str__(self) -> str:
        failed = [f"{len(self.errors)} errors in both versions:", *self.errors] if self.errors else []
        seconds = time.monotonic() - self.began
        whole = f"{self.cases} cases ({self.values} values) in {seconds:.0f} s, {self.differing} differ"
        return "\n".join([*failed, whole])


def _one_sided(side: str, record: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What one version alone came to: its errors, and how much more."""
    alone = [key for key in record if key not in other]
    errors = [f"  {key}, {side} alone: {record[key]}" for key in alone if key.endswith("error")]
    return [*errors, f"  {len(alone)} values of the {side} version alone, from {alone[0]} on"] if alone else []


def difference(old: Any, new: Any) -> str:
    """What differs, as indented lines; "" if nothing."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray) and (old.dtype, old.shape) == (new.dtype, new.shape):
        return "" if old.tobytes() == new.tobytes() else _array_difference(old.reshape(-1), new.reshape(-1))
    if isinstance(old, str) and isinstance(new, str):
        if old == new:
            return ""
        lines, others = old.splitlines(), new.splitlines()
        gone, come = ([line for line in a if line not in b] for a, b in ((lines, others), (others, lines)))
        order = [] if gone or come else ["    the same lines in another order or number"]
        return "\n".join([*(f"    - {line}" for line in gone), *(f"    + {line}" for line in come), *order])
    return f"    - {_short(old)}\n    + {_short(new)}"


def _array_difference(old: np.ndarray, new: np.ndarray) -> str:
    size = old.dtype.itemsize
    bits = [array.view(np.uint8).reshape(-1, size) for array in (old, new)]
    wrong = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    lines = [f"    element {at}: {old[at]!r} became {new[at]!r}" for at in wrong[:SHOWN]]
    return "\n".join([f"    {len(wrong)} of {len(old)} elements differ", *lines])


def _short(value: Any) -> str:
    return f"array of {value.size} {value.dtype}" if isinstance(value, np.ndarray) else repr(value)


if __name__ == "__main__":
    sys.exit(main())
