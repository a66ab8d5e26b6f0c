"""Hostile programs and files against the command line, in as many processes as there are processors.

python tests/e2e/hostile/run.py                              the whole campaign of the tests
python tests/e2e/hostile/run.py --seed 7 --kind cache        other cases, of one kind
python tests/e2e/hostile/run.py --keep folder                and the files of each failure, to run them by hand
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from hostile.campaign import describe, make_cases, run_cases, write_case  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="another seed, other cases (default 1)")
    parser.add_argument("--kind", default="", help="cases whose names begin so")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    parser.add_argument("--keep", type=Path, help="folder for the files of failing cases")
    options = parser.parse_args()
    began = time.monotonic()
    report = run_cases(make_cases(options.seed, options.kind), options.jobs)
    for case, outcome, found in report.failures:
        print(describe(case, outcome, found) + "\n")
        if options.keep:
            write_case(case, options.keep / case.name.replace(" ", "-").replace("/", "-"))
    print(f"seed {options.seed}: {report.summary()}; {time.monotonic() - began:.0f} s")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
