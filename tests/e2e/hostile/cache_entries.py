"""Damaged entries of the cache on disk, each under a run whose exit code and text are known."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from .case import Case
from .mutate import damage_bytes

ROOT = Path(__file__).resolve().parents[3]
SOURCES = {
    "k.cl": b"kernel void k(global float *a) { a[get_global_id(0)] += 1; }\n",
    "other.cl": b"kernel void k(global float *a) { a[get_global_id(0) + 1] += 2; }\n",
}
LAUNCH = (
    b'global_size = [4]\n[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 4\ndata = "zeros"\n'
    b'[[output]]\nargument = 0\ndata = "ones"\n'
)
ARGS = tuple(("kernel", name, "--launch", "launch.toml", "--checks", checks) for name in SOURCES for checks in ("bounds", "full"))


def damaged_caches(dice: random.Random, count: int) -> list[Case]:
    """Caches with one to three entries damaged, cut short, emptied, or holding what another entry holds."""
    given = {**SOURCES, "launch.toml": LAUNCH}
    expected, entries = _fill(given)
    names = sorted(entries)
    cases = []
    for _ in range(count):
        cache = dict(entries)
        for name in dice.sample(names, dice.choice((1, 1, 2, 3))):
            same = [other for other in names if os.path.dirname(other) == os.path.dirname(name) and other != name]
            other = dice.choice(same if same and dice.random() < 0.7 else names)
            cache[name] = dice.choice((damage_bytes(cache[name], dice), b"", entries[other], cache[name][: dice.randrange(80)]))
        args = dice.choice(ARGS)
        cases.append(Case("", args, {**given, **cache}, expected[args]))
    return cases


def _fill(given: dict[str, bytes]) -> tuple[dict[tuple[str, ...], tuple[int, str]], dict[str, bytes]]:
    """What each run gives and prints, and the cache after all of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in given.items():
            Path(folder, name).write_bytes(data)
        environment = {**os.environ, "ADRENO_SIM_CACHE_DIR": f"{folder}/cache", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        environment.pop("ADRENO_SIM_CACHE", None)
        expected = {}
        for args in ARGS:
            command = [sys.executable, "-m", "adreno_sim", *args]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            expected[args] = (done.returncode, done.stdout)
        cache = Path(folder, "cache")
        return expected, {
            f"cache/{path.relative_to(cache)}": path.read_bytes() for path in sorted(cache.rglob("*")) if path.is_file()
        }
