"""What is kept on disk of a kernel's body, so that a launch of a kernel that another process built needs no body."""

from __future__ import annotations

from ...engine.run.program_facts import analyse
from ...ir import ir
from .driver_errata import find_met_in_body
from .sub_groups import takes_half_wave


def analyse_kernel(function: ir.Function) -> None:
    """Gives a kernel its facts: those of the engine, and what the device asks before a launch."""
    analyse(function)
    find_met_in_body(function)
    takes_half_wave(function)
