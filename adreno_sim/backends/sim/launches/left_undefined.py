"""Undefined values that launches leave in memory: a finding where somebody reads them. A launch by itself has only its host,
which reads at once; of a program of many launches only the program knows (`SimDevice.defers_outputs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....base.specs import View
from ....engine.emit.diagnostic_sites import ANY_ARGUMENT
from ....engine.run.results import split_left
from ....findings import Finding
from ....memory.storage import StorageView

Left = tuple[View, Finding]
"""What a view holds that is undefined."""


def sort_out(findings: Sequence[Finding], args: Sequence[Any], deferred: bool) -> tuple[list[Finding], list[Left]]:
    """Returns what a launch with `args` has found, in source order, and what it left undefined, if that is for later."""
    found, stored = split_left(findings)
    left = _find_left(stored, args) if stored else []
    if deferred or not left:
        return found, left
    return sorted([*found, *(finding for _, finding in left)], key=lambda f: (f.line, f.column, f.kind.label)), []


def _find_left(left: Iterable[tuple[int, Finding]], args: Sequence[Any]) -> list[Left]:
    """Returns those of the stored values, given by argument, that are still in memory, with the view that holds them."""
    found: list[Left] = []
    for target, finding in left:
        views = args if target == ANY_ARGUMENT else [args[target]]
        holding = next((view for view in views if isinstance(view, StorageView) and _holds_undefined(view)), None)
        if holding is not None:
            found.append((holding, finding))
    return found


def _holds_undefined(view: StorageView) -> bool:
    """Returns whether elements of a view hold an undefined value that somebody has stored."""
    marks = view.marks()
    return marks is not None and bool((marks.view(f"u{marks.itemsize}") & _beyond(marks.itemsize)).any())


def _beyond(itemsize: int) -> int:
    """Returns the bits that marks of written and unwritten bytes do not have."""
    return int.from_bytes(b"\xfe" * itemsize, "little")
