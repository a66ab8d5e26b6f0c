"""What clang says about a source, as data."""

from __future__ import annotations

import re

from ..base.text.spelling import split_lines
from ..records import dataclass

_HEAD = re.compile(
    r"^(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): (?P<severity>fatal error|error|warning|note): (?P<message>.*)$"
)
_MARGIN = re.compile(r" *\d+ \| ")
_QUOTED = re.compile(r" *\d* \|(?: |$)")
"""What a line begins with that quotes the source, whose text may look like a message."""
_CARET = re.compile(r"[ \t~^]*\^[ \t~^]*")
MOST_WARNINGS = 1000
"""clang stops after 20 errors, and never warning; the list is kept with the program."""
_SHOWN = 200
"""Characters of a source line that are quoted."""
_NO_PLACE = re.compile(r"^(?:\S+: )?(?P<severity>fatal error|error|warning): (?P<message>.*)$")


@dataclass(frozen=True)
class Diagnostic:
    """One message: 1-based line and column (0: no place), `file` "" for the program source itself.

    severity: "error", "warning" or "note" (notes follow the message they explain). `source` is the line it points
    at and `caret` the marker below it, both "" if clang shows none.
    """

    file: str
    line: int
    column: int
    severity: str
    message: str
    source: str = ""
    caret: str = ""

    def __str__(self) -> str:
        loc = f"{self.file or 'kernel'}:{self.line}:{self.column}: " if self.line else ""
        shown = f"\n{self.source}\n{self.caret}" if self.source else ""
        return f"{loc}{self.severity}: {self.message}{shown}"


def parse_diagnostics(stderr: str) -> list[Diagnostic]:
    """The diagnostics in clang's output (format "clang", no colours), in its order; of warnings the first MOST_WARNINGS."""
    found: list[Diagnostic] = []
    warnings = 0
    lines = split_lines(stderr)
    for number, text in enumerate(lines):
        if _QUOTED.match(text):
            continue
        head = _HEAD.match(text)
        if head:
            warnings += head["severity"] == "warning"
            if warnings > MOST_WARNINGS and head["severity"] in ("warning", "note"):
                continue
            source, caret = _excerpt(lines, number + 1)
            found.append(
                Diagnostic(
                    "" if head["file"] == "<stdin>" else head["file"],
                    int(head["line"]), int(head["column"]), _severity(head["severity"]), head["message"], source, caret,
                )
            )  # fmt: skip
        elif bare := _NO_PLACE.match(text):
            found.append(Diagnostic("", 0, 0, _severity(bare["severity"]), bare["message"]))
    return found


def _severity(word: str) -> str:
    return "error" if word == "fatal error" else word


def _excerpt(lines: list[str], start: int) -> tuple[str, str]:
    """The quoted source line and its caret line, where both follow; newer clangs put a line number before them."""
    if start + 1 >= len(lines):
        return "", ""
    margin = _MARGIN.match(lines[start])
    width = margin.end() if margin else 0
    source, caret = lines[start][width:], lines[start + 1][width:]
    if not _CARET.fullmatch(caret) or (not margin and _HEAD.match(source)):
        return "", ""
    return _window(source, caret)


def _window(source: str, caret: str) -> tuple[str, str]:
    """The part of a long line around its caret: generated sources have lines of any length."""
    if len(source) <= _SHOWN:
        return source, caret
    start = max(0, caret.index("^") - _SHOWN // 2)
    return source[start : start + _SHOWN], caret[start : start + _SHOWN]


def summary(diagnostics: list[Diagnostic]) -> str:
    """The text of a BuildError: every error with its line and caret, and the notes on them."""
    shown: list[str] = []
    after_error = False
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            after_error = diagnostic.severity == "error"
        if after_error:
            shown.append(str(diagnostic))
    return "\n".join(shown)
