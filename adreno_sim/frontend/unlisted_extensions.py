"""Extensions that a source enables and that the device does not list: a driver's compiler may refuse them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from ..findings import Finding, Kind
from .diagnostics import Diagnostic

_NAME = re.compile(r"OpenCL extension '(\w+)' ?(?:unknown or does not require pragma)?")
_OFF = re.compile(r":\s*disable\b")


def find_unlisted_extensions(warnings: Iterable[object], listed: Collection[str]) -> Iterator[Finding]:
    """A finding for each pragma that enables an extension which is not `listed`, by what clang says of it. A pragma behind
    #ifdef of an extension that is not there is none."""
    for warning in warnings:
        if not isinstance(warning, Diagnostic) or not (found := _NAME.search(warning.message)):
            continue
        if found[1] not in listed and not _OFF.search(warning.source):
            sentence = (
                f"the source enables {found[1]}, which the device does not list: its compiler may refuse it; ask by #ifdef "
                f"{found[1]}"
            )
            detail: dict[str, object] = {"source": warning.source.strip()} if warning.source else {}
            yield Finding(
                Kind.EXTENSION_NOT_LISTED, sentence, line=warning.line, column=warning.column, file=warning.file, detail=detail
            )
