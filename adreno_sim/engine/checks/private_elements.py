"""Which elements of private variables were written, in vector code: a word for each element, with a bit for each lane.

That is for variables whose lanes lie side by side, and which all lanes access at the same offset: then an access of all lanes
tests or sets the bits of one word, where bytes for each byte would be vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.provenance import DERIVING, is_pointer
from ..emit.pointers import LanePtr
from ..llvm import vector_text as vt
from ..vector.emitter import VectorEmitter
from ..vector.private_room import emit_private_and
from ..vector.vector_plan import VectorPlan

if TYPE_CHECKING:
    from ..llvm.text import Text


def find_variables(plan: VectorPlan, kernel: ir.Function) -> frozenset[int]:
    """Returns the private variables with a word for each element, by the ids of their instructions."""
    variables = {id(i) for i in kernel.blocks[0].instrs if i.op == "alloca" and plan.privates.granule(i) is not None}
    for instr in (i for block in kernel.blocks for i in block.instrs if i.op not in DERIVING):
        for pointer in filter(is_pointer, instr.operands if instr.op != "undefine" else ()):
            variable = plan.privates.variable(pointer)
            place = [pointer, instr.operands[-2]] if builtin_of(instr).vector is not None else [pointer]  # vload4(index, pointer)
            if variable is not None and not all(plan.shapes.shape_at(value, instr).uniform for value in place):
                variables.discard(id(variable))
    copies = [pair for block in kernel.blocks for i in block.instrs if (pair := plan.privates.copied_variables(i)) is not None]
    pairs = [set(map(id, pair)) for pair in copies]
    while apart := [pair for pair in pairs if len(pair & variables) == 1]:  # what is copied is kept alike at both ends
        variables.difference_update(*apart)
    return frozenset(variables)


class PrivateElements:
    """The words of one region's variables. rooms: where in the arena variables have room, as `KernelPlan.private` says."""

    def __init__(self, e: VectorEmitter, variables: frozenset[int], rooms: dict[int, tuple[int, int]]):
        self._e, self._variables, self._rooms = e, variables, rooms
        self._bytes = max(8, e.plan.lanes) // 8
        self._type = f"i{8 * self._bytes}"
        self._bases: dict[int, str] = {}
        self._checked: set[tuple[object, ...]] = set()
        self._checked_in = ""  # the block of the code in which `_checked` elements are written, else the launch runs again

    def holds(self, variable: ir.Instr | None) -> bool:
        """Returns whether a variable has a word for each element."""
        return variable is not None and id(variable) in self._variables

    def emit_clear(self, t: Text, variable: ir.Instr) -> None:
        """Emits code that marks a variable as unwritten in all lanes."""
        self._emit_fill(t, variable, "0")

    def emit_forget(self, variable: ir.Instr, mask: str | None) -> None:
        """Emits code that marks a variable as unwritten by the lanes in `mask`, in the body of the region."""
        self._checked.clear()
        t = self._e.body
        if mask is None:
            self._emit_fill(t, variable, "0")
            return
        others = t.op(f"xor {self._type} {self._lanes(mask)}, -1")
        emit_private_and(t, self._base(variable), self._size(variable) // self._bytes, self._bytes, self._type, others)

    def emit_mark_all(self, t: Text, variable: ir.Instr) -> None:
        """Emits code that marks a variable as written in all lanes."""
        self._emit_fill(t, variable, "-1")

    def emit_missing(self, where: LanePtr, variable: ir.Instr, wanted: list[int], mask: str | None) -> str:
        """Returns an i1: whether a lane in `mask` has not written one of the `wanted` elements from `where` on."""
        t = self._e.body
        words = [self._load(self._address(where, variable, at)) for at in wanted]
        if self._checked_in != t.label:
            self._checked_in, self._checked = t.label, set()
        self._checked.update(self._access(where, variable, at, mask) for at in wanted)
        common = words[0]
        for word in words[1:]:
            common = t.op(f"and {self._type} {common}, {word}")
        absent = t.op(f"xor {self._type} {common}, -1")
        return t.op(f"icmp ne {self._type} {t.op(f'and {self._type} {absent}, {self._lanes(mask)}')}, 0")

    def emit_mark(self, where: LanePtr, variable: ir.Instr, count: int, mask: str | None) -> None:
        """Emits code that marks `count` elements as written by the lanes in `mask`."""
        t, lanes = self._e.body, self._lanes(mask)
        for at in range(count):
            if self._checked_in == t.label and self._access(where, variable, at, mask) in self._checked:
                continue
            address = self._address(where, variable, at)
            word = lanes if mask is None else t.op(f"or {self._type} {self._load(address)}, {lanes}")
            t.do(f"store {self._type} {word}, ptr {address}, align {self._bytes}")

    def _access(self, where: LanePtr, variable: ir.Instr, at: int, mask: str | None) -> tuple[object, ...]:
        return id(variable), where.pointer.offset, at, mask

    def emit_copy(self, there: LanePtr, variable: ir.Instr, where: LanePtr, source: ir.Instr, mask: str | None) -> None:
        """Emits code that copies the state of one element, in the lanes in `mask`."""
        self._checked.clear()
        t, type, lanes = self._e.body, self._type, self._lanes(mask)
        target = self._address(there, variable, 0)
        word = self._load(self._address(where, source, 0))
        if mask is not None:
            kept = t.op(f"and {type} {self._load(target)}, {t.op(f'xor {type} {lanes}, -1')}")
            word = t.op(f"or {type} {kept}, {t.op(f'and {type} {word}, {lanes}')}")
        t.do(f"store {type} {word}, ptr {target}, align {self._bytes}")

    def _emit_fill(self, t: Text, variable: ir.Instr, byte: str) -> None:
        self._e.private_room.fill(t, variable, self._base(variable), byte, self._size(variable))

    def _size(self, variable: ir.Instr) -> int:
        return self._e.privates.slot_bytes(variable) // self._granule(variable) * self._bytes

    def _granule(self, variable: ir.Instr) -> int:
        granule = self._e.privates.granule(variable)
        assert granule is not None
        return granule

    def _base(self, variable: ir.Instr) -> str:
        if id(variable) not in self._bases:
            self._bases[id(variable)] = self._e.private_room.address(variable, self._rooms, self._size(variable))
        return self._bases[id(variable)]

    def _load(self, address: str) -> str:
        return self._e.body.op(f"load {self._type}, ptr {address}, align {self._bytes}")

    def _address(self, where: LanePtr, variable: ir.Instr, at: int) -> str:
        """Returns the address of the word of an element, `at` elements behind `where`."""
        assert where.uniform
        t, granule, base, offset = self._e.body, self._granule(variable), self._base(variable), where.pointer.offset
        if isinstance(offset, int):
            return t.op(f"getelementptr i8, ptr {base}, i64 {(offset // granule + at) * self._bytes}")
        element = t.op(f"udiv i64 {offset}, {granule}")
        if at:
            element = t.op(f"add i64 {element}, {at}")
        return t.op(f"getelementptr {self._type}, ptr {base}, i64 {element}")

    def _lanes(self, mask: str | None) -> str:
        """Returns the lanes in `mask` as a word, None for all."""
        if mask is None:
            return str((1 << self._e.count) - 1)
        bits = vt.bits_of(self._e.body, mask, self._e.count)
        return bits if self._bytes == 4 else self._e.body.op(f"trunc i32 {bits} to {self._type}")
