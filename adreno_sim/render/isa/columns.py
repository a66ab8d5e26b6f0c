"""What the table of machine code shows: a kernel and chip in each row, two figures where unrolling loops changes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...device.machine_code import KernelCode, MachineCode
from ..table import Column, figure_column, text_column


def _range(show: Callable[[MachineCode], int]) -> Callable[[KernelCode], str]:
    """The figure with loops left, and with loops unrolled where that is another."""

    def text(kernel: KernelCode) -> str:
        rolled, unrolled = show(kernel.rolled), show(kernel.unrolled)
        return f"{rolled:,}" if rolled == unrolled else f"{rolled:,}..{unrolled:,}"

    return text


COLUMNS: list[Column[KernelCode]] = [
    text_column("machine code", lambda kernel: kernel.kernel),
    text_column("chip", lambda kernel: kernel.chip),
    figure_column("registers", _range(lambda code: code.registers)),
    figure_column("waves", _range(lambda code: code.waves)),
    figure_column("group limit", _range(lambda code: code.group_limit)),
    figure_column("lanes", _range(lambda code: code.lanes)),
    figure_column("spills", _range(lambda code: code.spills)),
    figure_column("private bytes", _range(lambda code: code.private_bytes)),
    figure_column("instructions", _range(lambda code: code.instructions.total)),
    figure_column("ALU", _range(lambda code: code.instructions.alu_full)),
    figure_column("ALU half", _range(lambda code: code.instructions.alu_half)),
    figure_column("special", _range(lambda code: code.instructions.special)),
    figure_column("texture", _range(lambda code: code.instructions.texture)),
    figure_column("memory", _range(lambda code: code.instructions.memory)),
    figure_column("flow", _range(lambda code: code.instructions.flow)),
    figure_column("nops", _range(lambda code: code.instructions.nops)),
    figure_column("preamble", _range(lambda code: code.instructions.preamble)),
    figure_column("ss", _range(lambda code: code.ss)),
    figure_column("sy", _range(lambda code: code.sy)),
]
"""A range is: all loops left .. loops of known length unrolled."""


def note_lines(kernels: Sequence[KernelCode]) -> Iterator[str]:
    """Says what the figures suppose, and which kernels they are not whole for."""
    yield (
        "by Mesa's ir3, not Qualcomm's compiler; registers of 4 words; A..B: with all loops left, and with loops of known length "
        "unrolled"
    )
    for chip, other in {one.chip: one.code_of for one in kernels if one.code_of}.items():
        yield f"{chip}: Mesa makes no code from OpenCL for it; shown is the code for {other}"
    for kernel in {one.kernel: one for one in kernels}.values():
        if kernel.stand_ins:
            yield f"{kernel.kernel}: the hardware's functions are used for the library's {', '.join(kernel.stand_ins)}"
        if kernel.omitted:
            yield f"{kernel.kernel}: left out: {'; '.join(kernel.omitted)}"
