"""Shadow granularity: the unit in which races are detected. It divides position and size of every access, so no access shares
a unit with bytes it does not touch."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_atomic, is_plain_load
from ...ir.provenance import ObjectId, Provenance, is_pointer
from ...records import dataclass
from ..abi.element_bytes import element_bytes
from ..analysis.lane_uses import LaneUses

MAX_GRANULARITY = 16


@dataclass(frozen=True)
class Granularities:
    """Bytes (a power of two) that divide offset and size of every access to an object.

    `unknown`: some pointer may point anywhere, so all objects share one granularity. `read`: the objects that are read;
    `atomic`: those that atomic operations access; `has_atomics`: there are some, to known objects or others.
    """

    by_object: dict[ObjectId, int]
    least: int
    unknown: bool
    read: frozenset[ObjectId]
    atomic: frozenset[ObjectId]
    has_atomics: bool

    def of(self, object_id: ObjectId) -> int:
        """Returns the granularity of one object."""
        return self.least if self.unknown else self.by_object.get(object_id, MAX_GRANULARITY)


def granularities_of(function: ir.Function, provenance: Provenance | None = None) -> Granularities:
    """Returns the granularities of all objects of a function."""
    provenance, uses = provenance or Provenance(function), LaneUses(function)
    by_object: dict[ObjectId, int] = {}
    least, unknown, has_atomics = MAX_GRANULARITY, False, False
    read: set[ObjectId] = set()
    atomic: set[ObjectId] = set()
    for block in function.blocks:
        for instr in block.instrs:
            for position, whole in accesses_of(instr):
                pointer = instr.operands[position]
                size = whole if is_used_whole(instr, uses) else whole // llvm_types.lanes_of(instr.type)
                granularity = min(largest_power_of_two(size), provenance.align(pointer))
                object_id = provenance.object_id(pointer)
                least = min(least, granularity)
                has_atomics = has_atomics or is_atomic(instr)
                if object_id is None:
                    unknown = True
                    continue
                if is_atomic(instr):
                    atomic.add(object_id)
                by_object[object_id] = min(by_object.get(object_id, MAX_GRANULARITY), granularity)
                if not is_write_only(instr, position):
                    read.add(object_id)
    return Granularities(by_object, least, unknown, frozenset(read), frozenset(atomic), has_atomics)


_Parts = tuple[dict[ObjectId, int], int, bool, frozenset[ObjectId], frozenset[ObjectId], bool]
"""The fields of Granularities, as which a kernel keeps them."""


def argument_granularities(function: ir.Function) -> Granularities:
    """Returns `granularities_of` restricted to arguments. The function caches it as a fact."""

    def found(function: ir.Function) -> _Parts:
        whole = granularities_of(function)
        by_object = {object_id: granularity for object_id, granularity in whole.by_object.items() if object_id[0] == "param"}
        return by_object, whole.least, whole.unknown, _of_params(whole.read), _of_params(whole.atomic), whole.has_atomics

    return Granularities(*function.fact("argument_grains", found))


def _of_params(objects: frozenset[ObjectId]) -> frozenset[ObjectId]:
    return frozenset(object_id for object_id in objects if object_id[0] == "param")


def is_used_whole(instr: ir.Instr, uses: LaneUses) -> bool:
    """Returns whether an access is of all its elements. Of a vector that is loaded, lanes that nothing uses are not accessed."""
    return not (is_plain_load(instr) and isinstance(instr.type, ir.Vector)) or len(uses.demand(instr).any) == instr.type.count


def used_runs(instr: ir.Instr, uses: LaneUses) -> list[tuple[int, int]]:
    """Returns the used lanes of a vector that is loaded, as runs: the first lane, and how many."""
    runs: list[tuple[int, int]] = []
    for lane in sorted(uses.demand(instr).any):
        first, count = runs[-1] if runs else (lane, 0)
        if first + count == lane and runs:
            runs[-1] = first, count + 1
        else:
            runs.append((lane, 1))
    return runs


def largest_power_of_two(value: int) -> int:
    """Returns the largest power of two, up to MAX_GRANULARITY, that divides `value`."""
    return min(MAX_GRANULARITY, value & -value) if value else MAX_GRANULARITY


def is_write_only(instr: ir.Instr, position: int) -> bool:
    """Returns whether the access through operand `position` reads nothing."""
    if instr.op == "store" or (instr.op in ("memcpy", "memmove", "memset") and position == 0):
        return True
    return builtin_of(instr).effect(sum(is_pointer(operand) for operand in instr.operands[:position])) == "write"


def accesses_of(instr: ir.Instr) -> list[tuple[int, int]]:
    """Returns (operand, bytes) of the accesses of an instruction. The bytes divide the distance of its elements."""
    if instr.op == "load":
        return [(0, _size(instr.type))]
    if instr.op == "store":
        value = instr.operands[0]
        return [(1, 8 if is_pointer(value) else _size(value.type))]
    if instr.op in ("atomicrmw", "cmpxchg"):
        return [(0, _size(instr.operands[1].type))]
    if instr.op in ("memcpy", "memmove", "memset"):
        length = instr.operands[2]
        size = length.value if isinstance(length, ir.Const) and isinstance(length.value, int) else 1
        return [(0, size)] if instr.op == "memset" else [(0, size), (1, size)]
    return _of_call(instr) if instr.op == "call" and instr.callee is not None else []


def _of_call(instr: ir.Instr) -> list[tuple[int, int]]:
    assert instr.callee is not None
    row = builtin_of(instr)
    pointers = [position for position, operand in enumerate(instr.operands) if is_pointer(operand)]
    if row.vector is not None:
        value = instr.operands[0] if row.vector.stores else instr
        elem = 2 if row.vector.half else llvm_types.size_of(llvm_types.elem_of(value.type))
        return [(position, elem * llvm_types.lanes_of(value.type)) for position in pointers]
    if row.atomic:
        return [(position, 4) for position in pointers]
    if row.effect(0) == "none":
        return []
    return [(position, element_bytes(instr.callee.args[position])) for position in pointers]


def _size(type: ir.Type) -> int:
    return 8 if isinstance(type, (ir.Pointer, ir.Event)) else max(1, llvm_types.store_size(type))
