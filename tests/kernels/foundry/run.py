"""Kernels with one planted defect each, and their clean twins, on the simulator: what it misses, and what it tells wrongly.

bash ci/foundry.sh --count 30000 --seed 7              30,000 pairs, in as many processes as there are processors
bash ci/foundry.sh --scheduler tcp://HOST:8786         on the workers of a Dask scheduler
bash ci/foundry.sh --cell "unset element/local/full"   one cell of the table alone
bash ci/foundry.sh --case 7/1234 --shrink              one case again, with its kernels, cut down to what still fails
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from adreno_sim.base.errors import AdrenoSimError  # noqa: E402
from adreno_sim.base.json_io import write_json  # noqa: E402
from foundry.campaign import Report, run_batches  # noqa: E402
from foundry.cases import ALL_CELLS  # noqa: E402
from foundry.repeat import repeat  # noqa: E402
from foundry.spread import on_cluster, on_this_machine, split  # noqa: E402
from foundry.table import as_json, describe, from_json, totals, write_page  # noqa: E402

MOST_SHOWN = 40
"""Failures that are printed; a file of --json has all."""


def main() -> int:
    options = _parse()
    try:
        if options.case:
            return repeat(options.case, options.shrink)
        report = _read(options.table) if options.table else _run(options)
        if options.page:
            write_page(options.page, report)
    except AdrenoSimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for failure in report.failures[:MOST_SHOWN]:
        print(f"\n{failure}")
    print(describe(report))
    wrong = report.missed.total() + report.false.total() + report.others.total()
    return 1 if wrong or report.failures else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/foundry.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=_count, default=2 * len(ALL_CELLS), help="pairs of kernels (default: two for each cell)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other kernels (default 1)")
    parser.add_argument("--start", type=int, default=0, help="number of the first pair (default 0)")
    parser.add_argument("--cell", type=_cell, default=None, metavar="KIND/SPACE/LEVEL", help="pairs of one cell of the table")
    parser.add_argument("--jobs", type=_count, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    parser.add_argument("--scheduler", default="", metavar="ADDRESS", help="run on the workers of this Dask scheduler")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many seconds, with what is done")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write counts and failures")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE", help="run nothing: add up files of --json")
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the table into this page (docs/judging.md)")
    parser.add_argument("--case", default="", metavar="SEED/NUMBER", help="one case again, with its kernels")
    parser.add_argument("--shrink", action="store_true", help="with --case: cut a failing launch down")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of 1 or more")
    return int(text)


def _cell(text: str) -> int:
    names = ["/".join((cell.kind, cell.space, cell.level)) for cell in ALL_CELLS]
    if text not in names:
        raise argparse.ArgumentTypeError(f"{text!r}: expected one of {', '.join(names)}")
    return names.index(text)


def _run(options: argparse.Namespace) -> Report:
    began, report = time.monotonic(), Report()
    command = {"seed": options.seed, "start": options.start, "count": options.count}
    if options.cell is None:
        parts = split(options.start, options.count, options.jobs)
    else:
        parts = split(options.start + options.cell, options.count * len(ALL_CELLS), options.jobs, len(ALL_CELLS))
    for part in _reports(options, parts):
        report.add(part)
        if sys.stderr.isatty():
            print(f"\r{totals(report)}", end="", file=sys.stderr, flush=True)
        if options.json:
            write_json(options.json, as_json(report, command))
        if time.monotonic() - began > options.seconds:
            break
    return report


def _reports(options: argparse.Namespace, parts: list[range]) -> Iterator[Report]:
    if options.scheduler:
        return on_cluster(options.seed, parts, options.scheduler)
    if options.jobs == 1:
        return _here(options.seed, parts)
    return on_this_machine(options.seed, parts, options.jobs)


def _here(seed: int, parts: list[range]) -> Iterator[Report]:
    for part in parts:
        for number in part:
            yield run_batches(seed, range(number, number + 1))


def _read(files: list[Path]) -> Report:
    report = Report()
    for file in files:
        try:
            report.add(from_json(json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError) as error:
            raise AdrenoSimError(f"{file}: expected a file of --json: {error}") from error
    return report


if __name__ == "__main__":
    sys.exit(main())
