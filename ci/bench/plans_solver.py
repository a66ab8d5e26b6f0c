"""The arena planner against OR-tools' CP-SAT on hard instances, in three steps, since the second takes long:

    python ci/bench/plans_solver.py instances hard.json --count 50
    python ci/bench/plans_solver.py solve hard.json solved.jsonl --seconds 60 --workers 2 --jobs 8
    python ci/bench/plans_solver.py compare hard.json solved.jsonl

The second starts from a greedy plan, not from the arena's; it may run on another machine, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from plans import COUNTS

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.plan.planners import plan
from adreno_sim.compiler.plan.problem import Problem, from_lifetimes


def instances(file: Path, count: int) -> None:
    """Write `count` hard instances: name, best greedy over the bound, unit, rows of (id, start, end, bytes)."""
    from plan_instances import greedy_ratio, hard

    made = [hard(COUNTS[number % len(COUNTS)], number) for number in range(count)]
    data = [
        {"name": p.name, "greedy": greedy_ratio(p), "unit": p.unit, "rows": [(i.id, i.start, i.end, i.size) for i in p.items]}
        for p in made
    ]
    file.write_text(json.dumps(data))
    print(f"{file}: {count} instances of {min(len(p.items) for p in made)} to {max(len(p.items) for p in made)} tensors")


def read(file: Path) -> list[tuple[dict[str, Any], Problem]]:
    return [(d, from_lifetimes([tuple(row) for row in d["rows"]], d["name"], d["unit"])) for d in json.loads(file.read_text())]


def solve(file: Path, results: Path, seconds: float, workers: int, jobs: int) -> None:
    """Append a line for each instance that `results` does not have yet."""
    done = {line["name"] for line in _lines(results)}
    left = [problem for _, problem in read(file) if problem.name not in done]
    with ProcessPoolExecutor(jobs) as pool, results.open("a") as out:
        for future in as_completed([pool.submit(_solve, problem, seconds, workers) for problem in left]):
            line = future.result()
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(line, flush=True)


def _solve(problem: Problem, seconds: float, workers: int) -> dict[str, Any]:
    start = time.perf_counter()
    best = plan("optimal", problem, seconds=seconds, workers=workers, alone=True)
    took = time.perf_counter() - start
    lower = problem.lower_bound(problem.unit)
    return {"name": problem.name, "total": best.total, "bound": best.bound, "lower": lower, "seconds": round(took, 2)}


def _lines(results: Path) -> Iterable[dict[str, Any]]:
    return map(json.loads, results.read_text().splitlines()) if results.exists() else ()


def compare(file: Path, results: Path) -> None:
    """A line for each instance: greedy, arena, CP-SAT and its proof over the lower bound; then the worst and the median."""
    solved = {line["name"]: line for line in _lines(results)}
    plan("arena", from_lifetimes([("a", 0, 2, 3), ("b", 1, 3, 2)]))  # compile before anything is timed
    heads = ["instance", "tensors", "greedy", "arena", "seconds", "cp-sat", "proved", "arena/cp-sat"]
    print("{:>18} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7} {:>13}".format(*heads))
    ratios, times = [], []
    for data, problem in read(file):
        start = time.process_time()
        made = plan("arena", problem)
        times.append(time.process_time() - start)
        line = solved.get(problem.name)
        if line is None or made.violations():
            sys.exit(f"{problem.name}: {made.violations() or 'not solved'}")
        lower = line["lower"]
        ratios.append(made.total / line["total"])
        columns = f"{data['greedy']:7.3f} {made.total / lower:7.4f} {times[-1]:8.2f} {line['total'] / lower:7.4f}"
        print(f"{problem.name:>18} {len(problem.items):8} {columns} {line['bound'] / lower:7.4f} {ratios[-1]:13.4f}", flush=True)
    for what, values in (("arena/cp-sat", ratios), ("seconds of processor time", times)):
        print(f"{what}: median {statistics.median(values):.4f}, most {max(values):.4f}, least {min(values):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("instances", "solve", "compare"):
        step = steps.add_parser(name)
        step.add_argument("file", type=Path)
        if name == "instances":
            step.add_argument("--count", type=int, default=50)
        else:
            step.add_argument("results", type=Path)
        if name == "solve":
            step.add_argument("--seconds", type=float, default=60.0)
            step.add_argument("--workers", type=int, default=2)
            step.add_argument("--jobs", type=int, default=1, help="instances at one time")
    options = vars(parser.parse_args())
    globals()[options.pop("step")](**options)


if __name__ == "__main__":
    try:
        main()
    except AdrenoSimError as error:
        sys.exit(f"plans_solver: {error}")
