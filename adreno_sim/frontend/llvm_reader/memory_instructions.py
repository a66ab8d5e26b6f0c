"""Instructions that access memory or compute addresses."""

from __future__ import annotations

from ...base.errors import UnsupportedError
from ...ir import ir
from ...ir.ir import PRIVATE, Instr, Int, Pointer
from .operands import ALIGN, BOOL, FLAGS, OperandReader


class MemoryInstructions(OperandReader):
    """Handlers of alloca, load, store, getelementptr, fence, atomicrmw and cmpxchg."""

    def _op_alloca(self, text: str, instr: Instr) -> Instr:
        instr.elem, at = self.types.type_at(text, 0)
        instr.type = Pointer(PRIVATE)
        if text.startswith(", i", at):
            count, _, at = self._typed(text, at + 2)
            if not isinstance(count, ir.Const):
                raise UnsupportedError("unsupported: an array of variable length")
            instr.operands = [count]
        align = ALIGN.match(text, at)
        instr.align = int(align[1]) if align else 0
        instr.name = instr.name.removesuffix(".addr")
        return instr

    def _op_load(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        instr.type, at = self.types.type_at(text, at)
        pointer, _, at = self._typed(text, at + 2)
        align = ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.operands = [pointer]
        return instr

    def _op_store(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        value, _, at = self._typed(text, at)
        pointer, _, at = self._typed(text, at + 2)
        align = ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.operands = [value, pointer]
        return instr

    def _op_getelementptr(self, text: str, instr: Instr) -> Instr:
        flags = FLAGS.match(text)
        instr.elem, at = self.types.type_at(text, flags.end() if flags else 0)
        pointer, type, at = self._typed(text, at + 2)
        operands = [pointer]
        while text.startswith(", ", at):
            index, index_type, at = self._typed(text, at + 2)
            if not isinstance(index_type, Int):
                raise UnsupportedError("unsupported: a vector of pointers")
            operands.append(index)
        instr.op = "gep"
        instr.type = type
        instr.operands = operands
        return instr

    def _op_fence(self, text: str, instr: Instr) -> Instr:
        return instr

    def _op_atomicrmw(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        end = text.index(" ", at)
        instr.pred = text[at:end]
        pointer, _, at = self._typed(text, end + 1)
        value, instr.type, at = self._typed(text, at + 2)
        align = ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.operands = [pointer, value]
        return instr

    def _op_cmpxchg(self, text: str, instr: Instr) -> Instr:
        text = text.removeprefix("weak ")
        at, instr.volatile = _skip_access_words(text)
        pointer, _, at = self._typed(text, at)
        expected, type, at = self._typed(text, at + 2)
        new, _, at = self._typed(text, at + 2)
        align = ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.type = ir.Struct((type, BOOL))
        instr.operands = [pointer, expected, new]
        return instr


def _skip_access_words(text: str) -> tuple[int, bool]:
    """Skip `atomic` and `volatile`: position of the type, and whether it is volatile."""
    at = 7 if text.startswith("atomic ") else 0
    if text.startswith("volatile ", at):
        return at + 9, True
    return at, False
