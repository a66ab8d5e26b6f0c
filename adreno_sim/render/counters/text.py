"""Counters for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...device.counters import LaunchCounters
from ...results.counters import list_wasteful
from ..console import teller
from ..table import print_table
from . import columns

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 10
"""Places that are listed, at most."""


def show_kernels(console: Console, kernels: Sequence[columns.Named]) -> None:
    """Print a row for each kernel, then what the figures suppose."""
    if kernels:
        print_table(console, columns.KERNELS, kernels)
        teller(console)(columns.model_line(_add(kernels)))


def show_kernel(console: Console, name: str, counters: LaunchCounters) -> None:
    """Print all facts about one kernel."""
    say = teller(console)
    say(f"counters of {name}:")
    for line in columns.detail_lines(counters):
        say(f"  {line}")
    if counters.memory:
        print_table(console, columns.MEMORY, counters.memory)
    wasteful = list_wasteful(counters)
    if wasteful:
        print_table(console, columns.PLACES, wasteful[:SHOWN])
    if len(wasteful) > SHOWN:
        say(f"{len(wasteful) - SHOWN} more places; the JSON has them all")
    say(columns.model_line(counters))


def _add(kernels: Sequence[columns.Named]) -> LaunchCounters:
    total = kernels[0][1]
    for _, counters in kernels[1:]:
        total += counters
    return total
