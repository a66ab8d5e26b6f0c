"""Memory planners: python ci/bench/plans.py [--sizes N ...] [--mean M] [--hard COUNT] [--seconds S] [TRACE.csv ...]

Time of the arena planner over the number of tensors; how near it comes to OR-tools' CP-SAT on hard instances (S seconds, two
workers; left out, with a word, where ortools is missing); and every planner on traces given as files.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from plan_instances import greedy_ratio, hard, many

from adreno_sim import AdrenoSimError
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.compiler.plan import trace
from adreno_sim.compiler.plan.compare import compare
from adreno_sim.compiler.plan.planners import names, places, plan
from adreno_sim.compiler.plan.problem import Problem, from_lifetimes

COUNTS = (120, 180, 260, 400)
"""Tensors of the hard instances, in turn."""

T = TypeVar("T")


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """The result of `call`, and the seconds of processor time it took: other programs do not change them."""
    start = time.process_time()
    return call(), time.process_time() - start


def growth(sizes: list[int], mean: float) -> None:
    """A line for each size: seconds, nanoseconds per n log2 n, ratio to the bound. mean: of the lifetimes, in instants."""
    print(f"{'tensors':>9} {'seconds':>8} {'ns/(n log n)':>13} {'ratio':>7}")
    for size in sizes:
        problem = many(size, 1, mean)
        made, seconds = timed(lambda problem=problem: plan("arena", problem))  # type: ignore[misc]
        cost = seconds * 1e9 / (size * math.log2(size))
        print(f"{size:9} {seconds:8.2f} {cost:13.1f} {made.total / problem.lower_bound(problem.unit):7.4f}", flush=True)


def against_solver(count: int, seconds: float) -> None:
    """A line for each of `count` hard instances: greedy, arena, CP-SAT and its proof, as ratios to the lower bound."""
    columns = ["instance", "tensors", "greedy", "arena", "seconds", "cp-sat", "proved", "arena/cp-sat"]
    print("{:>18} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7} {:>13}".format(*columns))
    for number in range(count):
        problem = hard(COUNTS[number % len(COUNTS)], number)
        bound = problem.lower_bound(problem.unit)
        made, took = timed(lambda problem=problem: plan("arena", problem))  # type: ignore[misc]
        start = f"{problem.name:>18} {len(problem.items):8} {greedy_ratio(problem):7.3f} {made.total / bound:7.4f} {took:8.2f}"
        try:
            best = plan("optimal", problem, seconds=seconds, alone=True)
        except UnsupportedError as error:
            print(f"{start} {error}", flush=True)
            continue
        proved = (best.bound or bound) / bound
        print(f"{start} {best.total / bound:7.4f} {proved:7.4f} {made.total / best.total:13.4f}", flush=True)


def table(problem: Problem) -> None:
    """Every planner on one problem."""
    print(f"{problem.name}: {len(problem.items)} tensors, lower bound {problem.lower_bound()}")
    for row in compare(problem, [name for name in names() if name != "optimal" and not places(name)]):
        print(f"{row.planner:>15} {row.skipped or f'{row.total:14} {row.ratio:8.4f} {row.storages:6} storages'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="MiniMalloc's CSV, or JSON")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="tensors (default: %(default)s)")
    parser.add_argument("--mean", type=float, default=20.0, help="mean lifetime of these tensors (default: %(default)s)")
    parser.add_argument("--hard", type=int, default=4, help="hard instances (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of CP-SAT on each (default: %(default)s)")
    options = parser.parse_args()
    plan("arena", from_lifetimes([("a", 0, 2, 3), ("b", 1, 3, 2)]))  # compile before anything is timed
    growth(options.sizes, options.mean)
    against_solver(options.hard, options.seconds)
    for path in options.traces:
        table(trace.read(path))


if __name__ == "__main__":
    try:
        main()
    except AdrenoSimError as error:
        sys.exit(f"plans: {error}")
