"""A page whose findings can be looked into: the script that draws, its data, and what it draws into."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from ...findings import Finding
from ...results.evidence import Evidence
from ..page import document, script_data
from .data import view_data

SCRIPTS = ("elements.js", "calls.js", "plan.js", "viewer.js")
"""In this order: each uses those before it."""

LOOKS = '<section id="looks"></section>'
"""Where the script puts calls and arrays."""


def view_page(title: str, parts: Iterable[str], evidence: Evidence | None, findings: Sequence[Finding], command: str = "") -> str:
    """A page of these parts, which are HTML, LOOKS among them; the details of the nth finding have data-finding="n". evidence:
    None if nothing is known but the findings. command: the line that made the page."""
    data = script_data("view", view_data(evidence or Evidence(), findings))
    script = "".join(_read_file(name) for name in SCRIPTS)
    return document(title, _read_file("viewer.css"), [*parts, data], script, command)


@cache
def _read_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
