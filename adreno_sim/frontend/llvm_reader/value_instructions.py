"""Instructions that compute values from values: arithmetic, casts, comparisons, vectors and aggregates."""

from __future__ import annotations

from ...ir import ir
from ...ir.ir import Instr
from .operands import BOOL, FLAGS, OperandReader

BINARY_OPS = (
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub", "fmul",
    "fdiv", "frem",
)  # fmt: skip
CAST_OPS = (
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast",
    "addrspacecast",
)  # fmt: skip


class ValueInstructions(OperandReader):
    """Handlers of instructions that neither access memory nor transfer control."""

    # Arithmetic

    def _binary(self, text: str, instr: Instr) -> Instr:
        flags = FLAGS.match(text)
        type, at = self.types.type_at(text, flags.end() if flags else 0)
        a, at = self._value(text, at + 1, type)
        b, _ = self._value(text, at + 2, type)
        instr.type = type
        instr.operands = [a, b]
        return instr

    def _op_fneg(self, text: str, instr: Instr) -> Instr:
        flags = FLAGS.match(text)
        value, instr.type, _ = self._typed(text, flags.end() if flags else 0)
        instr.operands = [value]
        return instr

    def _op_freeze(self, text: str, instr: Instr) -> Instr:
        return self._op_fneg(text, instr)

    def _cast(self, text: str, instr: Instr) -> Instr:
        flags = FLAGS.match(text)
        value, _, at = self._typed(text, flags.end() if flags else 0)
        instr.type, _ = self.types.type_at(text, at + len(" to "))
        instr.operands = [value]
        return instr

    def _compare(self, text: str, instr: Instr) -> Instr:
        flags = FLAGS.match(text)
        at = flags.end() if flags else 0
        end = text.index(" ", at)
        a, type, after = self._typed(text, end + 1)
        b, _ = self._value(text, after + 2, type)
        instr.pred = text[at:end]
        instr.type = ir.Vector(BOOL, type.count) if isinstance(type, ir.Vector) else BOOL
        instr.operands = [a, b]
        return instr

    def _op_icmp(self, text: str, instr: Instr) -> Instr:
        return self._compare(text, instr)

    def _op_fcmp(self, text: str, instr: Instr) -> Instr:
        return self._compare(text, instr)

    def _op_select(self, text: str, instr: Instr) -> Instr:
        flags = FLAGS.match(text)
        condition, _, at = self._typed(text, flags.end() if flags else 0)
        a, instr.type, at = self._typed(text, at + 2)
        b, _, _ = self._typed(text, at + 2)
        instr.operands = [condition, a, b]
        return instr

    # Vectors and aggregates

    def _op_extractelement(self, text: str, instr: Instr) -> Instr:
        vector, type, at = self._typed(text, 0)
        index, _, _ = self._typed(text, at + 2)
        assert isinstance(type, ir.Vector)
        instr.type = type.elem
        instr.operands = [vector, index]
        return instr

    def _op_insertelement(self, text: str, instr: Instr) -> Instr:
        vector, instr.type, at = self._typed(text, 0)
        value, _, at = self._typed(text, at + 2)
        index, _, _ = self._typed(text, at + 2)
        instr.operands = [vector, value, index]
        return instr

    def _op_shufflevector(self, text: str, instr: Instr) -> Instr:
        a, type, at = self._typed(text, 0)
        b, _, at = self._typed(text, at + 2)
        mask, mask_type, _ = self._typed(text, at + 2)
        assert isinstance(type, ir.Vector) and isinstance(mask_type, ir.Vector) and isinstance(mask, ir.Const)
        instr.type = ir.Vector(type.elem, mask_type.count)
        instr.mask = _mask_lanes(mask, mask_type.count)
        instr.operands = [a, b]
        return instr

    def _op_extractvalue(self, text: str, instr: Instr) -> Instr:
        value, type, at = self._typed(text, 0)
        instr.indices = tuple(map(int, text[at + 2 :].split(", ")))
        for index in instr.indices:
            type = type.fields[index] if isinstance(type, ir.Struct) else type.elem  # type: ignore[union-attr]
        instr.type = type
        instr.operands = [value]
        return instr

    def _op_insertvalue(self, text: str, instr: Instr) -> Instr:
        whole, instr.type, at = self._typed(text, 0)
        part, _, at = self._typed(text, at + 2)
        instr.indices = tuple(map(int, text[at + 2 :].split(", ")))
        instr.operands = [whole, part]
        return instr


def _mask_lanes(mask: ir.Const, count: int) -> tuple[int, ...]:
    if mask.value is None:
        return (0,) * count
    if not isinstance(mask.value, tuple):
        return (-1,) * count
    return tuple(lane.value if isinstance(lane.value, int) else -1 for lane in mask.value)
