"""llama.cpp's own tests of its operators, a seeded sample: its OpenCL back end against its CPU back end.

Arguments: llama.cpp's test-backend-ops, the number of cases. Exit code 1 where a case disagrees, or does not run, for no known
reason. Cases of which the program says in the end that they are not supported count as such.
"""

from __future__ import annotations

import csv
import io
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict

AT_ONCE = 100
"""Cases in one process: the command line names them."""
KNOWN = {
    r"L2_NORM": "kernel_l2_norm_f32 has a data race",
    r"FLASH_ATTN_EXT.*type_[KV]=f32": "flash_attn_f32 has a data race",
    r"RMS_NORM.*v=1": "kernel_rms_norm writes past the end of its local memory",
    r"SSM_SCAN.*head_dim=80": "335 million turns of a loop with a reduction may take longer than the watchdog's 60 s",
    r"SIGMOID.*type=bf16": "the back end says that it supports it, and then aborts",
}
"""Cases that disagree: by defects of llama.cpp, which docs/defects.md names, and by their length."""
_ENDED = re.compile(r"(\w+\(.*\)): (?:\x1b\[[\d;]*m)?(OK|FAIL|not supported)")


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


def run_cases(program: str, cases: list[str]) -> dict[str, str]:
    """How each case ended, of cases in the program's order. Behind one that aborts the program it goes on with the next."""
    ended: dict[str, str] = {}
    left = cases
    while left:
        words = [program, "test", "-o", ",".join(left)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "GGML_NO_BACKTRACE": "1"})
        ended |= {case: how for case, how in _ENDED.findall(done.stdout) if case in left}
        left = [case for case in left if case not in ended]
        if left:
            ended[left.pop(0)] = f"ended the program with status {done.returncode}"
    return ended


def main() -> int:
    program, count = sys.argv[1], int(sys.argv[2])
    cases = list_cases(program)
    drawn = draw_cases(cases, count)
    counts: Counter[str] = Counter()
    for start in range(0, len(drawn), AT_ONCE):
        for case, how in run_cases(program, drawn[start : start + AT_ONCE]).items():
            known = next((f" (known: {why})" for pattern, why in KNOWN.items() if re.match(pattern, case)), "")
            counts["OK" if how == "OK" else how + known] += 1
            if how not in ("OK", "not supported"):
                print(f"{how}{known}: {case}", flush=True)
    print(f"{len(cases)} cases, {len(drawn)} drawn: {', '.join(f'{number} {how}' for how, number in counts.most_common())}")
    return 0 if all(how in ("OK", "not supported") or "known" in how for how in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
