"""Instructions that compute values from values: arithmetic, casts, comparisons, vectors and aggregates."""

from __future__ import annotations

import re

from ...ir import ir
from ...ir.ir import Instr
from .operands import BOOL, OperandReader, end
from .words import expect, refusal

BINARY_OPS = (
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub", "fmul",
    "fdiv", "frem",
)  # fmt: skip
CAST_OPS = (
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast",
    "addrspacecast",
)  # fmt: skip
_INTEGER_PREDICATES = frozenset(("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"))
_FLOAT_PREDICATES = frozenset((
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
))  # fmt: skip
_INDICES = re.compile(r"(?:, \d+)+")


class ValueInstructions(OperandReader):
    """Handlers of instructions that neither access memory nor transfer control."""

    # Arithmetic

    def _binary(self, text: str, instr: Instr) -> Instr:
        type, at = self.types.type_at(text, self._after_flags(text))
        a, at = self._value(text, expect(text, at, " "), type)
        b, at = self._value(text, expect(text, at, ", "), type)
        end(text, at)
        instr.type = type
        instr.operands = [a, b]
        return instr

    def _op_fneg(self, text: str, instr: Instr) -> Instr:
        value, instr.type, at = self._typed(text, self._after_flags(text))
        end(text, at)
        instr.operands = [value]
        return instr

    def _op_freeze(self, text: str, instr: Instr) -> Instr:
        return self._op_fneg(text, instr)

    def _cast(self, text: str, instr: Instr) -> Instr:
        value, _, at = self._typed(text, self._after_flags(text))
        instr.type, at = self.types.type_at(text, expect(text, at, " to "))
        end(text, at)
        instr.operands = [value]
        return instr

    def _compare(self, text: str, instr: Instr, predicates: frozenset[str]) -> Instr:
        instr.pred, _, rest = text[self._after_flags(text) :].partition(" ")
        if instr.pred not in predicates:
            raise refusal(instr.pred, 0, "a comparison")
        a, type, at = self._typed(rest, 0)
        b, at = self._value(rest, expect(rest, at, ", "), type)
        end(rest, at)
        instr.type = ir.Vector(BOOL, type.count) if isinstance(type, ir.Vector) else BOOL
        instr.operands = [a, b]
        return instr

    def _op_icmp(self, text: str, instr: Instr) -> Instr:
        return self._compare(text, instr, _INTEGER_PREDICATES)

    def _op_fcmp(self, text: str, instr: Instr) -> Instr:
        return self._compare(text, instr, _FLOAT_PREDICATES)

    def _op_select(self, text: str, instr: Instr) -> Instr:
        condition, _, at = self._typed(text, self._after_flags(text))
        a, instr.type, at = self._next(text, at)
        b, type, at = self._next(text, at)
        end(text, at)
        if type != instr.type:
            raise refusal(text, 0, f"two values of type {instr.type}")
        instr.operands = [condition, a, b]
        return instr

    # Vectors and aggregates

    def _op_extractelement(self, text: str, instr: Instr) -> Instr:
        vector, type, at = self._typed(text, 0)
        index, _, at = self._next(text, at)
        end(text, at)
        instr.type = _elem_of(type, text)
        instr.operands = [vector, index]
        return instr

    def _op_insertelement(self, text: str, instr: Instr) -> Instr:
        vector, instr.type, at = self._typed(text, 0)
        value, type, at = self._next(text, at)
        index, _, at = self._next(text, at)
        end(text, at)
        if type != _elem_of(instr.type, text):
            raise refusal(text, 0, f"an element of {instr.type}")
        instr.operands = [vector, value, index]
        return instr

    def _op_shufflevector(self, text: str, instr: Instr) -> Instr:
        a, type, at = self._typed(text, 0)
        b, second, at = self._next(text, at)
        mask, mask_type, at = self._next(text, at)
        end(text, at)
        if second != type or not isinstance(mask_type, ir.Vector) or not isinstance(mask, ir.Const):
            raise refusal(text, 0, "two vectors of one type, and a constant mask")
        instr.type = ir.Vector(_elem_of(type, text), mask_type.count)
        instr.mask = _mask_lanes(mask, mask_type.count)
        instr.operands = [a, b]
        return instr

    def _op_extractvalue(self, text: str, instr: Instr) -> Instr:
        value, type, at = self._typed(text, 0)
        instr.indices = _indices(text, at)
        instr.type = _part_type(type, instr.indices, text)
        instr.operands = [value]
        return instr

    def _op_insertvalue(self, text: str, instr: Instr) -> Instr:
        whole, instr.type, at = self._typed(text, 0)
        part, type, at = self._next(text, at)
        instr.indices = _indices(text, at)
        if _part_type(instr.type, instr.indices, text) != type:
            raise refusal(text, 0, f"a part of {instr.type}")
        instr.operands = [whole, part]
        return instr


def _elem_of(type: ir.Type, text: str) -> ir.Int | ir.Float | ir.Pointer:
    if not isinstance(type, ir.Vector):
        raise refusal(text, 0, "a vector")
    return type.elem


def _indices(text: str, at: int) -> tuple[int, ...]:
    return tuple(map(int, end(text, at, _INDICES)[0][2:].split(", ")))


def _part_type(type: ir.Type, indices: tuple[int, ...], text: str) -> ir.Type:
    for index in indices:
        if isinstance(type, ir.Struct) and index < len(type.fields):
            type = type.fields[index]
        elif isinstance(type, ir.Array) and index < type.count:
            type = type.elem
        else:
            raise refusal(text, 0, f"a part of {type}")
    return type


def _mask_lanes(mask: ir.Const, count: int) -> tuple[int, ...]:
    if mask.value is None:
        return (0,) * count
    if not isinstance(mask.value, tuple):
        return (-1,) * count
    return tuple(lane.value if isinstance(lane.value, int) else -1 for lane in mask.value)
