"""Machine code for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from ...base.text.stream import show_on
from ...device.machine_code import KernelCode, MachineCode
from ...results.machine_code import MachineCodeReport
from ..console import open_console, teller
from ..table import print_table
from .columns import COLUMNS, note_lines

if TYPE_CHECKING:
    from rich.console import Console


def show(report: MachineCodeReport, file: IO[str]) -> None:
    """Print the table, and why kernels are missing in it."""
    console = open_console(show_on(file))
    known = {(one.kernel, one.chip): replace(one, kernel=f"{one.kernel} (before)") for one in report.before}
    rows = [(known.get((one.kernel, one.chip)), one) for one in report.kernels]
    show_kernels(console, [row for pair in rows for row in pair if row is not None])
    for refused in report.refused:
        teller(console)(f"{refused.kernel}: {refused.reason}")
    for sentence in report.beyond:
        teller(console)(sentence)


def show_kernels(console: Console, kernels: Sequence[KernelCode]) -> None:
    """Print a row for each kernel and chip, and what the figures suppose."""
    if kernels:
        print_table(console, COLUMNS, kernels)
        for line in note_lines(kernels):
            teller(console)(line)


def assembly_text(kernels: Sequence[KernelCode]) -> str:
    """Returns the assembly of each kernel and chip: with loops unrolled, and with loops left where that is other code."""
    parts = []
    for kernel in kernels:
        same = kernel.unrolled.text == kernel.rolled.text
        parts.append(f"; {kernel.kernel} for {kernel.chip}{'' if same else ', loops unrolled'}\n{_with_lines(kernel.unrolled)}\n")
        if not same:
            parts.append(f"; {kernel.kernel} for {kernel.chip}, loops left\n{_with_lines(kernel.rolled)}\n")
    return "\n".join(parts)


def _with_lines(code: MachineCode) -> str:
    """The assembly, before each instruction the line of the source that it is made of, where that is known."""
    rows = zip(code.text.splitlines(), code.lines, strict=True)
    return "\n".join(f"{line or '':>5}  {text}".rstrip() for text, line in rows).strip("\n")
