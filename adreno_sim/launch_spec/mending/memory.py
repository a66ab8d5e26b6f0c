"""Patches for accesses: a bound, a test of a pointer, vload and vstore, a sampler that clamps, a test of coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...base.text.c_source import find_closing
from ...findings import Finding, Kind
from .source import Source

_DECLARES = re.compile(r"(?:const\s+|private\s+|__private\s+)*[A-Za-z_]\w*\s+[*A-Za-z_]")
_MOST = 3
"""Comparisons that are tried."""
_SPACE = r"(?:__)?(?:global|local|private|constant)?\s*(?:const\s+)?"
_VECTOR = rf"\*\s*\(\s*{_SPACE}(?P<type>[a-z]+)(?P<lanes>2|3|4|8|16)\s*(?:const\s*)?\*\s*\)"


def mend_bounds(source: Source, finding: Finding, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yields texts in which an access outside a buffer or array is kept inside. sizes: integers that are arguments, by name."""
    yield from _make_strict(source, finding.line)
    offset = source.offset(finding.line, finding.column)
    span = None if offset is None else source.statement(offset)
    access = finding.access
    if span is None or access is None or not access.extent or not access.size:
        return
    statement = source.text[slice(*span)]
    if _DECLARES.match(statement):
        return
    if "null pointer" in finding.message:
        for name in dict.fromkeys(re.findall(r"([A-Za-z_]\w*)\s*\[", statement)):
            yield source.replaced(span, f"if ({name}) {statement}")
        return
    index = _index_of(source, span, access.view)
    for name, value in sizes.items():
        if index and value * access.size == access.extent[0]:
            yield source.replaced(span, f"if ({index} < {name}) {statement}")


def _make_strict(source: Source, line: int) -> Iterator[str]:
    """`<` instead of `<=`, the nearest before the line first."""
    end = source.line_span(line)
    found = list(re.finditer(r"(?<![<])<=", source.code[: end[1] if end else 0]))
    body = source.code.rfind("kernel", 0, end[1] if end else 0)
    for comparison in [one for one in reversed(found) if one.start() > body][:_MOST]:
        yield source.replaced(comparison.span(), "<")


def _index_of(source: Source, span: tuple[int, int], view: str) -> str:
    """The index of the first access of an argument in a statement; "" if it has none."""
    found = re.compile(rf"\b{re.escape(view)}\s*\[").search(source.code, *span)
    closing = find_closing(source.code, found.end() - 1) if found else -1
    return source.text[found.end() : closing].strip() if found and closing > 0 else ""


def mend_alignment(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which vloadN or vstoreN takes the place of a pointer that was cast."""
    line = source.line_span(finding.line)
    if line is None:
        return
    for cast in re.compile(_VECTOR).finditer(source.code, *line):
        end = _operand_end(source, cast.end())
        address = source.text[cast.end() : end].strip()
        if address.startswith("(") and find_closing(address, 0) == len(address) - 1:
            address = address[1:-1]
        lanes = cast["lanes"]
        stored = re.compile(r"\s*=(?!=)\s*").match(source.code, end)
        span = source.statement(cast.start())
        if stored is None:
            yield source.replaced((cast.start(), end), f"vload{lanes}(0, {address})")
        elif span is not None:
            value = source.text[stored.end() : span[1] - 1].strip()
            yield source.replaced((cast.start(), span[1]), f"vstore{lanes}({value}, 0, {address});")


def _operand_end(source: Source, start: int) -> int:
    """Where the operand of a cast ends: a name or brackets, and the brackets behind it."""
    found = re.compile(r"\s*&?\s*[A-Za-z_]?\w*").match(source.code, start)
    end = found.end() if found else start
    while end < len(source.code) and source.code[end] in "([":
        closing = find_closing(source.code, end)
        if closing < 0:
            break
        end = closing + 1
    return end


def mend_image(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which an image is accessed inside its extents, or by a sampler that says what comes outside."""
    if finding.kind is not Kind.IMAGE_WRITE_OUT_OF_RANGE:
        yield from clamp_samplers(source, "CLK_ADDRESS_NONE")
        return
    offset = source.offset(finding.line, finding.column)
    span = None if offset is None else source.statement(offset)
    if span is None or finding.access is None or len(finding.access.extent or ()) != 2:
        return
    statement = source.text[slice(*span)]
    call = re.match(r"write_image(?:f|i|ui|h)\s*\(", statement)
    parts = _arguments(source, span[0] + call.end() - 1) if call else []
    if len(parts) == 3:
        image, at = parts[0], parts[1]
        if finding.access.is_turned:  # a test would hide that
            if turned := re.fullmatch(r"\(int2\)\s*\(([^,()]+),([^,()]+)\)", at):
                yield source.replaced(span, statement.replace(at, f"(int2)({turned[2].strip()}, {turned[1].strip()})", 1))
            return
        test = f"all(({at}) >= 0) && all(({at}) < get_image_dim({image}))"
        yield source.replaced(span, f"if ({test}) {statement}")


def clamp_samplers(source: Source, setting: str) -> Iterator[str]:
    """Yields the text with CLK_ADDRESS_CLAMP_TO_EDGE instead of a setting of samplers."""
    if re.search(rf"\b{setting}\b", source.code):
        parts, last = [], 0
        for found in re.finditer(rf"\b{setting}\b", source.code):
            parts += [source.text[last : found.start()], "CLK_ADDRESS_CLAMP_TO_EDGE"]
            last = found.end()
        yield "".join([*parts, source.text[last:]])


def _arguments(source: Source, opening: int) -> list[str]:
    """The arguments of the call whose bracket is at `opening`."""
    closing, depth, last, found = find_closing(source.code, opening), 0, opening + 1, []
    for at in range(opening + 1, max(closing, opening)):
        char = source.code[at]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            found.append(source.text[last:at].strip())
            last = at + 1
    return [*found, source.text[last:closing].strip()] if closing > 0 else []
