"""Whether a program may depend on files: then its text does not say what it is, and it is compiled whenever it is built."""

from __future__ import annotations

import re

from .options import BuildOptions

_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t\v\f\r]*\n")
"""A line that goes on in the next one (C11 5.1.1.2), as clang takes it: white space behind the backslash included."""

_DIRECTIVE = re.compile(r"\b(?:include|include_next|import|embed|__has_include|__has_include_next|__has_embed)\b")
"""The names of everything in a source that reads files. No macro can stand for a directive, so that one of them is there."""
_STEMS = ("include", "import", "embed")
"""Each of these names holds one: a search for a text is many times as fast as one for an expression."""


def may_read_files(source: str, options: BuildOptions) -> bool:
    """Returns True if `source` names a directive that reads or looks for a file, in a comment too, or `options` name a folder."""
    return bool(options.folders) or any(map(names_files, (source, *options.arguments)))


def names_files(text: str) -> bool:
    """Returns True if a source, or an option, has the name of a directive that reads or looks for a file, in a comment too."""
    text = splice(text)
    return any(word in text for word in _STEMS) and _DIRECTIVE.search(text) is not None


def splice(text: str) -> str:
    """The text with lines that go on in the next one joined to it."""
    return _SPLICE.sub("", text)
