"""The mistakes as data, and the table of them in docs/mistakes.md: `python -m tests.kernels.mistakes.table` writes it there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.toml_tables import MISSING, Table, load_toml

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


def read_mistakes(folder: Path) -> tuple[list[Mistake], list[str]]:
    """All mistakes, file by file; and for each file or entry that cannot be read, what was expected where."""
    found, broken = [], []
    for file in sorted(folder.glob("*.toml")):
        try:
            entries = Table(load_toml(file), file).tables("mistake")
        except AdrenoSimError as error:
            broken.append(str(error))
            continue
        for entry in entries:
            try:
                found.append(_read_mistake(entry))
            except AdrenoSimError as error:
                broken.append(str(error))
    return found, broken


def _read_mistake(entry: Table) -> Mistake:
    says = entry.get("says", MISSING, "a list of texts")
    if not isinstance(says, list) or not all(isinstance(part, str) for part in says):
        entry.fail_expected("says", "a list of texts")
    name, kind, help, source, judged = (entry.text(key) for key in ("name", "kind", "help", "source", "judged"))
    line, patch, clean = entry.whole("line"), entry.text("patch", ""), entry.text("clean", "")
    entry.finish()
    return Mistake(name, kind, line, says, help, source, judged, patch, clean)


MISTAKES, BROKEN = read_mistakes(HERE)


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
