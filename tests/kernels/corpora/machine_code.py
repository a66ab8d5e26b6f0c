"""Other people's OpenCL kernels in machine code for three chips, and the estimate of registers against it.

python tests/kernels/corpora/machine_code.py FOLDER [--only PART] [--jobs N] [--seconds N] [--draw SEED]

FOLDER gets the archives that are not there, and machine-code.jsonl, a line for each kernel, as soon as its source is compiled;
what is printed is made of it. A run that was stopped goes on where it was, unless the code of the simulator changed. With --draw
a run of any length has looked at sources that a seed chose. Needs the extra isa.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[2])]

from corpora.archives import ArchiveError  # noqa: E402
from corpora.campaign import gather  # noqa: E402
from corpora.source import Source  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.code_digest import code_digest  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError  # noqa: E402
from adreno_sim.base.output_file import write_text  # noqa: E402
from adreno_sim.isa.chips import Chip, find_chip  # noqa: E402
from adreno_sim.isa.compile import compile_kernel  # noqa: E402
from adreno_sim.isa.register_use import estimate_registers  # noqa: E402

DEVICE = "sim:adreno-830"
"""Whose compiler reads the sources: it has every extension that they use."""

CHIPS = ("a630", "a650", "a740")


def name_work(source: Source) -> dict[str, str]:
    """What the lines of a source are made of: its text and options, and the code of the simulator."""
    digests = (f"{source.text}\0{source.options}", code_digest("machine") + code_digest("programs"))
    of, code = (hashlib.sha256(one.encode()).hexdigest()[:16] for one in digests)
    return {"source": source.name, "of": of, "code": code}


def read_lines(path: Path, code: str) -> list[dict[str, Any]]:
    """What earlier runs wrote with the same code; a last line that is not whole is left out."""
    texts = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return [line for line in map(json.loads, texts) if line.get("code") == code]


def compile_source(source: Source, last: float) -> list[dict[str, Any]]:
    """A line for each kernel of a source; none for what is not begun when the clock says `last`."""
    lines: list[dict[str, Any]] = []
    if time.time() > last:
        return lines
    try:
        program = adreno_sim.open_device(DEVICE).build(source.text, source.options)
    except AdrenoSimError as error:
        return [{**name_work(source), "not built": str(error).splitlines()[0][:200]}]
    for name, function in program.module.kernels.items():
        start, line = time.perf_counter(), {**name_work(source), "kernel": name}
        try:
            for chip in map(find_chip, CHIPS):
                (code,) = compile_kernel(function, [chip], free=True)
                taken = sorted((code.rolled.registers, code.unrolled.registers))
                line[chip.name] = {"ir3": taken, "estimate": estimate_registers(function, chip)}
        except AdrenoSimError as error:
            line["refused"] = str(error)[:300]
        except Exception as error:
            line["internal"] = f"{type(error).__name__}: {error}"[:300]
        lines.append({**line, "seconds": round((time.perf_counter() - start) / len(CHIPS), 3)})
    return lines


def describe(lines: Sequence[dict[str, Any]]) -> str:
    """How many kernels compile, why others do not, and how far the estimate is off."""
    kernels = [line for line in lines if "kernel" in line]
    right = [line for line in kernels if not {"refused", "internal"} & line.keys()]
    reasons = Counter(line.get("refused") or line.get("internal") or "" for line in kernels)
    del reasons[""]
    seconds = median([line["seconds"] for line in right] or [0])
    return "\n".join(
        [
            f"{len(right)} of {len(kernels)} kernels compile for {', '.join(CHIPS)} ({len(right) / max(1, len(kernels)):.1%}); a "
            f"kernel and chip takes {seconds:.3f} s in the median, with loops left and unrolled",
            f"{sum('not built' in line for line in lines)} sources are not built",
            *(f"  {count} x {reason[:150]}" for reason, count in reasons.most_common(20)),
            *(_judge_estimate(chip, [line[chip.name] for line in right]) for chip in map(find_chip, CHIPS)),
        ]
    )


def _judge_estimate(chip: Chip, found: Sequence[dict[str, Any]]) -> str:
    errors, inside, near = [], 0, 0
    step = chip.granularity * chip.wave
    for line in found:
        (fewest, most), (least, largest) = line["ir3"], line["estimate"]
        errors.append(abs(fewest / (least * largest) ** 0.5 - 1))
        inside += least <= most and fewest <= largest
        above = chip.group_limit(largest) - step <= chip.group_limit(fewest)
        near += above and chip.group_limit(most) <= chip.group_limit(least) + step
    share = max(1, len(found)) / 100
    return (
        f"{chip.name}: the estimate is off by {median(errors or [0]):.0%} in the median; its range holds ir3's registers for "
        f"{inside / share:.1f}%, and but for one step of waves the limit for {near / share:.1f}% of kernels"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps the archives; gets machine-code.jsonl")
    parser.add_argument("--only", default="", metavar="PART", help="sources whose names hold this")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default one per processor)")
    parser.add_argument("--seconds", type=float, default=3600, help="begins no source after so long (default an hour)")
    parser.add_argument(
        "--draw", type=int, metavar="SEED", help="sources in an order that the seed decides (default: the longest first)"
    )
    options = parser.parse_args()
    last = time.time() + options.seconds
    try:
        sources = gather(options.folder.resolve(), options.only)
    except ArchiveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sources.sort(key=lambda source: -len(source.text))  # the longest first, so that none is left alone at the end
    if options.draw is not None:
        random.Random(options.draw).shuffle(sources)
    path, works = options.folder / "machine-code.jsonl", [name_work(source) for source in sources]
    lines = read_lines(path, works[0]["code"]) if works else []
    write_text(path, "".join(json.dumps(line) + "\n" for line in lines))
    known, asked = {line["of"] for line in lines}, {work["of"] for work in works}
    lines = [line for line in lines if line["of"] in asked]
    with ProcessPoolExecutor(options.jobs) as pool, path.open("a", encoding="utf-8") as file:
        pairs = zip(sources, works, strict=True)
        tasks = [pool.submit(compile_source, source, last) for source, work in pairs if work["of"] not in known]
        for task in as_completed(tasks):
            lines += task.result()
            file.writelines(json.dumps(line) + "\n" for line in task.result())
            file.flush()
    print(describe(lines))
    return 1 if any("internal" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
