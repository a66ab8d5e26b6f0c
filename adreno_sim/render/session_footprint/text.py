"""The footprint of a session for people: what stays on the device, a line for each function, the worst moment."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from ...base.output_file import write_text
from ..console import open_console, say_block, teller
from ..markdown import cell
from ..table import Column, figure_column, list_markdown_lines, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.session_footprint.measure import EntryFootprint, SessionFootprint

HEAD = """\
plan = storages of the function as compiled; inputs = besides weights; peak = everything on the device while the function runs,
in whole pages: weights, KV cache and constants of all functions, inputs, plan, workspaces."""


def show(footprint: SessionFootprint, file: IO[str]) -> None:
    """Print it."""
    console = open_console(file)
    say = teller(console)
    say(f"{footprint.source}: {footprint.rules.text}")
    for line in [asked_line(footprint), *resident_lines(footprint)]:
        say(line)
    print_table(console, columns(footprint), footprint.entries)
    say_block(console, HEAD, "dim")
    for line in verdict_lines(footprint):
        say(line)


def write_markdown(path: str | os.PathLike[str], footprint: SessionFootprint) -> None:
    """Write the same as Markdown."""
    lines = [f"#### {cell(footprint.source)}", "", cell(f"{footprint.rules.text}; {asked_line(footprint)}"), ""]
    lines += [f"* {cell(line)}" for line in resident_lines(footprint)]
    lines += ["", *list_markdown_lines(columns(footprint), footprint.entries), ""]
    lines += [cell(line) for line in verdict_lines(footprint)]
    write_text(path, "\n".join(lines) + "\n")


def asked_line(footprint: SessionFootprint) -> str:
    """How long and how many."""
    asked = footprint.lengths
    context = "context not given" if asked.context is None else f"context {asked.context:,}"
    chunk = "" if asked.tokens is None else f", at most {asked.tokens:,} tokens in one call"
    return f"{context}, {asked.batch:,} sequence{'s' if asked.batch > 1 else ''}{chunk}"


def resident_lines(footprint: SessionFootprint) -> list[str]:
    """What stays on the device between calls."""
    lines = [
        f"stays on the device: weights {footprint.weights:,}, KV cache {footprint.state:,}, "
        f"constants {footprint.constants:,} bytes"
    ]
    for cache in footprint.caches:
        lines.append(
            f"KV cache: {len(cache.layers)} layers of {cache.pages:,} pages, each of {cache.page_size} positions of "
            f"{cache.kv_heads} heads of {cache.dim} {cache.dtype}, keys and values; workspaces for {cache.chunk:,} tokens"
        )
    return lines


def columns(footprint: SessionFootprint) -> list[Column[EntryFootprint]]:
    """A line for each function, with its peak under each planner."""
    return [
        Column("function", lambda entry: entry.name),
        text_column("for", describe_symbols),
        figure_column("inputs", lambda entry: f"{entry.inputs:,}"),
        figure_column("plan", lambda entry: f"{entry.row().total:,}"),
        figure_column("peak", lambda entry: f"{entry.row().peak:,}"),
        *(_peak_column(name) for name in footprint.planners()[1:]),
    ]


def _peak_column(planner: str) -> Column[EntryFootprint]:
    return figure_column(f"peak with {planner}", lambda entry: f"{entry.row(planner).peak:,}")


def describe_symbols(entry: EntryFootprint) -> str:
    """The sizes that the plan is for, and what they follow from."""
    return ", ".join(f"{symbol.name}={symbol.high:,} ({symbol.source})" for symbol in entry.symbols)


def verdict_lines(footprint: SessionFootprint) -> list[str]:
    """The worst moment, which plan takes less, and what else there is to say."""
    worst, limit = footprint.worst(), footprint.limit
    lines = [f"worst moment: {worst.name}, {footprint.peak():,} bytes" + (f"; the device has {limit:,}" if limit else "")]
    best = footprint.best()
    if footprint.peak(best) < footprint.peak():
        lines.append(f"least: {best}, {footprint.peak(best):,} bytes")
    for entry in footprint.entries:
        for row in entry.footprint.rows:
            if row.skipped:
                lines.append(f"not planned: {entry.name}: {row.planner}: {row.skipped}")
        lines += [f"{f.severity}: {entry.name}: {f.kind.label}: {f.message}" for f in entry.footprint.findings]
    return lines
