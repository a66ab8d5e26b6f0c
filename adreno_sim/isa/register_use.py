"""Registers, waves and spills of a kernel on a chip, and the work-groups that they leave room for.

Mesa's compiler says it where it is installed and takes the kernel; else an estimate by live ranges.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..base.code_digest import name_with_code
from ..base.errors import UnsupportedError
from ..base.installed.extras import MissingPackageError
from ..device.machine_code import Range, RegisterUse
from ..ir import ir
from ..ir.builtins import builtin_of
from .chips import MOST_REGISTERS, Chip
from .live_words import find_live_words

_IR3 = "ir3"

_FITS = {96: (5.7, 0.36), 64: (4.5, 0.25), 48: (4.5, 0.25)}
"""By registers of a core's file: registers that a kernel takes besides its live words, and for each of these. Fitted to what ir3
takes for kernels of other projects; it takes more where more cost no wave."""

_FEWER, _MORE = 0.8, 1.25
"""Qualcomm's compiler takes between so much and so much of ir3's registers: 23 and 15 for two products of matrices, where ir3
takes 27 and 12 (https://github.com/moskewcz/boda, doc/sgemm-notes.txt), and 24 at most for TVM's attention, where ir3 takes 27:
it runs in groups of 512 on a 750, and not on a 650 (https://github.com/mlc-ai/mlc-llm/pull/1850)."""

_LEAST, _MOST = 0.6, 1.6
"""Between so much and so much of the estimate lie 95 of 100 kernels."""


def find_register_use(function: ir.Function, chip: Chip) -> RegisterUse:
    """Returns what a kernel takes on a chip, whatever group it requires. It is found once for each kernel and chip, and machine
    code is kept on disk."""
    name = name_with_code(f"registers of {chip.name}", Path(__file__).parent)
    registers, waves, spills, by = function.fact(name, lambda function: _find(function, chip))
    meets = work_items_meet(function)
    least, most = registers
    limits = _find_limits(chip, least, most, by)
    return RegisterUse(function.name, chip.name, (least, most), tuple(waves), tuple(spills), limits, meets, by)


def _find_limits(chip: Chip, least: int, most: int, by: str) -> Range:
    """The limits: where another compiler takes somewhat fewer or more registers than ir3, for at most one step of waves more; an
    estimate is a range already."""
    if by != _IR3:
        return chip.sure_group_limit(most), chip.group_limit(least)
    room = min(chip.group_limit(math.ceil(least * _FEWER)), chip.group_limit(least) + chip.granularity * chip.wave)
    return chip.sure_group_limit(min(MOST_REGISTERS, math.floor(most * _MORE))), room


def estimate_registers(function: ir.Function, chip: Chip) -> Range:
    """Returns the least and the most registers that a kernel is likely to take, without a compiler."""
    base, each = _FITS[chip.file]
    middle = base + each * find_live_words(function)
    return _whole(middle * _LEAST), _whole(middle * _MOST)


def _whole(registers: float) -> int:
    return max(1, min(MOST_REGISTERS, round(registers)))


def _find(function: ir.Function, chip: Chip) -> list[Any]:
    """Registers, waves, spills and who says so, as lists and words."""
    from .compile import compile_kernel  # the translation, for launches of large groups alone

    try:
        (code,) = compile_kernel(function, [chip], free=True)
    except (MissingPackageError, UnsupportedError):
        least, most = estimate_registers(function, chip)
        return [[least, most], [chip.waves(most), chip.waves(least)], [0, 0], "estimate"]
    both = code.rolled, code.unrolled
    figures = [one.registers for one in both], [one.waves for one in both], [one.spills for one in both]
    return [*([min(found), max(found)] for found in figures), _IR3]


def work_items_meet(function: ir.Function) -> bool:
    """Returns whether work-items of a group wait for each other."""
    return function.fact("work-items meet", _find_meeting)


def _find_meeting(function: ir.Function) -> bool:
    return any(builtin_of(instr).sync == "group" for block in function.blocks for instr in block.instrs)
