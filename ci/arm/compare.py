"""Compares what kernels compute on this machine and in the root of ci/arm.sh: python ci/arm/compare.py FOLDER [--parts ...]

As `ci/compare_versions.py`, whose worker and comparison this uses: every buffer after each launch, findings, printed
text, proofs. A NaN may have any sign and payload. Exit status 1 if anything else differs, or could not be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))

from compare_versions import WORKER, Answer, Tally  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the root, as it was given to ci/arm.sh")
    parser.add_argument("--parts", default="corpus,random", help="corpus, random (default: both)")
    parser.add_argument("--random", type=int, default=60, metavar="N", help="random kernels (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other random kernels (default 1)")
    options = parser.parse_args()
    inside = ["bash", str(ROOT / "ci/arm.sh"), options.folder, "python3"]
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="arm-") as cache:
        here = answers([sys.executable], options, {"ADRENO_SIM_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)})
        there = answers(inside, options, {})
        for one, other in itertools.zip_longest(here, there, fillvalue=("no case", {})):
            tally.add(one, other)
    print(tally)
    return 1 if tally.differing or tally.errors or not tally.cases else 0


def answers(python: list[str], options: argparse.Namespace, environment: dict[str, str]) -> Iterator[Answer]:
    """Each case and what it comes to, as one side runs it."""
    readable, writable = os.pipe()
    asked = [str(WORKER), str(ROOT), str(writable), "0", options.parts, str(options.random), str(options.seed)]
    variables = {**os.environ, "ADRENO_SIM_STRICT_ANALYSIS": "", **environment}
    process = subprocess.Popen([*python, *asked], env=variables, pass_fds=[writable], stdout=subprocess.DEVNULL)
    os.close(writable)
    with os.fdopen(readable, "rb") as stream, contextlib.suppress(EOFError):
        while True:
            _, name, record = pickle.load(stream)
            if record is not None:
                yield name, {key: canonical(value) for key, value in record.items()}
    if process.wait():
        yield "the end", {"error": f"{' '.join(python)}: the worker ended with {process.returncode}"}


def canonical(value: Any) -> Any:
    """A value in which every NaN is the same."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.where(np.isnan(value), np.array(np.nan, value.dtype), value)


if __name__ == "__main__":
    sys.exit(main())
