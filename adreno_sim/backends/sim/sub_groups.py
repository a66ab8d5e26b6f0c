"""How many work-items a sub-group of a kernel has, where the device's compiler chooses.

Up to 7xx Adreno's compiler takes the full wave where halves dominate a kernel and the half one where floats do, unless the
kernel asks for one (https://github.com/ggml-org/llama.cpp/pull/23312); 8xx has one size. Which it takes for a kernel that
computes with neither is not public: the full wave here.
"""

from __future__ import annotations

from pathlib import Path

from ...base.code_digest import name_with_code
from ...ir import ir, llvm_types
from ...ir.builtins import BUILTINS, builtin_of
from ...profiles.profile import Profile

_QUERIES = frozenset(name for name, row in BUILTINS.items() if row.query and "sub_group" in name)
_LOADS = ("load", "store", "phi", "getelementptr", "alloca")


def choose_size(function: ir.Function, profile: Profile) -> int:
    """Work-items of a full sub-group of a kernel on a device."""
    wanted = function.required_sub_group_size
    if not wanted and profile["sub_group_rule"] == "by_type" and takes_half_wave(function):
        wanted = "half"
    return profile.wave_size(wanted)


def takes_half_wave(function: ir.Function) -> bool:
    """Whether a kernel sees sub-groups, and computes with floats at least as often as with halves."""
    return function.fact(name_with_code("takes half waves", Path(__file__)), _takes_half_wave)


def _takes_half_wave(function: ir.Function) -> bool:
    count = {16: 0, 32: 0}
    for block in function.blocks:
        for instr in block.instrs:
            type = llvm_types.elem_of(instr.type)
            if isinstance(type, ir.Float) and type.bits in count and instr.op not in _LOADS:
                count[type.bits] += 1
    return sees_sub_groups(function) and count[32] > 0 and count[32] >= count[16]


def sees_sub_groups(function: ir.Function) -> bool:
    """Returns whether a kernel asks for sub-groups, or has one meet."""
    return function.fact(name_with_code("sees sub-groups", Path(__file__)), _sees_sub_groups)


def _sees_sub_groups(function: ir.Function) -> bool:
    return any(_asks(instr) for block in function.blocks for instr in block.instrs)


def _asks(instr: ir.Instr) -> bool:
    return instr.callee is not None and (instr.callee.name in _QUERIES or builtin_of(instr).sync == "wave")
