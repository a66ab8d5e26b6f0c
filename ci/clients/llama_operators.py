"""llama.cpp's own tests of its operators, a seeded sample: its OpenCL back end against its CPU back end.

    python llama_operators.py TEST_BACKEND_OPS CASES [--jobs N] [--results FILE]

Exit code 1 where a case disagrees, or does not run, for no known reason. Cases that the program reports as not supported at the
end count as such.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

AT_ONCE = 100
"""Cases in one process at most: the command line names them."""
KNOWN = {
    r"L2_NORM": "kernel_l2_norm_f32 has a data race",
    r"FLASH_ATTN_EXT.*type_[KV]=(f32|q4_0|q8_0)": "flash_attn_f32 has a data race",
    r"RMS_NORM.*v=1": "kernel_rms_norm writes past the end of its local memory",
    r"SIGMOID.*type=bf16": "the back end says that it supports it, and then aborts",
}
"""Cases that disagree by defects of llama.cpp, which docs/defects.md names."""
SETTINGS = {"GGML_NO_BACKTRACE": "1", "OMP_THREAD_LIMIT": "1", "GGML_OPENCL_ADRENO_XMEM_GEMM": "0"}
"""Its CPU back end takes one thread: the processors are the device's. As in llama_tokens.py, without the product
that loads constant memory by sub-group."""
_ENDED = re.compile(r"(\w+\(.*\)): (?:\x1b\[[\d;]*m)?(OK|FAIL|not supported(?: \[\w+\])?)")


def list_cases(program: str) -> list[str]:
    """The cases that the back end says it supports, as the program names them, each once."""
    done = subprocess.run([program, "support", "--output", "csv"], capture_output=True, text=True, check=True)
    rows = csv.DictReader(io.StringIO(done.stdout[done.stdout.index('"backend_name"') :]))
    named = (f"{row['op_name']}({row['op_params']})" for row in rows if row["supported"] == "1" and row["backend_name"] != "CPU")
    return list(dict.fromkeys(named))


def draw_cases(cases: list[str], count: int) -> list[str]:
    """`count` cases of all operators in turn, so that one with thousands of them leaves room for the others; in their order."""
    rng = random.Random(0)
    by_operator: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        by_operator[case.partition("(")[0]].append(case)
    for listed in by_operator.values():
        rng.shuffle(listed)
    drawn: list[str] = []
    while len(drawn) < min(count, len(cases)):
        for listed in by_operator.values():
            if listed and len(drawn) < count:
                drawn.append(listed.pop())
    chosen = set(drawn)
    return [case for case in cases if case in chosen]


def run_cases(program: str, cases: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Cases, in the program's order, with how each ended, as they end. Behind one that aborts the program it goes on."""
    left = list(cases)
    while left:
        words = [program, "test", "-o", ",".join(left)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **SETTINGS}) as process:
            assert process.stdout
            for case, how in (found.groups() for line in process.stdout for found in _ENDED.finditer(line)):
                if case in left:
                    left.remove(case)
                    yield case, how
        if left:
            yield left.pop(0), f"ended the program with status {process.returncode}"


def take_processor(free: multiprocessing.SimpleQueue[int]) -> None:
    """This process, and those that it starts, have a separate processor."""
    os.sched_setaffinity(0, {free.get()})


def run_part(part: tuple[str, Sequence[str], str | None]) -> list[tuple[str, str]]:
    """`run_cases` of a program and its cases. Each end is a line of the file, if any: a run that is stopped loses none."""
    program, cases, file = part
    ended = []
    for result in run_cases(program, cases):
        ended.append(result)
        if file:
            with open(file, "a", encoding="utf-8") as out:
                out.write(json.dumps(result) + "\n")
    return ended


def run_parts(program: str, cases: list[str], jobs: int, file: str | None) -> Iterator[tuple[str, str]]:
    """All cases, by `jobs` processes on a processor each. Neighbours are alike, so that each part gets some of all."""
    parts = max(-(-len(cases) // AT_ONCE), min(4 * jobs, len(cases)) if jobs > 1 else 0)
    work = [(program, cases[number::parts], file) for number in range(parts)]
    if jobs == 1:
        for part in work:
            yield from run_part(part)
        return
    free: multiprocessing.SimpleQueue[int] = multiprocessing.SimpleQueue()
    processors = sorted(os.sched_getaffinity(0))
    for number in range(jobs):
        free.put(processors[number % len(processors)])
    with multiprocessing.Pool(jobs, take_processor, (free,)) as pool:
        for ended in pool.imap_unordered(run_part, work):
            yield from ended


def is_fine(how: str) -> bool:
    """Whether a case agrees, or has no result to compare: either back end may lack the operator."""
    return how == "OK" or how.startswith("not supported")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TEST_BACKEND_OPS")
    parser.add_argument("count", metavar="CASES", type=int)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, each on a processor of its own")
    parser.add_argument("--results", metavar="FILE", help="a line for each case that ended; those in it do not run again")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # takes the jobs with it
    cases = list_cases(given.program)
    drawn = draw_cases(cases, given.count)
    known = Path(given.results).read_text(encoding="utf-8") if given.results and Path(given.results).exists() else ""
    ended = {case: how for case, how in map(json.loads, known.splitlines()) if case in set(drawn)}
    ended.update(run_parts(given.program, [case for case in drawn if case not in ended], given.jobs, given.results))
    counts: Counter[str] = Counter()
    for case, how in ended.items():
        why = next((f" (known: {why})" for pattern, why in KNOWN.items() if re.match(pattern, case)), "")
        counts["OK" if how == "OK" else how + why] += 1
        if not is_fine(how):
            print(f"{how}{why}: {case}", flush=True)
    print(f"{len(cases)} cases, {len(drawn)} drawn: {', '.join(f'{number} {how}' for how, number in counts.most_common())}")
    return 0 if all(is_fine(how) or "known" in how for how in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
