"""Which functions of a module in vectors become part of their callers: there nobody asks LLVM's inliner (`passes`)."""

from __future__ import annotations

from collections.abc import Sequence

SMALL = 64
"""Lines up to which a function is put into every caller, about what LLVM would."""

LARGE = 600
"""Lines up to which a function goes into its only caller. A large region stays apart: moving it costs a sixth of all passes,
and a call for each group nothing."""

_PLAIN, _INLINED = " #0 {", " #4 {"
"""Attributes of a function that nothing is said of, and of one that is always inlined (`Unit.text`)."""


def mark_inlined(functions: Sequence[str]) -> list[str]:
    """`functions`, the text of each beginning with its head, those that are to be inlined marked."""
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
