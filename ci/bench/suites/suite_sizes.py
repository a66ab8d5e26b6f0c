"""Sizes suite: how the time to compile a generated kernel grows with its lines.

What is measured is the processor time of build and first launch, without the cache on disk, of kernels of one shape
(`kernel_shapes.py`) in growing sizes, each in a separate process. The exponent is the slope of the logarithms. What a kernel
takes whatever its size is, that of 3 lines, is subtracted first. A shape that is refused, or that gives up proofs or vectors,
says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kernel_shapes import SHAPES

SIZES = (500, 1000, 2000, 5000)
QUICK = (100, 400)
LEAST = 3
"""The lines of a kernel whose time is subtracted. More are many in a shape that doubles with each line."""
NEAR_LINEAR = 1.2
LIMIT = 300.0
"""Seconds that one kernel may take."""

Row = dict[str, Any]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Compile the shapes whose name holds `only`; `quick`: two small sizes. A time is taken once, or the least of two with
    statistic "least"."""
    sizes = QUICK if quick else SIZES
    rows = []
    for shape in SHAPES:
        if only in shape:
            rows.append(_row(shape, sizes, 2 if statistic == "least" else 1))
            say(_line(rows[-1]))
    return {"suite": "sizes", "sizes": list(sizes), "rows": rows}


def _row(shape: str, sizes: tuple[int, ...], times: int) -> Row:
    found = [min((_measure(shape, size) for _ in range(times)), key=lambda one: one["seconds"]) for size in (LEAST, *sizes)]
    least, *seconds = [one["seconds"] for one in found]
    slope = np.polyfit(np.log(sizes), np.log(np.maximum(np.subtract(seconds, least), 1e-3)), 1)[0]
    told = next((one["told"] for one in reversed(found) if one["told"]), "")
    return {"shape": shape, "seconds": seconds, "exponent": float(slope), "told": told}


def _measure(shape: str, size: int) -> Row:
    """What a child measures (`shape_worker.py`); one that takes too long counts with its limit."""
    command = [sys.executable, str(Path(__file__).parents[1].joinpath("shape_worker.py")), shape, str(size)]
    environment = {**os.environ, "ADRENO_SIM_CACHE": "off"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True, env=environment)
    except subprocess.TimeoutExpired:
        return {"seconds": LIMIT, "told": f"no answer in {LIMIT:.0f} s"}
    except subprocess.CalledProcessError as error:
        return {"seconds": LIMIT, "told": f"failed with status {error.returncode}"}
    found: Row = json.loads(done.stdout)
    return found


def _line(row: Row) -> str:
    times = ", ".join(f"{seconds:.2f}" for seconds in row["seconds"])
    return f"{row['shape']:18} {times} s, exponent {row['exponent']:.2f} {row['told']}"


def markdown(result: dict[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    heads = ["shape", *(f"{size} lines s" for size in result["sizes"]), "exponent", "given up"]
    out = ["## Sizes", "", _METHOD, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in result["rows"]:
        cells = [row["shape"], *(f"{seconds:.2f}" for seconds in row["seconds"]), f"{row['exponent']:.2f}", row["told"]]
        out.append(f"| {' | '.join(cells)} |")
    near = sum(row["exponent"] <= NEAR_LINEAR for row in result["rows"])
    return [*out, "", f"{near} of {len(result['rows'])} exponents are at most {NEAR_LINEAR}.", ""]


_METHOD = (
    "How the processor time of build and first launch grows with the lines of a generated kernel, without the cache on disk. "
    f"What {LEAST} lines take is subtracted before the exponent is fitted. `kernel_shapes.py` has the shapes."
)


def exit_code(result: dict[str, Any]) -> int:
    """0: figures alone."""
    return 0
