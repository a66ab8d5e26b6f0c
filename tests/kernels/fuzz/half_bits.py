"""Runs random kernels with halves and prints a digest of all that they compute: python half_bits.py START COUNT

A processor that computes halves must give what one gives that does not. The environment says which features code may use.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

sys.path[0:1] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import numpy as np  # noqa: E402
from fuzz import simulator  # noqa: E402
from fuzz.campaign import judge_of, numbered  # noqa: E402
from fuzz.judge import program  # noqa: E402

import adreno_sim  # noqa: E402

SEED = 5


def main() -> None:
    start, count = map(int, sys.argv[1:])
    devices = [
        adreno_sim.open_device("sim:reference", contract="off", threads=1, cache=False, flush_denormals=flush, timeout=20)
        for flush in (False, True)
    ]
    found = []
    number = start
    while len(found) < count:
        case = numbered(SEED, number)
        built = case.build()
        number += 1
        if "half" not in built.text:
            continue
        judge = judge_of(SEED, number - 1)
        text = program([built.text], judge)
        digest = hashlib.sha256()
        for device in devices:
            kernel = device.build(text, judge.options)[case.name]
            for output in simulator.run(kernel, case, built, "bounds", device).outputs:
                digest.update(_canonical(output).tobytes())
        found.append(f"{number - 1}:{digest.hexdigest()[:16]}")
    print(*found)


def _canonical(array: np.ndarray) -> np.ndarray:
    """NaNs may have any bits."""
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array)


if __name__ == "__main__":
    main()
