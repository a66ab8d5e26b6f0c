"""What a launch asks about a kernel whatever its arguments are, and what is kept with the kernel on disk.

It lies here and not with the device, so that the engine and what is below it decide all that an entry of a program holds.
"""

from __future__ import annotations

from collections import Counter

from ...ir import ir
from ...ir.layout import size_of
from ...ir.mod_ref import read_arguments, written_arguments
from ...ir.queries import globals_of, private_bytes
from ..shadow.granularity import argument_granularities


def analyse(function: ir.Function) -> None:
    """Find out all that a launch asks about a kernel, so that it is kept with it on disk."""
    written_arguments(function)
    read_arguments(function)
    argument_granularities(function)
    data_bytes(function)


def data_bytes(function: ir.Function) -> Counter[int]:
    """Bytes of variables in memory that a kernel uses, by address space: of the program, and private ones of a work-item."""
    return Counter(function.fact("data_bytes", _count_data_bytes))


def _count_data_bytes(function: ir.Function) -> dict[int, int]:
    total: Counter[int] = Counter()
    for variable in globals_of(function):
        total[variable.space] += size_of(variable.type)
    total[ir.PRIVATE] += sum(private_bytes(i) for i in function.blocks[0].instrs if i.op == "alloca")
    return dict(total)
