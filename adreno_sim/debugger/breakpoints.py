"""Breakpoints: at a line, at a work-item's beginning, or at a finding; each with a condition and for one work-item, if wanted."""

from __future__ import annotations

import re

from ..records import dataclass
from .expressions import Expression, parse
from .values import DebugError

_FORM = re.compile(
    r"(?:(?P<finding>finding)|(?:(?P<file>[^\s:]*):)?(?P<line>\d+)|)\s*"
    r"(?:item\s+(?P<item>\d+(?:\s*,\s*\d+){0,2}|\(\s*\d+(?:\s*,\s*\d+){0,2}\s*\)))?\s*(?:if\s+(?P<condition>.+))?"
)


@dataclass(frozen=True)
class Breakpoint:
    """line 0: where a work-item begins. item: group, and place in it, of the only work-item that is meant."""

    number: int
    file: str = ""
    line: int = 0
    finding: bool = False
    item: tuple[int, int] | None = None
    condition: Expression | None = None
    text: str = ""


@dataclass(frozen=True)
class Wanted:
    """What a command says of a breakpoint."""

    file: str
    line: int
    finding: bool
    item: tuple[int, ...]
    condition: Expression | None
    text: str


def read_breakpoint(text: str) -> Wanted:
    """Reads `LINE`, `FILE:LINE`, `finding` or nothing, then `item IDS`, then `if CONDITION`. DebugError for anything else."""
    found = _FORM.fullmatch(text.strip())
    if found is None or not text.strip() or not (found["line"] or found["finding"] or found["item"]):
        raise DebugError(f"break {text.strip()}: expected LINE or FILE:LINE, finding, or item ID; then item ID, if CONDITION")
    item = tuple(int(word) for word in re.findall(r"\d+", found["item"] or ""))
    condition = parse(found["condition"]) if found["condition"] else None
    return Wanted(found["file"] or "", int(found["line"] or 0), bool(found["finding"]), item, condition, text.strip())
