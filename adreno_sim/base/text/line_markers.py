"""Lines of a source as findings number them: line markers and #line directives give the file and the line of the text that
follows.

Sources with their includes in place hold such markers (`# 4 "util.h" 1`), generated ones directives (`#line 4 "model.py"`).
"""

from __future__ import annotations

import re

from .spelling import split_lines

_MARKER = re.compile(r'\s*#\s*(?:line\b)?\s*(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?[\s\d]*$')
_ESCAPED = re.compile(r"\\(.)")
OWN_NAMES = ("", "<stdin>", "-")
"""How markers name the source itself."""


def number_lines(source: str, file: str = "") -> dict[int, str]:
    """Returns the lines of `file` in `source` by their numbers; of the source itself for "". The first of two
    counts."""
    found: dict[int, str] = {}
    here, number = "", 1
    for line in split_lines(source):
        marker = _MARKER.match(line) if "#" in line else None
        if marker is not None:
            number = int(marker[1])
            if marker[2] is not None:
                name = _ESCAPED.sub(r"\1", marker[2])
                here = "" if name in OWN_NAMES else name
            continue
        if here == file:
            found.setdefault(number, line)
        number += 1
    return found
