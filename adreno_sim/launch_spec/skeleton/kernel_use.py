"""What the code of a kernel says of its launch: axes, groups, element types, image formats, what it reads and writes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from ...ir import ir
from ...ir.memory_ops import address_operands
from ...ir.mod_ref import read_arguments, written_arguments
from ...ir.provenance import Provenance

_OF_AXES = ("get_global_id", "get_global_size", "get_group_id", "get_local_id", "get_local_size", "get_num_groups")
_OF_GROUPS = ("get_group_id", "get_local_id", "get_local_size", "get_num_groups", "get_local_linear_id")
_CHANNELS = (
    ("imagef", "FLOAT"), ("imageh", "HALF_FLOAT"), ("imageui", "UNSIGNED_INT32"), ("imagei", "SIGNED_INT32"),
)  # fmt: skip
"""End of an image function's name, and the channel type that it is for."""


class KernelUse:
    """Facts about one kernel's code."""

    def __init__(self, function: ir.Function):
        self.function = function
        self.read, self.written = read_arguments(function), written_arguments(function)

    @cached_property
    def axes(self) -> int:
        """Axes of work-items that the kernel asks for; 1 at least. reqd_work_group_size counts."""
        asked = [_axis(instr) for instr in self._calls() if instr.callee and instr.callee.name in _OF_AXES]
        required = [axis for axis, size in enumerate(self.function.required_work_group_size or ()) if size > 1]
        return 1 + max([0, *asked, *required])

    @cached_property
    def needs_groups(self) -> bool:
        """Whether the size of a work-group means something to the kernel."""
        named = {instr.callee.name for instr in self._calls() if instr.callee}
        return bool(named & {*_OF_GROUPS, "barrier", "work_group_barrier"}) or self.local_elements > 0 or self._has_local_argument

    @cached_property
    def local_elements(self) -> int:
        """Elements of the largest local array, vectors counting as one; 0 without any."""
        found = [
            operand.type
            for instr in self._instrs()
            for operand in instr.operands
            if isinstance(operand, ir.Global) and operand.space == ir.LOCAL
        ]
        return max(map(_count_elements, found), default=0)

    @property
    def _has_local_argument(self) -> bool:
        return any(isinstance(param.type, ir.Pointer) and param.type.space == ir.LOCAL for param in self.function.params)

    @cached_property
    def accessed(self) -> dict[int, set[str]]:
        """numpy names of the scalars that plain loads and stores move, by the position of the argument they go through."""
        found: dict[int, set[str]] = {}
        provenance = Provenance(self.function)
        for instr in self._instrs():
            if instr.op not in ("load", "store"):
                continue
            moved = instr.type if instr.op == "load" else ir.type_of(instr.operands[0])
            for pointer in address_operands(instr):
                match provenance.object_id(pointer):
                    case ("param", int(index)):
                        found.setdefault(index, set()).add(scalar_name(moved))
        return found

    def channel_type(self, param: ir.Param) -> str:
        """What the functions that access an image expect of it; FLOAT where none says."""
        for instr in self._calls():
            if instr.callee is not None and any(operand is param for operand in instr.operands):
                for end, channel_type in _CHANNELS:
                    if instr.callee.name.endswith(end):
                        return channel_type
        return "FLOAT"

    def _instrs(self) -> Iterator[ir.Instr]:
        return (instr for block in self.function.blocks for instr in block.instrs)

    def _calls(self) -> Iterator[ir.Instr]:
        return (instr for instr in self._instrs() if instr.op == "call")


def scalar_name(type: ir.Type) -> str:
    """numpy's name of a scalar or of a vector's elements, integers as signed; "" of anything else."""
    scalar = type.elem if isinstance(type, ir.Vector) else type
    if isinstance(scalar, ir.Float):
        return f"float{scalar.bits}"
    return f"int{scalar.bits}" if isinstance(scalar, ir.Int) and scalar.bits >= 8 else ""


def _axis(instr: ir.Instr) -> int:
    """The axis that a query of ids or sizes asks for; 0 where it is computed, or there is none."""
    axis = instr.operands[0] if instr.operands else None
    value = axis.value if isinstance(axis, ir.Const) else 0
    return value if isinstance(value, int) and value < 3 else 0


def _count_elements(type: ir.Type) -> int:
    counts = []
    while isinstance(type, ir.Array):
        counts.append(type.count)
        type = type.elem
    return math.prod(counts) if counts else 0
