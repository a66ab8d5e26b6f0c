"""Text of OpenCL C as its tokens are in it, for what points into a source: comments and literals blanked, brackets matched."""

from __future__ import annotations

import re

_TEXT = re.compile(
    r"^[ \t]*#[^\n]*|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL | re.MULTILINE
)
_NOT_END = re.compile(r"[^\n]")
_OPENING = {"(": ")", "[": "]", "{": "}"}


def blank_text(source: str) -> str:
    """Returns the source with spaces instead of comments, strings and characters; lines, columns and directives stay."""
    return _TEXT.sub(lambda found: found[0] if found[0].lstrip().startswith("#") else _NOT_END.sub(" ", found[0]), source)


def find_closing(code: str, opening: int) -> int:
    """Returns where the bracket at `opening` of a blanked source is closed; -1 if it is not."""
    pending: list[str] = []
    for at in range(opening, len(code)):
        char = code[at]
        if char in _OPENING:
            pending.append(_OPENING[char])
        elif char in ")]}":
            if not pending or pending.pop() != char:
                return -1
            if not pending:
                return at
    return -1
