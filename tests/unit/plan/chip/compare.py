"""Random programs under every planner, on the simulated device: against NumPy, and against who wrote which byte last.

python -m tests.unit.plan.chip.compare --count 2000 [--seed FIRST] [--jobs N] [--seconds N]     # from the top of the repository
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np

from adreno_sim import open_device
from adreno_sim.compiler.plan.apply import replan
from adreno_sim.compiler.plan.audit import audit
from adreno_sim.compiler.plan.graph_tensors import with_graph_tensors
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run.observer import LaunchCall, Observer
from adreno_sim.compiler.run.vm import VirtualMachine

from .ownership import Watched
from .programs import evaluate, make

PLANNERS = ("", "naive", "tvm-fixed", "unified", "tflite", "arena", "arena-reordered", "arena-onchip")
"""Those that differ in kind; "": as TVM's runtime places subgraphs."""

CHIPS = (640, 3008, 8192, 20000, 3 << 20)


class _Watching(Observer):
    def __init__(self):
        self.found: list[str] = []

    def storage_reused(self, tensor: str, live: list[str], where: str) -> None:
        self.found.append(f"{tensor} over {live} ({where})")

    def after_launch(self, launch: LaunchCall, result: object) -> None:
        self.found += [finding.message for finding in result.findings]


def find_difference(seed: int) -> str:
    """What is wrong with the program of a seed under some planner, "" if nothing is."""
    program = make(seed)
    x = program.input()
    expected = evaluate(program.model, x)
    device = open_device(f"sim:adreno-740,ONCHIP_GLOBAL_MEM_SIZE={CHIPS[seed % len(CHIPS)]}", checks="full")
    rules = DeviceRules.of_device(device)
    for planner in PLANNERS:
        model = replan(program.model, planner, rules) if planner else with_graph_tensors(program.model, rules.ml)
        watched, watching = Watched(model), _Watching()
        with VirtualMachine(model, device, watching) as machine:
            got = machine.run([x])
        name = f"seed {seed}, planner {planner or 'as compiled'}"
        told = [*watched.wrong, *watching.found, *(f.message for f in device.take_warnings() if "on-chip" in f.message)]
        if model.plan is not None:
            told += [f.message for f in audit(model.plan, rules, planner).findings]
        if told:
            return f"{name}: {told[0]}"
        if watched.chip > rules.on_chip:
            return f"{name}: {watched.chip} bytes on a chip of {rules.on_chip}"
        for one, other in zip(got, expected, strict=True):
            if not np.array_equal(one, other):
                return f"{name}: a wrong result"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    begun, done, wrong = time.monotonic(), 0, []
    with ProcessPoolExecutor(args.jobs) as pool:
        for first in range(args.seed, args.seed + args.count, 8 * args.jobs):
            if time.monotonic() - begun > args.seconds:
                break
            seeds = range(first, min(first + 8 * args.jobs, args.seed + args.count))
            found = list(pool.map(find_difference, seeds))
            done += len(found)
            wrong += [text for text in found if text]
    for text in wrong[:20]:
        print(text)
    print(f"{done} programs under {len(PLANNERS)} planners: {len(wrong)} wrong; seeds {args.seed} to {args.seed + done - 1}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
