"""Findings of a model at a file that exists: the model's. Their kernels are not files: a compiler made them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...findings import Finding, Note


def place_at_model(findings: Iterable[Finding], model: str) -> list[Finding]:
    """Returns findings that are in no file at the first line of the model's, with the place in their kernel as a note."""
    return [finding if finding.file else _place_at_model(finding, model) for finding in findings]


def _place_at_model(finding: Finding, model: str) -> Finding:
    kernel = f"{finding.kernel}.cl" if finding.kernel else ""
    notes = [replace(note, file=note.file or kernel) if note.line else note for note in finding.notes]
    if finding.line and kernel:
        notes.insert(0, Note("here, in the kernel that was made from it", finding.line, finding.column, kernel))
    return replace(finding, file=model, line=1, column=0, notes=tuple(notes))
