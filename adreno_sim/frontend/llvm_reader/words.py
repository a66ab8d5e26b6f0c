"""The words of LLVM's text that every part of the reader meets: names, text in quotes, and what may follow an instruction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...base.errors import UnsupportedError

SYMBOL = r'@(?:"[^"]*"|[-\w.$]+)'
"""Pattern of a name of the module: a quote inside the quotes is escaped."""
NAME = re.compile(r'[%@](?:"[^"]*"|[-\w.$]+)')
_ESCAPE = re.compile(rb"\\(?:(\\)|([0-9A-Fa-f]{2})|)")
_MARKER_ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))", re.DOTALL)
_MARKER_LETTERS = {b"t": b"\t", b"n": b"\n"}


def read_quoted(text: str) -> bytes:
    r"""Returns the bytes that text between quotes stands for: `\\` is a backslash, and `\` with two digits any byte.

    LLVM writes what is not ASCII with digits. UnsupportedError for what it never writes.
    """
    if not text.isascii():
        raise refusal(text, 0, "ASCII in quotes")
    return _ESCAPE.sub(_unescape, text.encode()) if "\\" in text else text.encode()


def _unescape(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return b"\\"
    if found[2] is None:
        raise refusal(found.string.decode(), found.start(), r"\\ or two hexadecimal digits after a backslash")
    return bytes([int(found[2], 16)])


def read_text(text: str) -> str:
    """Returns text between quotes as the UTF-8 that it is."""
    return read_quoted(text).decode("utf-8", "surrogateescape")


def unquote(name: str) -> str:
    """Returns a name, `ab` or `"a b"`, without quotes and escapes."""
    return read_text(name[1:-1]) if name[:1] == '"' else name


def read_marker_name(text: str) -> str:
    r"""Returns the file name in a line marker of preprocessed text: `\` stands before a quote, a backslash, or the three octal
    digits of a byte that is not printed."""

    def unescape(found: re.Match[bytes]) -> bytes:
        return bytes([int(found[1], 8)]) if found[1] else _MARKER_LETTERS.get(found[2], found[2])

    return _MARKER_ESCAPE.sub(unescape, text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def match_lines(form: re.Pattern[str], text: str, word: str) -> Iterator[re.Match[str]]:
    """Yields the matches of `form` at the lines of `text` that begin with `word`."""
    at = 0
    while at >= 0:
        if text.startswith(word, at) and (found := form.match(text, at)):
            yield found
        at = text.find("\n" + word, at)
        at += at >= 0  # behind the break


def expect(text: str, at: int, word: str) -> int:
    """Returns the position behind `word`, which must stand at `at`."""
    if not text.startswith(word, at):
        raise refusal(text, at, repr(word))
    return at + len(word)


def name_at(text: str, at: int) -> tuple[str, int]:
    """Returns the name at `at`, with its sigil and as it is written, and the position behind it."""
    found = NAME.match(text, at)
    if found is None:
        raise refusal(text, at, "a name")
    return found[0], found.end()


def find(text: str, at: int, word: str) -> int:
    """Returns where `word` stands from `at` on. It must be there."""
    found = text.find(word, at)
    if found < 0:
        raise refusal(text, at, f"{word!r} in what follows")
    return found


def refusal(text: str, at: int, wanted: str) -> UnsupportedError:
    """Returns the error for text that is not understood."""
    return UnsupportedError(f"unsupported: LLVM text {text[at : at + 40]!r}: expected {wanted}")
