"""Accesses that are not proven in range, each with the reason and its line of source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...base.text.line_markers import number_lines
from ...device.inspection import AccessProof
from .explain import SHOWN


def unproven_lines(where: str, accesses: Iterable[AccessProof], source: str) -> Iterator[str]:
    """For each access that is checked while a kernel runs: why it is not proven in range, and its line of `source`. where: the
    file or kernel."""
    lines = number_lines(source)
    for access in accesses:
        yield f"{where}:{access.place}: not proven in range: {access.access} of {access.target}: {access.reason}"
        if access.line in lines:
            yield f"  | {lines[access.line].strip().expandtabs()[:SHOWN]}"
