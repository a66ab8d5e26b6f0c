"""Marks the functions of a vectorised module that LLVM must inline; its own inliner does not run on these (`passes`)."""

from __future__ import annotations

from collections.abc import Sequence

SMALL = 64
"""The most lines of a function that is inlined into every caller, about as LLVM would."""

LARGE = 600
"""The most lines of a function that is inlined into its only caller. Inlining a larger region takes a sixth of all passes'
time, and a call for each group costs nothing."""

_PLAIN, _INLINED = " #0 {", " #4 {"
"""The attributes of an ordinary function, and of one that is always inlined (`Unit.text`)."""


def mark_inlined(functions: Sequence[str]) -> list[str]:
    """Returns the text of `functions`, each beginning with its head, with those to be inlined marked."""
    return [_mark(text) if _is_to_inline(text, functions) else text for text in functions]


def _mark(text: str) -> str:
    return text.replace(_PLAIN, _INLINED, 1)


def _is_to_inline(text: str, functions: Sequence[str]) -> bool:
    head, _, body = text.partition("\n")
    lines = body.count("\n")
    if not head.endswith(_PLAIN) or lines > LARGE:
        return False
    name = head[head.index("@") : head.index("(") + 1]
    return lines <= SMALL or sum(other.count(name) for other in functions) == 2
