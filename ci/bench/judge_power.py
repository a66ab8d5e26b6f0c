"""What the judge of kernels finds and what it misses: python ci/bench/judge_power.py [--quick] [--only TEXT] [--json]

Hand-written OpenCL kernels (convolutions, matmul, GEMV, softmax, norms, pools, sums; 9 to 16,384 terms; half and float; sums one
after another, in parts, as trees; inputs of both signs or of one) run on the simulated device and are judged against their
PrimFuncs as `adreno-sim check` does: right, and with one seeded defect. docs/judging.md has the model and the figures.

Exit code: 0 no false alarm and 99% of the detectable defects found, 1 not so, 2 usage or bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from power.campaign import choose_problems, run_campaign
from power.inputs import ALTERNATING, RANGES, SIGNS
from power.tally import lines_of, tally_runs

from adreno_sim import AdrenoSimError

REPEATS = 3
"""Runs of each kernel with inputs of either sign."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one size of each kernel, once: a look, not a result")
    parser.add_argument("--only", default="", metavar="TEXT", help="only kernels whose name holds this (gemv_q4_64_half_tree)")
    parser.add_argument("--seed", type=int, default=0, help="of inputs and defects (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=None, help=f"runs of a kernel with inputs of either sign ({REPEATS})")
    parser.add_argument(
        "--alternating",
        action="store_true",
        help="inputs whose signs take turns instead: sums in parts round more than their PrimFuncs",
    )
    parser.add_argument(
        "--ranges", action="store_true", help="inputs over the whole range of their type, and masked ones, instead"
    )
    parser.add_argument(
        "--driver",
        action="store_true",
        help="defects that a real device alone has, in kernels that only add and multiply: whole numbers find them",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    problems = choose_problems(options.quick, options.only)
    if not problems:
        parser.error(f"no kernel's name holds {options.only!r}")
    repeats = (1 if options.quick else REPEATS) if options.repeats is None else options.repeats
    if repeats < 1:
        parser.error(f"--repeats {repeats}: expected 1 or more")
    if options.alternating and options.ranges:
        parser.error("--alternating and --ranges: expected one of them")
    signs = (ALTERNATING,) if options.alternating else RANGES if options.ranges else SIGNS
    start = time.perf_counter()
    runs = run_campaign(problems, repeats, options.seed, _say, signs, options.driver)
    tally = tally_runs(runs, "whole numbers" if options.driver else "the twin")
    took = time.perf_counter() - start
    if options.json:
        print(json.dumps({"schema": "adreno-sim/judge-power/1", "seed": options.seed, "seconds": took, **tally.to_json()}))
    else:
        print("\n".join([*lines_of(tally), "", f"{len(problems)} kernels, seed {options.seed}, {took:.0f} s."]))
    return 0 if tally.is_as_required else 1


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AdrenoSimError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
