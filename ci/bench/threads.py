"""How launches grow with threads, on a machine that has them: python ci/bench/threads.py [--threads 1 2 4 ...] [--json FILE]

One process for each number of threads; all take turns, so that a busy machine is busy for each. A ratio is the time of one
thread divided by that of N, of the median launch; `copy` is memory moved by N threads of NumPy, which bounds what streams.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from cases import make_case
from children import KERNELS, Child, device_of

ROUNDS = 9
CASES = {
    "conv3x3_texture": {"C": 32, "K": 256, "H": 56, "W": 56},
    "conv3x3_local": {"C": 32, "K": 256, "H": 64, "W": 64},
    "depthwise_texture": {"C": 512, "H": 112, "W": 112},
    "matmul_registers": {"M": 1024, "N": 1024, "K": 256},
    "layer_norm": {"M": 8192, "N": 768},
    "softmax_rows": {"M": 4096, "N": 1000},
}
"""Large enough that 16 threads have work for a millisecond and more."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    most = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, nargs="+", default=[n for n in (1, 2, 4, 8, 16, 32, 64) if n <= most])
    parser.add_argument("--checks", default="bounds", choices=("bounds", "full"))
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was measured")
    parser.add_argument("--from", dest="known", type=Path, nargs="+", metavar="FILE", help="show what --json kept")
    options = parser.parse_args()
    if options.known:
        print("\n\n".join(_table(json.loads(path.read_text())) for path in options.known))
        return
    seconds = {name: _measure(name, constants, options.threads, options.checks) for name, constants in CASES.items()}
    seconds["copy"] = {count: statistics.median(_copy(count) for _ in range(5)) for count in options.threads}
    found = {"checks": options.checks, "processors": most, "seconds": seconds}
    text = json.dumps(found, indent=1) + "\n"
    print(_table(json.loads(text)))
    if options.json:
        options.json.write_text(text)


def _table(found: dict[str, Any]) -> str:
    threads = list(found["seconds"]["copy"])
    lines = [
        f"Checks: {found['checks']}; {found['processors']} processors.",
        "",
        f"| kernel | ms, {threads[0]} thread | " + " | ".join(f"{count} threads" for count in threads[1:]) + " |",
        "|---" * (len(threads) + 1) + "|",
    ]
    for name, times in found["seconds"].items():
        first = times[threads[0]]
        lines.append(
            f"| {name} | {1e3 * first:.2f} | " + " | ".join(f"{first / times[count]:.2f}" for count in threads[1:]) + " |"
        )
    return "\n".join(lines)


def _measure(name: str, constants: dict[str, int], threads: list[int], checks: str) -> dict[int, float]:
    """Median seconds of a launch, by threads."""
    case = make_case(name, "float", "scaling", constants)
    times: dict[int, list[float]] = {count: [] for count in threads}
    children: dict[int, Child] = {}
    try:
        for count in threads:
            children[count] = Child(KERNELS, device_of(checks, count), count)
            children[count].call("load", case)
        for _ in range(ROUNDS):
            for count, child in children.items():
                times[count] += child.call("run", 3)
    finally:
        for child in children.values():
            child.close()
    return {count: statistics.median(found) for count, found in times.items()}


def _copy(threads: int) -> float:
    source = np.ones(1 << 26, np.float32)
    target = np.zeros_like(source)
    ends = [len(source) * part // threads for part in range(threads + 1)]
    parts = [slice(*pair) for pair in itertools.pairwise(ends)]
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))
        return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
