"""Random kernels on the simulator and on PoCL, Intel's CPU OpenCL or NVIDIA's, in as many processes as there are processors.

python tests/kernels/fuzz/run.py --count 20000 --seed 7
python tests/kernels/fuzz/run.py --seed 7 --start 1234 --count 1      one kernel again
python tests/kernels/fuzz/run.py --judge nvidia --count 20000         on a machine with such a card
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from fuzz.campaign import Report, batches, run_batch  # noqa: E402
from fuzz.coverage import coverage_text  # noqa: E402
from fuzz.generate import OPERATIONS  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="kernels (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other kernels (default 1)")
    parser.add_argument("--start", type=int, default=0, help="number of the first kernel (default 0)")
    parser.add_argument("--operations", type=int, default=OPERATIONS, help=f"size of a kernel at most (default {OPERATIONS})")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    parser.add_argument("--judge", default="", help="only kernels for this oracle: pocl, intel, nvidia (default: pocl and intel)")
    parser.add_argument("--no-shrink", action="store_true", help="print failing kernels as they are")
    options = parser.parse_args()
    began = time.monotonic()
    report = _run(options)
    print(coverage_text(report.used))
    for failure in report.failures:
        print("\n" + failure)
    judged = ", ".join(f"{count} by {name}" for name, count in sorted(report.judged_by.items()))
    judged += f", {report.left_out} not judged" if report.left_out else ""
    seconds = time.monotonic() - began
    print(f"seed {options.seed}: {report.kernels} kernels ({judged}) in {seconds:.0f} s, {len(report.failures)} failures")
    return 1 if report.failures else 0


def _run(options: argparse.Namespace) -> Report:
    """Every batch in a pool; where a process dies, the batches under way are tried again kernel by kernel."""
    report = Report()
    todo = list(batches(options.start, options.count))
    lost = _pooled(todo, options, report)
    for numbers in lost:
        for number in numbers:
            if _pooled([range(number, number + 1)], options, report):
                report.failures.append(f"kernel {options.seed}/{number}: the process died")
    return report


def _pooled(todo: list[range], options: argparse.Namespace, report: Report) -> list[range]:
    """Run batches; those whose process died."""
    lost = []
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        under_way: dict[Future[Report], range] = {
            pool.submit(run_batch, options.seed, numbers, options.operations, not options.no_shrink, options.judge): numbers
            for numbers in todo
        }
        for done in as_completed(under_way):
            try:
                report.add(done.result())
            except BrokenProcessPool:
                lost.append(under_way[done])
            else:
                _progress(report, options.count)
    return lost


def _progress(report: Report, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{report.kernels} of {count}, {len(report.failures)} failures", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
