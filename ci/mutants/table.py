"""The table of a campaign: packages in rows, who noticed in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

COLUMNS = ("mutants", "fast set", "only the others", "survived", "unreached", "untried")


def write_table(outcomes: Sequence[Any]) -> str:
    rows: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        row = rows.setdefault(name_package(outcome.mutant.file), Counter())
        row["mutants"] += 1
        row[name_column(outcome)] += 1
    total: Counter[str] = sum(rows.values(), Counter())
    lines = ["| package | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    lines += [f"| {name} | " + " | ".join(str(row[column] or "") for column in COLUMNS) + " |" for name, row in rows.items()]
    lines.append("| all | " + " | ".join(str(total[column]) for column in COLUMNS) + " |")
    return "\n".join(lines) + "\n"


def name_column(outcome: Any) -> str:
    if outcome.state in ("killed", "hung"):
        return "fast set" if outcome.seen == "fast" else "only the others"
    return str(outcome.state)


def name_package(file: str) -> str:
    """adreno_sim/engine/vector/calls.py is in `engine`, compiler/plan/arena.py in `compiler/plan`."""
    parts = file.split("/")[:-1]
    if parts[:1] == ["adreno_sim"]:
        return "/".join(parts[1:2]) or "adreno_sim"
    return "/".join(parts[:2])
