"""Models of degenerate sizes through TVM's pipeline with the fixes, each against float64.

bash ci/degenerate.sh --count 5000 --jobs 16 --seconds 540 --out FOLDER    in 16 processes; goes on where FOLDER ended
bash ci/degenerate.sh --case 2/1234                                        one case again, with its graph
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[2])]

import onnx  # noqa: E402

import adreno_sim  # noqa: E402
from degenerate.cases import draw  # noqa: E402
from degenerate.judge import FAILURES, judge  # noqa: E402
from degenerate.spread import note, read_lines, run_spread  # noqa: E402


def main() -> int:
    options = _parse()
    numbers = range(options.start, options.start + options.count)
    if options.case:
        return _repeat(*options.case)
    if options.state:
        _run(options.seed, numbers, options.state)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        lines = run_spread(Path(__file__), options.seed, numbers, options.jobs, out, options.seconds)
    return _report(lines)


def _run(seed: int, numbers: range, state: Path) -> None:
    """The cases that a file does not have yet, a line of it for each."""
    warnings.simplefilter("ignore")  # TVM's importer, of what ONNX leaves out
    device = adreno_sim.open_device("sim:adreno-740")
    for number in numbers[len(read_lines(state)) :]:
        found = judge(draw(seed, number), device)
        note(state, seed, number, found.kind, str(found))


def _repeat(seed: int, number: int) -> int:
    case = draw(seed, number)
    found = judge(case, adreno_sim.open_device("sim:adreno-740"))
    print(onnx.printer.to_text(case.model), found, sep="\n")
    return int(found.is_failure)


def _report(lines: list[dict[str, object]]) -> int:
    """Print what is not right, refusals alike once; the exit code."""
    counts = Counter(str(line["kind"]) for line in lines)
    alike: Counter[str] = Counter()
    for line in lines:
        said = str(line["said"])
        if line["kind"] == "refused":
            reason = re.sub(r"0x[0-9a-f]+|\d+", "N", said.partition("unsupported: ")[2])
            alike[reason] += 1
            if alike[reason] > 1:
                continue
        if line["kind"] not in ("right", "not judged"):
            print(said if "/" in said else f"{line['kind']}: {line['seed']}/{line['number']} {said}")
    print(*(f"{count} times: {reason}" for reason, count in alike.most_common()), sep="\n")
    print(f"{counts.total()} cases: " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return int(any(counts[kind] for kind in FAILURES))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/degenerate.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="cases (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other cases (default 1)")
    parser.add_argument("--start", type=int, default=0, help="number of the first case (default 0)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many seconds, with what is done")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="a line for each case; those that it has are not run again")
    parser.add_argument("--state", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--case", type=_case, metavar="SEED/NUMBER", help="one case again")
    return parser.parse_args()


def _case(text: str) -> tuple[int, int]:
    seed, _, number = text.partition("/")
    return int(seed), int(number)


if __name__ == "__main__":
    sys.exit(main())
