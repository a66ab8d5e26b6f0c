"""The source of a kernel as patches see it: statements and declarations by their places, and the text with an edit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from ...base.text.c_source import blank_text, find_closing
from ...base.text.spelling import encode_exactly
from ...records import dataclass

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_HEADER = re.compile(r"\s*(?:(?:if|while|for|switch)\s*(?P<open>\()|(?:else|do)\b|(?:case\b[^:;]*|default\s*):)")
_NOT_END = re.compile(r"[^\n]")

Span = tuple[int, int]
"""Where something is in the text: its first character, and the one behind its last."""


@dataclass(frozen=True)
class Source:
    """text: of the file, without line markers, so that findings count its lines as they are there."""

    text: str

    @cached_property
    def code(self) -> str:
        """The text with blanks instead of comments, literals and directives; each directive begins with a semicolon."""
        return _DIRECTIVE.sub(lambda found: ";" + _NOT_END.sub(" ", found[0])[1:], blank_text(self.text))

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def offset(self, line: int, column: int) -> int | None:
        """Where a place of a finding is (columns count bytes); None if the text has no such line."""
        if not 1 <= line <= len(self._starts):
            return None
        start = self._starts[line - 1]
        whole = self.text[start:].split("\n", 1)[0]
        return start + len(encode_exactly(whole)[: max(0, column - 1)].decode("utf-8", "surrogateescape"))

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def line_span(self, line: int) -> Span | None:
        """A line without its end."""
        start = self.offset(line, 1)
        return None if start is None else (start, start + len(self.text[start:].split("\n", 1)[0]))

    def indent(self, offset: int) -> str:
        """The white space with which the line of a place begins."""
        start = self.text.rfind("\n", 0, offset) + 1
        return self.text[start:][: len(self.text[start:]) - len(self.text[start:].lstrip(" \t"))]

    def statement(self, offset: int) -> Span | None:
        """The simple statement around a place, its semicolon included; None if that is not certain, as in a loop's head."""
        start = self._statement_start(offset)
        if start is None:
            return None
        depth = 0
        for at in range(offset, len(self.code)):
            char = self.code[at]
            depth += (char in "([{") - (char in ")]}" and depth > 0)
            if char == ";" and depth == 0:
                return (start, at + 1) if start < at else None
            if char == "}" and depth == 0:
                return None
        return None

    def _is_in_head(self, offset: int) -> bool:
        """Whether a place is between the brackets of an `if` or a loop."""
        depth = 0
        for at in range(offset - 1, -1, -1):
            char = self.code[at]
            depth += (char in ")]}") - (char in "([{")
            if depth < 0:
                if char == "{":
                    return False
                if re.search(r"\b(for|if|while|switch)\s*$", self.code[:at]):
                    return True
                depth = 0
        return False

    def _statement_start(self, offset: int) -> int | None:
        if self._is_in_head(offset):
            return None
        depth, at = 0, offset - 1
        while at >= 0 and (depth or self.code[at] not in ";{}"):
            depth = max(0, depth + (self.code[at] in ")]") - (self.code[at] in "(["))
            at -= 1
        start = at + 1
        while (head := _HEADER.match(self.code, start)) is not None and head.end() <= offset:
            closing = find_closing(self.code, head.start("open")) if head["open"] else head.end() - 1
            if not 0 <= closing < offset:
                return None
            start = closing + 1
        return start + len(self.code[start:]) - len(self.code[start:].lstrip())

    def block_end(self, offset: int) -> int | None:
        """Where the innermost block around a place is closed."""
        depth = 0
        for at in range(offset, len(self.code)):
            depth += (self.code[at] == "{") - (self.code[at] == "}")
            if depth < 0:
                return at
        return None

    def body_indent(self, closing: int) -> str:
        """The white space before the first statement of the block that is closed at a place."""
        opening = self._opening(closing)
        first = opening + 1 + len(self.code[opening + 1 :]) - len(self.code[opening + 1 :].lstrip())
        return self.indent(first)

    def _opening(self, closing: int) -> int:
        """Where a block is opened; -1 for the whole text."""
        depth = 0
        for at in range(closing - 1, -1, -1):
            depth += (self.code[at] == "}") - (self.code[at] == "{")
            if depth < 0:
                return at
        return -1

    def is_loop(self, closing: int) -> bool:
        """Whether the block that is closed at a place is the body of a loop."""
        head = self.code[: max(0, self._opening(closing))]
        return re.search(r"(\bdo|\b(for|while)\s*\([^{}]*\))\s*$", head) is not None

    def calls(self, name: str, first: int = 1, last: int = 1 << 30) -> Iterator[Span]:
        """The calls of a function, with their arguments, in these lines."""
        for found in re.finditer(rf"\b{re.escape(name)}\s*\(", self.code):
            closing = find_closing(self.code, found.end() - 1)
            if closing > 0 and first <= self.line_of(found.start()) <= last:
                yield found.start(), closing + 1

    def parameters(self, kernel: str) -> list[str]:
        """The names of a kernel's parameters, as far as they are written out."""
        found = re.search(rf"\b{re.escape(kernel)}\s*\(", self.code)
        closing = find_closing(self.code, found.end() - 1) if found else -1
        if found is None or closing < 0:
            return []
        names = (re.search(r"([A-Za-z_]\w*)\s*$", part) for part in self.code[found.end() : closing].split(","))
        return [name[1] if name else "" for name in names]

    def replaced(self, span: Span, text: str) -> str:
        """The whole text with another one instead of a part."""
        return self.text[: span[0]] + text + self.text[span[1] :]

    def inserted_before(self, offset: int, statement: str) -> str:
        """The whole text with a statement on a separate line before the line of a place."""
        start = self.text.rfind("\n", 0, offset) + 1
        return self.replaced((start, start), f"{self.indent(offset)}{statement}\n")

    def inserted_behind(self, offset: int, statement: str) -> str:
        """The same behind the line of a place."""
        end = self.text.find("\n", offset)
        at = len(self.text) if end < 0 else end
        return self.replaced((at, at), f"\n{self.indent(offset)}{statement}")
