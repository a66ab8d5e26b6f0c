"""The mistakes as data, and the table of them in docs/mistakes.md: `python -m tests.kernels.mistakes.table` writes it there."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "mistakes.md"
DOES_NOT_COMPILE = "does-not-compile"
_TABLE = re.compile(r"^\| Mistake .*\n(?:\|.*\n)+", re.MULTILINE)


@dataclass(frozen=True)
class Mistake:
    """One entry of a TOML file. patch, clean: "" without. judged: a word of docs/mistakes.md."""

    name: str
    kind: str
    line: int
    says: list[str]
    help: str
    source: str
    judged: str
    patch: str = ""
    clean: str = ""


def read_mistakes() -> list[Mistake]:
    """All mistakes, file by file."""
    tables = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("*.toml"))]
    return [Mistake(**entry) for table in tables for entry in table["mistake"]]


MISTAKES = read_mistakes()


def write_table() -> str:
    """The table as Markdown, a mistake a row."""
    rows = ["| Mistake | Line of the source | Finding | Help begins | Patch | Judged |", "|---|---|---|---|---|---|"]
    for one in MISTAKES:
        line = one.source.splitlines()[one.line - 1].strip() if one.line else ""
        cells = [one.name, _code(line), one.kind, one.help, _code(one.patch.lstrip("+ ")), one.judged]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def read_page() -> str:
    """The page with the table."""
    return PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: write_table(), read_page(), count=1), encoding="utf-8")
