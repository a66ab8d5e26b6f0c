"""What tables of counters show: kernels side by side, and the memory of one."""

from __future__ import annotations

from ...device.counters import LaunchCounters, MemoryCounters, PlaceCounters
from ...engine.abi.counting import BANK_BYTES, BANKS
from ...results.counters import FLOATS, count_operations, find_local, is_texture, list_shared, per_byte, reuse_of
from ..table import Column, figure_column, text_column

Named = tuple[str, LaunchCounters]
"""A kernel and its counters."""

INTEGERS = ("int64", "int32", "int16", "int8")


def _figure(value: int) -> str:
    return f"{value:,}" if value else ""


def _ratio(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def _over_least(rows: list[MemoryCounters]) -> str:
    least = sum(row.least for row in rows)
    return _ratio(sum(row.transactions for row in rows) / least) if least else ""


def _of_local(counters: LaunchCounters) -> list[MemoryCounters]:
    local = find_local(counters)
    return [] if local is None else [local]


KERNELS: list[Column[Named]] = [
    text_column("counters", lambda named: named[0]),
    figure_column("float ops", lambda named: _figure(count_operations(named[1], FLOATS))),
    figure_column("int ops", lambda named: _figure(count_operations(named[1], INTEGERS))),
    figure_column("bytes read", lambda named: _figure(sum(row.read_bytes for row in list_shared(named[1])))),
    figure_column("written", lambda named: _figure(sum(row.written_bytes for row in list_shared(named[1])))),
    figure_column("distinct bytes", lambda named: _figure(named[1].unique_bytes)),
    figure_column("float ops/byte", lambda named: _ratio(per_byte(count_operations(named[1], FLOATS), named[1]))),
    figure_column("lines/least*", lambda named: _over_least(list_shared(named[1]))),
    figure_column("passes/least*", lambda named: _over_least(_of_local(named[1]))),
    figure_column("divergent*", lambda named: _share(named[1].divergent, named[1].wave_branches)),
]
"""Figures of a model have a star."""

MEMORY: list[Column[MemoryCounters]] = [
    text_column("memory", lambda row: row.name if row.name == row.kind else f"{row.name} ({row.kind})"),
    figure_column("reads", lambda row: _figure(row.reads)),
    figure_column("writes", lambda row: _figure(row.writes)),
    figure_column("bytes read", lambda row: _figure(row.read_bytes)),
    figure_column("written", lambda row: _figure(row.written_bytes)),
    figure_column("distinct bytes", lambda row: _figure(row.unique_bytes or 0)),
    figure_column("reuse", lambda row: _ratio(reuse_of(row))),
    figure_column("wave accesses*", lambda row: _figure(row.wave_accesses)),
    figure_column("transactions*", lambda row: _figure(row.transactions)),
    figure_column("least*", lambda row: _figure(row.least)),
]
"""Figures of a model have a star."""


PLACES: list[Column[PlaceCounters]] = [
    text_column("place", lambda place: place.place or "?"),
    text_column("what", lambda place: f"{place.access} {place.name}".rstrip()),
    figure_column("by waves*", lambda place: _figure(place.executed)),
    figure_column("transactions*", lambda place: _figure(place.transactions) if place.access != "branch" else ""),
    figure_column("least*", lambda place: _figure(place.least)),
    figure_column("divergent*", lambda place: _figure(place.transactions) if place.access == "branch" else ""),
]
"""Where a kernel takes more than it needs."""


def model_line(counters: LaunchCounters) -> str:
    """What figures with a star suppose."""
    traced = f"{counters.traced_groups:,} of {counters.groups:,} groups traced"
    return (
        f"exact: follows from the program and its NDRange; *model: waves of {counters.wave_size} work-items, lines of "
        f"{counters.line_bytes} bytes, local memory of {BANKS} banks of {BANK_BYTES} bytes; {traced}"
    )


def detail_lines(counters: LaunchCounters) -> list[str]:
    """What one kernel did, in sentences: operations, branches, barriers, intensity, and where texels lie."""
    operations = ", ".join(f"{type} {count:,}" for type, count in counters.operations.items()) or "none"
    lines = [f"{counters.work_items:,} work-items in {counters.groups:,} groups; operations: {operations}"]
    traffic = counters.unique_read_bytes + counters.unique_written_bytes
    if traffic:
        read = sum(row.read_bytes for row in list_shared(counters))
        written = sum(row.written_bytes for row in list_shared(counters))
        every = per_byte(count_operations(counters), counters)
        floats = per_byte(count_operations(counters, FLOATS), counters)
        lines.append(
            f"buffers and images: {read:,} bytes read, {counters.unique_read_bytes:,} of them distinct; {written:,} written, "
            f"{counters.unique_written_bytes:,} distinct; {_ratio(floats)} floating-point operations for each distinct byte, "
            f"{_ratio(every)} with those on integers"
        )
    if counters.barriers:
        lines.append(f"barriers: {_ratio(counters.barriers / counters.groups).removesuffix('.00')} a group")
    if counters.branches:
        lines.append(
            f"branches: {counters.branches:,} by work-items; *{counters.wave_branches:,} by waves, with "
            f"{counters.divergent:,} divergent ({_share(counters.divergent, counters.wave_branches)})"
        )
    for row in _of_local(counters):
        if row.wave_accesses:
            conflicts = row.transactions - row.least
            lines.append(
                f"local memory: *{row.transactions:,} passes for {row.wave_accesses:,} accesses by waves, "
                f"{conflicts:,} of them for bank conflicts"
            )
    for row in counters.memory:
        if is_texture(row):
            lines.append(
                f"texture {row.name}: *{row.wave_reads:,} texels read from {row.wave_lines:,} lines, each counted once a wave: "
                f"{row.wave_reads / row.wave_lines:.1f} texels a line, {row.wave_lines / counters.traced_waves:.1f} lines a wave"
            )
    return lines
