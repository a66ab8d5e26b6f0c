"""Patches for races and barriers: a barrier, its flag, a wait for a copy, an atomic function, a barrier behind a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import Finding
from ...ir.builtins import ASYNC_COPIES
from .source import Source

_FENCE = re.compile(r"CLK_(LOCAL|GLOBAL|IMAGE)_MEM_FENCE")
_EVENT = re.compile(r"\s*(?:event_t\s+)?([A-Za-z_]\w*)\s*=\s*$")
_LOWER = ("sub_group_barrier", "mem_fence", "read_mem_fence", "write_mem_fence")


def mend_race(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which something orders the accesses of a race."""
    if not finding.notes or not finding.notes[0].line:
        return
    low, high = sorted((finding.notes[0].line, finding.line))
    fence = _FENCE.search(finding.help)
    yield from _wait_for_copy(source, low, high)
    if fence is not None:
        yield from _change_flags(source, fence[0], low, high)
        yield from _add_barrier(source, f"barrier({fence[0]});", low, high)
    else:
        yield from _make_atomic(source, finding)


def _wait_for_copy(source: Source, low: int, high: int) -> Iterator[str]:
    for name in ASYNC_COPIES:
        for start, _ in source.calls(name, low, high):
            assigned = _EVENT.search(source.code[:start])
            if assigned is None:
                continue
            wait = f"wait_group_events(1, &{assigned[1]});"
            use = source.offset(high, 1)
            assert use is not None
            waits = [span for span in source.calls("wait_group_events", high) if assigned[1] in source.text[slice(*span)]]
            if not waits:
                yield source.inserted_before(use, wait)
                continue
            line = source.line_span(source.line_of(waits[0][0]))
            if line is not None and source.text[slice(*line)].strip() == source.text[slice(*waits[0])] + ";":
                without = Source(source.replaced((line[0], line[1] + 1), ""))
                yield without.inserted_before(use, source.text[slice(*waits[0])] + ";")


def _change_flags(source: Source, fence: str, low: int, high: int) -> Iterator[str]:
    for name in ("barrier", "work_group_barrier"):
        for start, end in source.calls(name, low, high):
            call = source.text[start:end]
            if _FENCE.search(call) and fence not in call:
                yield source.replaced((start, end), _FENCE.sub(fence, call, count=1))
    for name in _LOWER:
        for start, end in source.calls(name, low, high):
            yield source.replaced((start, end), f"barrier({fence})")


def _add_barrier(source: Source, barrier: str, low: int, high: int) -> Iterator[str]:
    """A barrier before the later line; behind it, in the loop that comes back; behind the block of the earlier one."""
    later = source.offset(high, 1)
    if later is None:
        return
    if low != high:
        yield source.inserted_before(_outside(source, later), barrier)
    closing = source.block_end(later)
    while closing is not None:
        if source.is_loop(closing):
            last = source.offset(source.line_of(closing), 1)
            assert last is not None
            if source.code[last:closing].strip() == "":
                yield source.replaced((last, last), f"{source.body_indent(closing)}{barrier}\n")
        closing = source.block_end(closing + 1)


def _outside(source: Source, offset: int) -> int:
    """The place itself; where its statement hangs on a condition of the line before, that line."""
    start = source.text.rfind("\n", 0, offset) + 1
    before = source.code[:start].rstrip()
    return before.rfind("\n") + 1 if before.endswith((")", "else")) else offset


def _make_atomic(source: Source, finding: Finding) -> Iterator[str]:
    """A sum into memory that work-items share as an atomic function."""
    offset = source.offset(finding.line, finding.column)
    span = None if offset is None else source.statement(offset)
    if span is None:
        return
    target = r"(?P<target>[A-Za-z_]\w*\s*\[.*\]|\*\s*[A-Za-z_]\w*)"
    statement = source.text[slice(*span)]
    for pattern, call in (
        (rf"(?:\+\+\s*)?{target}\s*(?:\+\+)?;$", "atomic_inc({address})"),
        (rf"(?:--\s*)?{target}\s*(?:--)?;$", "atomic_dec({address})"),
        (rf"{target}\s*\+=\s*(?P<value>.*);$", "atomic_add({address}, {value})"),
        (rf"{target}\s*-=\s*(?P<value>.*);$", "atomic_sub({address}, {value})"),
        (rf"{target}\s*\|=\s*(?P<value>.*);$", "atomic_or({address}, {value})"),
    ):
        found = re.fullmatch(pattern, statement)
        if found and ("++" in statement or "--" in statement or "=" in statement):
            place = found["target"]
            address = place.lstrip("* ") if place.startswith("*") else f"&{place}"
            value = found.groupdict().get("value") or ""
            yield source.replaced(span, call.format(address=address, value=value) + ";")


def mend_divergence(source: Source, finding: Finding) -> Iterator[str]:
    """Yields texts in which the barrier is behind the block that only some work-items run."""
    offset = source.offset(finding.line, finding.column)
    span = None if offset is None else source.statement(offset)
    line = source.line_span(finding.line)
    if span is None or line is None or source.text[slice(*line)].strip() != source.text[slice(*span)]:
        return
    closing = source.block_end(span[1])
    if closing is None or source.is_loop(closing) or source.code[span[1] : closing].strip():
        return
    moved = source.inserted_behind(closing, source.text[slice(*span)])
    yield moved[: line[0]] + moved[line[1] + 1 :]
