"""What a compiler says of an image that is used against its access qualifier, in the words of the source: it lists twenty
functions that take other images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .diagnostics import Diagnostic

_NO_FUNCTION = re.compile(r"no matching function for call to '(read|write)_image(?:f|i|ui|h)'")
_ACCESS = "read_only|write_only|read_write"
_OTHER_ACCESS = re.compile(
    rf"no known conversion from '[^']*__(?P<has>{_ACCESS}) (?P<type>image\w+_t)' to '[^']*__(?:{_ACCESS}) (?P=type)'"
)
_CALL = re.compile(r"\w+\s*\(\s*(?P<image>[A-Za-z_]\w*)")


def name_access(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Returns the diagnostics with one note, which names the image and its access, instead of functions that do not fit."""
    named: list[Diagnostic] = []
    position = 0
    while position < len(found):
        error = found[position]
        end = position + 1
        while end < len(found) and found[end].severity == "note":
            end += 1
        named.append(error)
        notes = found[position + 1 : end]
        told = _describe(error, notes)
        named += [replace(error, severity="note", message=told, source="", caret="")] if told else notes
        position = end
    return named


def _describe(error: Diagnostic, notes: Sequence[Diagnostic]) -> str:
    call = _NO_FUNCTION.search(error.message)
    access = next((match for note in notes if (match := _OTHER_ACCESS.search(note.message))), None)
    if call is None or access is None:
        return ""
    needs = "read_only" if call[1] == "read" else "write_only"
    if access["has"] in (needs, "read_write"):
        return ""
    named = _CALL.match(error.source[error.caret.find("^") :]) if error.caret else None
    image = named["image"] if named else "the image"
    return f"{image} is {access['has']}: expected an image that is {needs}, or read_write (OpenCL 2.0, without a sampler)"
