"""How launches grow with threads, on a machine that has them: python ci/bench/threads.py [--threads 1 2 4 ...] [--json FILE]

One process for each number of threads; all take turns, so that a busy machine is busy for each. A ratio is the time of one
thread divided by that of N, of the median launch; `copy` is memory moved by N threads of NumPy, which bounds what streams.

--work N makes the launches N times as large, for machines of 64 and more processors. --node runs all on the processors of one
NUMA node, to compare with a run on all.
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
GROWS = {"conv3x3_texture": "K", "conv3x3_local": "K", "depthwise_texture": "C", "matmul_registers": "M", "layer_norm": "M",
         "softmax_rows": "M"}  # fmt: skip
"""The extent that --work multiplies."""
NODES = Path("/sys/devices/system/node")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", metavar="N", help="default: 1, 2, 4, ... 128, as the machine has")
    parser.add_argument("--checks", default="bounds", choices=("bounds", "full"))
    parser.add_argument("--work", type=int, default=1, metavar="N", help="launches of N times the work")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"of three launches each (default: {ROUNDS})")
    parser.add_argument("--node", type=int, metavar="N", help="run on the processors of this NUMA node alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was measured")
    parser.add_argument("--from", dest="known", type=Path, nargs="+", metavar="FILE", help="show what --json kept")
    options = parser.parse_args()
    if options.known:
        print("\n\n".join(_table(json.loads(path.read_text())) for path in options.known))
        return
    if options.node is not None:
        os.sched_setaffinity(0, _processors(NODES / f"node{options.node}" / "cpulist"))
    most = len(os.sched_getaffinity(0))
    threads = options.threads or [1 << power for power in range(8) if 1 << power <= most]
    seconds = {}
    for name, constants in CASES.items():
        larger = {**constants, GROWS[name]: constants[GROWS[name]] * options.work}
        seconds[name] = _measure(name, larger, threads, options.checks, options.rounds)
    seconds["copy"] = {count: statistics.median(_copy(count) for _ in range(5)) for count in threads}
    nodes = len(list(NODES.glob("node[0-9]*"))) or 1
    found = {
        "checks": options.checks, "processors": most, "nodes": 1 if options.node is not None else nodes, "work": options.work,
        "seconds": seconds,
    }  # fmt: skip
    text = json.dumps(found, indent=1) + "\n"
    print(_table(json.loads(text)))
    if options.json:
        options.json.write_text(text)


def _table(found: dict[str, Any]) -> str:
    threads = list(found["seconds"]["copy"])
    lines = [
        f"Checks: {found['checks']}; {found['processors']} processors, NUMA nodes: {found['nodes']}; work: {found['work']}x.",
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


def _processors(file: Path) -> set[int]:
    """The processors that a list of Linux names, such as 0-15,32-47."""
    ends = [part.split("-") for part in file.read_text().strip().split(",")]
    return {processor for pair in ends for processor in range(int(pair[0]), int(pair[-1]) + 1)}


def _measure(name: str, constants: dict[str, int], threads: list[int], checks: str, rounds: int) -> dict[int, float]:
    """Median seconds of a launch, by threads. The processes begin at once, and then take turns."""
    case = make_case(name, "float", "scaling", constants)
    times: dict[int, list[float]] = {count: [] for count in threads}
    children: dict[int, Child] = {}
    try:
        for count in threads:
            children[count] = Child(KERNELS, device_of(checks, count), count)
        with ThreadPoolExecutor(len(children)) as pool:
            list(pool.map(lambda child: child.call("load", case), children.values()))
        for _ in range(rounds):
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
