"""Which constructs the generated kernels contain, and how often."""

from __future__ import annotations

from collections import Counter

from .generator import FORMS
from .productions import STATEMENTS
from .truth.references import REFERENCES


def never_used(used: Counter[str]) -> list[str]:
    """Registered constructs that no kernel had."""
    registered = {form.name for form in FORMS} | {p.name for p in STATEMENTS} | {f"maths/{name}" for name in REFERENCES}
    return sorted(registered - set(used))


def coverage_text(used: Counter[str]) -> str:
    """A line per group of constructs, with counts, and those without any."""
    groups: dict[str, list[str]] = {}
    for name, count in sorted(used.items()):
        group, _, construct = name.partition("/")
        groups.setdefault(group, []).append(f"{construct} {count}" if construct else str(count))
    lines = [f"{group}: {', '.join(found)}" for group, found in groups.items()]
    missing = never_used(used)
    return "\n".join([*lines, f"never: {', '.join(missing) or 'nothing'}"])
