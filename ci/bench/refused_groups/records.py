"""boda's launches of convolutions on an Adreno 530, from its file of tuning runs (test/wisdom-merged.wis of moskewcz/boda)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DEVICE = "ocl:QUALCOMM Adreno(TM)"
_REFUSED = re.compile(r"loc_work_sz is (\d+) but OpenCL says max is (\d+)")
_FUNCTION = re.compile(r"func_name=(\w+)")
_DIMENSIONS = re.compile(r"(\w+)=\((?:tn=\w+,)?dims=\(([^)]*)\)\)")
_BY_GROUP = ("pels_tile", "out_chan_tile", "blk_y")
"""Dimensions of the work that work-items of a group divide."""


@dataclass(frozen=True)
class Launch:
    """One launch. dimensions: of each array and of the work, by name. limit: what CL_KERNEL_WORK_GROUP_SIZE was where the launch
    was refused, 0 where it ran."""

    function: str
    dimensions: dict[str, dict[str, int]]
    limit: int

    @property
    def items(self) -> int:
        """Work-items of a group."""
        found = 1
        for name, size in self.dimensions["work"].items():
            found *= size if name in _BY_GROUP else 1
        return found


def read_launches(path: Path) -> Iterator[Launch]:
    """Yields every launch on the Adreno. A refused one has no text of its own: it is that of the run before, of another GPU."""
    lines = path.read_text(encoding="utf-8").splitlines()
    known = ""
    for number, line in enumerate(lines):
        if line.startswith("op_tune_wisdom_t"):
            known = ""
        if line.startswith("(str_vals=(func_name="):
            known = line
        if line != _DEVICE:
            continue
        refused = _REFUSED.search(lines[number + 2])
        text = known if refused else lines[number + 3]
        function = _FUNCTION.search(text)
        if function is not None:
            yield Launch(function[1], _read_dimensions(text), int(refused[2]) if refused else 0)


def _read_dimensions(text: str) -> dict[str, dict[str, int]]:
    return {
        name: {part.partition("=")[0]: int(part.partition("=")[2]) for part in inner.split(",") if "=" in part}
        for name, inner in _DIMENSIONS.findall(text)
    }
