"""Instructions that access memory or compute addresses."""

from __future__ import annotations

import re

from ...base.errors import UnsupportedError
from ...ir import ir, layout
from ...ir.ir import PRIVATE, Instr, Int, Pointer
from .operands import ACCESS_END, BOOL, OperandReader, end, read_align
from .words import expect, refusal

_ALLOCA_END = re.compile(r"(?:, align (\d+))?")

_MOST_BYTES = 1 << 30
"""Of a private variable: one work-item alone would have all that a work-group may have."""


class MemoryInstructions(OperandReader):
    """Handlers of alloca, load, store, getelementptr, fence, atomicrmw and cmpxchg."""

    def _op_alloca(self, text: str, instr: Instr) -> Instr:
        instr.elem, at = self.types.type_at(text, 0)
        instr.type = Pointer(PRIVATE)
        if text.startswith(", i", at):
            count, _, at = self._next(text, at)
            if not isinstance(count, ir.Const):
                raise UnsupportedError("unsupported: an array of variable length")
            instr.operands = [count]
        instr.align = int(end(text, at, _ALLOCA_END)[1] or 0)
        instr.name = instr.name.removesuffix(".addr")
        nbytes = layout.size_of(instr.elem) if isinstance(instr.elem, (ir.Array, ir.Struct)) else 0
        if nbytes > _MOST_BYTES:
            raise UnsupportedError(f"unsupported: variable {instr.name} of {nbytes} bytes: expected at most {_MOST_BYTES}")
        return instr

    def _op_load(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        instr.type, at = self.types.type_at(text, at)
        pointer, at = self._pointer(text, expect(text, at, ", "))
        instr.align = read_align(text, at)
        instr.operands = [pointer]
        return instr

    def _op_store(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        value, _, at = self._typed(text, at)
        pointer, at = self._pointer(text, expect(text, at, ", "))
        instr.align = read_align(text, at)
        instr.operands = [value, pointer]
        return instr

    def _pointer(self, text: str, at: int) -> tuple[ir.Value, int]:
        """The address of an access."""
        pointer, type, end_of_it = self._typed(text, at)
        if not isinstance(type, Pointer):
            raise refusal(text, at, "a pointer")
        return pointer, end_of_it

    def _op_getelementptr(self, text: str, instr: Instr) -> Instr:
        instr.elem, at = self.types.type_at(text, self._after_flags(text))
        pointer, type, at = self._next(text, at)
        operands = [pointer]
        while at < len(text):
            index, index_type, at = self._next(text, at)
            if not isinstance(index_type, Int):
                raise UnsupportedError("unsupported: a vector of pointers")
            operands.append(index)
        instr.op = "gep"
        instr.type = type
        instr.operands = operands
        return instr

    def _op_fence(self, text: str, instr: Instr) -> Instr:
        end(f" {text}", 0, ACCESS_END)
        return instr

    def _op_atomicrmw(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        word = text.index(" ", at)
        instr.pred = text[at:word]
        pointer, at = self._pointer(text, word + 1)
        value, instr.type, at = self._next(text, at)
        instr.align = read_align(text, at)
        instr.operands = [pointer, value]
        return instr

    def _op_cmpxchg(self, text: str, instr: Instr) -> Instr:
        text = text.removeprefix("weak ")
        at, instr.volatile = _skip_access_words(text)
        pointer, at = self._pointer(text, at)
        expected, type, at = self._next(text, at)
        new, new_type, at = self._next(text, at)
        if new_type != type:
            raise refusal(text, 0, f"two values of type {type}")
        instr.align = read_align(text, at)
        instr.type = ir.Struct((type, BOOL))
        instr.operands = [pointer, expected, new]
        return instr


def _skip_access_words(text: str) -> tuple[int, bool]:
    """Skip `atomic` and `volatile`: position of the type, and whether it is volatile."""
    at = 7 if text.startswith("atomic ") else 0
    if text.startswith("volatile ", at):
        return at + 9, True
    return at, False
