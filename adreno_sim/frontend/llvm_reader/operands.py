"""Operands of instructions: local values, which may be used before they are defined, and constants."""

from __future__ import annotations

import re

from ...base.errors import UnsupportedError
from ...ir import ir
from ...ir.ir import Const, Instr, Int, SourceLoc, Type, Void
from .constants import TextReader
from .words import expect, name_at, refusal

FLAGS = re.compile(r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*")
_ORDER = "unordered|monotonic|acquire|release|acq_rel|seq_cst"
ARGUMENT_WORDS = re.compile(
    r" (?:(?:noundef|signext|zeroext|inreg|nonnull|noalias|readonly|writeonly|readnone|immarg|writable|dead_on_unwind"
    r"|(?:align|byval|sret|captures|range|nofpclass|dereferenceable|dereferenceable_or_null)(?: \d+|\([^)]*\))) )*"
)
"""What stands between the type of an argument, or of a parameter, and its value or name."""
ACCESS_END = re.compile(rf'(?: syncscope\("[^"]*"\))?(?: (?:{_ORDER})){{0,2}}(?:, align (\d+))?')
"""What follows the operands of an access."""
_NOTHING = re.compile("")
VOID = Void()
BOOL = Int(1)


class OperandReader:
    """Reads the operands in one function.

    `values` maps local names to what defines them. A use before the definition makes the instruction object, and the
    definition fills it in. `prologue` holds instructions for the start of the entry block.
    """

    def __init__(self, types: TextReader):
        self.types = types
        self.values: dict[str, ir.Value] = {}
        self.prologue: list[Instr] = []
        self.loc: SourceLoc = ir.UNKNOWN_LOC
        types.expression = self._constant_expression

    def _value(self, text: str, at: int, type: Type) -> tuple[ir.Value, int]:
        """The operand at `at`, of a known type, and the position after it."""
        if text.startswith("%", at):
            name, end = name_at(text, at)
            value = self.values.get(name)
            if value is None:
                value = self.values[name] = Instr("", type)
            elif (found := ir.type_of(value)) is not type and found != type:
                raise UnsupportedError(f"unsupported: {name}, which is of type {found}, as {type}")
            return value, end
        if isinstance(type, Int) and text.startswith("poison", at):  # folded: `constant_arithmetic` has what was undefined
            return Const(type, 0), at + len("poison")
        return self.types.constant_at(text, at, type)

    def _typed(self, text: str, at: int) -> tuple[ir.Value, Type, int]:
        """An operand written with its type: value, type, position after it."""
        type, at = self.types.type_at(text, at)
        value, at = self._value(text, expect(text, at, " "), type)
        return value, type, at

    def _next(self, text: str, at: int) -> tuple[ir.Value, Type, int]:
        """The same behind a comma."""
        return self._typed(text, expect(text, at, ", "))

    def _after_flags(self, text: str) -> int:
        """The position behind the flags that an instruction starts with."""
        flags = FLAGS.match(text)
        return flags.end() if flags else 0

    def _constant_expression(self, op: str, type: Type, operands: list[ir.Value], elem: Type | None) -> ir.Value:
        instr = Instr("gep" if op == "getelementptr" else op, type, list(operands), self.loc, elem=elem)
        self.prologue.append(instr)
        return instr


def end(text: str, at: int, form: re.Pattern[str] = _NOTHING) -> re.Match[str]:
    """Returns what stands at `at`, behind the operands of an instruction. It must have this form up to the end of the line."""
    found = form.fullmatch(text, at)
    if found is None:
        raise refusal(text, at, "the end of the instruction")
    return found


def read_align(text: str, at: int) -> int:
    """Returns the alignment behind the operands of an access, 0 where none is written."""
    return int(end(text, at, ACCESS_END)[1] or 0)
