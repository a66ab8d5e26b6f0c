"""Values that stand for operands: with them, emitters of single instructions also serve if an operand is not a value of the
kernel.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.provenance import Ptr
from ..emit.emitter import Emitter


class Placeholders:
    """The placeholders that are in use. They are kept until they are released: no other value gets their id."""

    def __init__(self, e: Emitter):
        self._e = e
        self._made: list[ir.Instr] = []

    def make(self, type: ir.Type, operand: str) -> ir.Instr:
        """Returns a value that is `operand`."""
        value = ir.Instr("phi", type)
        self._e.values[id(value)] = operand
        self._made.append(value)
        return value

    def make_pointer(self, type: ir.Type, pointer: Ptr) -> ir.Instr:
        value = self.make(type, "")
        self._e.pointers[id(value)] = pointer
        return value

    def release(self) -> None:
        for value in self._made:
            self._e.values.pop(id(value), None)
            self._e.pointers.pop(id(value), None)
        self._made.clear()
