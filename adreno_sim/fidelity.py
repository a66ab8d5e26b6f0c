"""How closely the simulated device follows each behaviour of a real one: fidelity.toml as data, and as the table of its page."""

from __future__ import annotations

import functools
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEGREES = ("exact", "approximate", "unsupported")


@dataclass(frozen=True)
class Behaviour:
    """fidelity: one of DEGREES. says: in which sense, in one sentence. test: the file in tests/ that shows it."""

    name: str
    fidelity: str
    says: str
    test: str = ""


@functools.cache
def behaviours() -> tuple[Behaviour, ...]:
    """Every row of the table."""
    text = Path(__file__).with_name("fidelity.toml").read_text(encoding="utf-8")
    return tuple(Behaviour(**row) for row in tomllib.loads(text)["behaviour"])


def to_json() -> list[dict[str, Any]]:
    """The table for a JSON report."""
    return [{key: value for key, value in asdict(row).items() if key != "test"} for row in behaviours()]


def markdown() -> str:
    """The table for docs/fidelity.md."""
    rows = [f"| {row.name} | {row.fidelity} | {row.says} |" for row in behaviours()]
    return "\n".join(["| Behaviour | Fidelity | In which sense |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(markdown())
