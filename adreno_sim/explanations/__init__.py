"""What each kind of finding means, with an example and how to fix it: the texts of `adreno-sim explain`, of help lines, and of
docs/explanations.md. A file for each group of kinds."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path

from ..findings import Finding, Kind
from ..records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GROUPS = ("memory", "order", "arguments", "arithmetic", "results", "times", "plans", "program", "device")
"""The files, in the order in which kinds are listed."""


@dataclass(frozen=True)
class Explanation:
    """The texts of a kind. help: what to do, in a line. example: a kernel, calls, or a command. reference: the address of what
    defines it. group: the title under which it is listed."""

    kind: Kind
    help: str
    means: str
    example: str
    fix: str
    reference: str
    group: str


@functools.cache
def explanations() -> Mapping[str, Explanation]:
    """The explanations by the names of the kinds, group by group."""
    kinds = {kind.label: kind for kind in Kind}
    found: dict[str, Explanation] = {}
    for name in GROUPS:
        data = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
        group, reference = data.pop("title"), data.pop("reference")
        for label, texts in data.items():
            stripped = {key: text.strip("\n") for key, text in texts.items()}
            found[label] = Explanation(kinds[label], reference=reference, group=group, **stripped)
    return found


def help_of(finding: Finding) -> str:
    """What to do about a finding: its own advice, else that of its kind; "" of a kind without a text: a report is written
    all the same."""
    known = explanations().get(finding.kind.label)
    return finding.help or ("" if known is None else known.help)
