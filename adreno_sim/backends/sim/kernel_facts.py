"""What is kept on disk of a kernel's body, so that a launch of a kernel that another process built needs no body."""

from __future__ import annotations

from ...engine.run.program_facts import analyse
from ...ir import ir
from ...ir.nonfinite_constants import nonfinite_constants
from .driver_errata import find_met_in_body
from .sub_groups import sees_sub_groups, takes_half_wave


def analyse_kernel(function: ir.Function) -> None:
    """Gives a kernel its facts: those of the engine, and what the device, or who watches it, asks before a launch."""
    analyse(function)
    find_met_in_body(function)
    nonfinite_constants(function)
    sees_sub_groups(function)
    takes_half_wave(function)
