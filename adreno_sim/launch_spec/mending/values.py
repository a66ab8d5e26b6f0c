"""Patches for values: an initialisation, a conversion that saturates, an image function of the right kind, a cast for printf."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...base.text.c_source import find_closing
from ...findings import Finding
from .source import Source

_CAST = re.compile(r"\(\s*(?P<type>u?char|u?short|u?int|u?long)(?P<lanes>2|3|4|8|16)?\s*\)\s*")
_OPERAND = re.compile(r"[A-Za-z_][\w.]*")
_IDS = re.compile(r"(?<![\w)])(get_(?:global|local|group)_(?:id|size|offset)|get_num_groups|get_global_linear_id)\s*\(")
_READ = re.compile(r"\bread_image(f|i|ui)\s*\(")


def mend_unset(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which a variable has a value from its declaration on."""
    declared = next((note for note in finding.notes if note.label.endswith("without a value")), None)
    offset = None if declared is None else source.offset(declared.line, declared.column)
    if offset is None:
        return
    name = re.compile(r"\w+").match(source.code, offset)
    end = name.end() if name else offset
    is_array = False
    while source.code[end : end + 1] == "[":
        closing = find_closing(source.code, end)
        if closing < 0:
            return
        end, is_array = closing + 1, True
    values = ("{0}",) if is_array else ("0", "{0}")
    for value in values:
        yield source.replaced((end, end), f" = {value}")


def mend_conversion(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which a cast to an integer is a conversion that saturates."""
    line = source.line_span(finding.line)
    if line is None:
        return
    for cast in _CAST.finditer(source.code, *line):
        end = _operand_end(source, cast.end())
        if end > cast.end():
            operand = source.text[cast.end() : end]
            inner = operand[1:-1] if operand.startswith("(") and find_closing(operand, 0) == len(operand) - 1 else operand
            yield source.replaced((cast.start(), end), f"convert_{cast['type']}{cast['lanes'] or ''}_sat({inner})")


def _operand_end(source: Source, start: int) -> int:
    name = _OPERAND.match(source.code, start)
    end = name.end() if name else start
    while end < len(source.code) and source.code[end] in "([" and (closing := find_closing(source.code, end)) > 0:
        end = closing + 1
    return end


def mend_format(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts that read an image by the function of another kind and convert what it gives."""
    line = source.line_span(finding.line)
    for read in _READ.finditer(source.code, *line) if line else ():
        closing = find_closing(source.code, read.end() - 1)
        for kind in ("i", "ui", "f"):
            if closing > 0 and kind != read[1] and read[1] == "f":
                call = f"read_image{kind}{source.text[read.end() - 1 : closing + 1]}"
                yield source.replaced((read.start(), closing + 1), f"convert_float4({call})")


def mend_printed(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which ids, which have the size of size_t, are cast to int for printf."""
    offset = source.offset(finding.line, finding.column)
    span = None if offset is None else source.statement(offset)
    if span is not None:
        code = source.code[slice(*span)]
        parts, last = [], 0
        for found in _IDS.finditer(code):
            parts += [source.text[span[0] + last : span[0] + found.start()], "(int)"]
            last = found.start()
        if parts:
            yield source.replaced(span, "".join([*parts, source.text[span[0] + last : span[1]]]))
