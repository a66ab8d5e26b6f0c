r"""Foreign text as every output shows it: what an input calls its kernels, tensors and files may be any characters.

A character that is not printable in Python's sense (controls, escapes, bidirectional marks, odd spaces) is spelled: `\x1b`,
`\u202e`. A byte that is not UTF-8, which Python keeps as a lone surrogate, is spelled `\xe9`. What is spelled stays as it is when
it is shown again. `OutputGuard` also keeps lines from being commands to the program that reads a log.
"""

from __future__ import annotations

import re

_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FIRST_OF_BYTES, _END_OF_BYTES = 0xDC80, 0xDD00
"""How Python keeps bytes from 0x80 that are not UTF-8."""

_LINE_END = re.compile(r"\r\n|\n\r|\n|\r")
_LINE_COMMAND = re.compile(r"^([ \t]*:):", re.MULTILINE)
"""`::error::` of GitHub's runner: at the beginning of a line, behind spaces."""
ANYWHERE_COMMAND = re.compile(r"(##[A-Za-z]*)\[")
"""`##[command]` of GitHub's and Azure's runners, `##vso[` of Azure's, `##teamcity[`: anywhere in a line."""
_LONGEST_TAIL = 64


def spell_line(text: str) -> str:
    """Returns one line: line ends and tabs are spelled too."""
    return text if text.isprintable() else "".join(char if char.isprintable() else spell_char(char) for char in text)


def spell_lines(text: str) -> str:
    """Returns lines, which end in "\\n" where "\\r\\n" ended them; tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(spell_line, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def shorten(text: str, most: int) -> str:
    """Returns the text without its middle where it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} ... {text[-most // 3 :]}"


def split_lines(text: str) -> list[str]:
    """Returns the lines as compilers count them: a form feed, or what Unicode takes for a line's end, ends none."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


def spell_char(char: str) -> str:
    """Returns the spelling of a character that is not printable."""
    code = ord(char)
    if _FIRST_OF_BYTES <= code < _END_OF_BYTES:
        return f"\\x{code & 0xFF:02x}"
    if code < 0x80:
        return _NAMES.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def encode(text: str) -> bytes:
    """Returns the text in UTF-8 with lone surrogates spelled; it never fails."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return "".join(spell_char(char) if "\ud800" <= char <= "\udfff" else char for char in text).encode()


def decode(data: bytes) -> str:
    """Returns the text of bytes in UTF-8; those that are not are kept, so that `encode_exactly` gives them back."""
    return data.decode("utf-8", "surrogateescape")


def encode_exactly(text: str) -> bytes:
    """Returns the bytes that the text was read from; surrogates that do not stand for bytes are spelled."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        bytes_only = (char if not "\ud800" <= char <= "\udfff" or is_byte(char) else spell_char(char) for char in text)
        return "".join(bytes_only).encode("utf-8", "surrogateescape")


def is_byte(char: str) -> bool:
    """Whether a character stands for a byte that is not UTF-8."""
    return _FIRST_OF_BYTES <= ord(char) < _END_OF_BYTES


def spell_printed(text: str) -> str:
    """Returns a whole text as `OutputGuard` shows it."""
    return OutputGuard().show(text)


class OutputGuard:
    """Shows the parts of a stream one after the other; no line of it is a workflow command, however the parts are cut.

    The second `:` of a line that begins with `::` is spelled `\\x3a`, the `[` of `##name[` is spelled `\\x5b`.
    """

    def __init__(self, is_shared: bool = False) -> None:
        """is_shared: another program writes to the stream too, so that each part may be the beginning of a line."""
        self._is_shared = is_shared
        self._tail = ""

    def show(self, text: str) -> str:
        """Returns the next part as it is printed, its control characters spelled."""
        return self.disarm(spell_lines(text))

    def disarm(self, text: str) -> str:
        """Returns the next part, whose control characters were looked after, so that no line of it is a command."""
        if self._is_shared:
            text = _LINE_COMMAND.sub(r"\1\\x3a", text)
        if ":" in text or "[" in text:
            said = _LINE_COMMAND.sub(r"\1\\x3a", self._tail + text)
            text = ANYWHERE_COMMAND.sub(r"\1\\x5b", said)[len(self._tail) :]
        self._note(text)
        return text

    def _note(self, text: str) -> None:
        """Keep the end of the line that goes on: whether it may become a command shows there."""
        _, ended, line = text.rpartition("\n")
        line = line if ended else self._tail + line
        self._tail = line if len(line) <= _LONGEST_TAIL else "." + line[-_LONGEST_TAIL:]
