"""Operands of instructions: local values, which may be used before they are defined, and constants."""

from __future__ import annotations

import re

from ...ir import ir
from ...ir.ir import Const, Instr, Int, SourceLoc, Type, Void
from .types import NAME, TextReader

FLAGS = re.compile(r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*")
ALIGN = re.compile(r", align (\d+)")
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
        if text[at] == "%":
            match = NAME.match(text, at)
            assert match is not None
            name = match[0]
            value = self.values.get(name)
            if value is None:
                value = self.values[name] = Instr("", type)
            return value, match.end()
        if isinstance(type, Int) and text.startswith("poison", at):  # folded: `constant_arithmetic` has what was undefined
            return Const(type, 0), at + len("poison")
        return self.types.constant_at(text, at, type)

    def _typed(self, text: str, at: int) -> tuple[ir.Value, Type, int]:
        """An operand written with its type: value, type, position after it."""
        type, at = self.types.type_at(text, at)
        value, at = self._value(text, at + 1, type)
        return value, type, at

    def _constant_expression(self, op: str, type: Type, operands: list[ir.Value], elem: Type | None) -> ir.Value:
        instr = Instr("gep" if op == "getelementptr" else op, type, list(operands), self.loc, elem=elem)
        self.prologue.append(instr)
        return instr
