"""Reads the body of one function: a handler per opcode, chosen by the first word of the line.

A call of a function that the module defines becomes an instruction `helper`, for the inliner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ...base.errors import UnsupportedError
from ...ir import ir
from ...ir.ir import Block, Instr
from ..mangling import demangle
from .constants import TextReader
from .memory_instructions import MemoryInstructions
from .metadata import Metadata
from .operands import ARGUMENT_WORDS, VOID, end
from .value_instructions import BINARY_OPS, CAST_OPS, ValueInstructions
from .words import NAME, expect, name_at, refusal, unquote

_LABEL = re.compile(r'^("[^"]*"|[-\w.$]+):')
_NO_INSTRUCTION = re.compile(r"\s*(?:;.*)?")
_ATTACHED = re.compile(r"(?:, !dbg !(\d+))?(?:, !\w+(?:\.\w+)* !\d+)*")
"""Metadata behind an instruction, the place in the source ahead of the rest."""
_OF_DECLARATION = ", !annotation !"
"""Marks what clang writes to a variable whose declaration gives it no value."""
_ADDRESS = re.compile(r"\bptr (?:align \d+ )?(%(?:\"[^\"]*\"|[-\w.$]+))")
_DECLARED = re.compile(
    r"[._]declare\((?:metadata )?ptr (%(?:\"[^\"]*\"|[-\w.$]+)), (?:metadata )?!(\d+), "
    r"(?:metadata )?!DIExpression\([^)]*\)(?:, !(\d+))?\)"
)
"""A record of debug information, or the call that older clang writes; only builds for the debugger have any."""
_CALL_WORDS = re.compile(
    r"(?:(?:tail|notail|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|spir_func|spir_kernel|fastcc|ccc|noundef|signext|zeroext|inreg"
    r"|nonnull|noalias|nofpclass\([^)]*\)|align \d+|range\([^)]*\)|dereferenceable(?:_or_null)?\(\d+\)) )*"
)  # fmt: skip
_CALL_END = re.compile(r"(?: #\d+)?")
_IGNORED = ("llvm.lifetime.", "llvm.dbg.", "llvm.experimental.noalias.", "llvm.assume", "llvm.invariant.", "llvm.var.annotation")
_MEMORY_OP = re.compile(r"llvm\.(memcpy|memmove|memset)(?:\.inline)?(?:\.p\d+)+\.i\d+")
_CLANGS_NAMES = frozenset(("__translate_sampler_initializer", "__to_global", "__to_local", "__to_private"))
"""Functions that clang calls for what OpenCL C has: samplers of a number, and addresses in a named space."""


class FunctionReader(ValueInstructions, MemoryInstructions):
    """Reads the instructions and blocks of one body, and the instructions that transfer control or call."""

    def __init__(self, types: TextReader, metadata: Metadata, defined: Collection[str], name: str):
        super().__init__(types)
        self.metadata = metadata
        self.defined = defined
        self.function = name
        self.start: ir.SourceLoc = ir.UNKNOWN_LOC
        self.blocks: dict[str, Block] = {}
        self.result: tuple[ir.Param, ir.Type] | None = None  # where the caller needs a struct
        self._handlers: dict[str, Callable[[str, Instr], Instr | None]] = {
            **dict.fromkeys(BINARY_OPS, self._binary),
            **dict.fromkeys(CAST_OPS, self._cast),
            **{name[4:]: getattr(self, name) for name in dir(self) if name.startswith("_op_")},
        }
        self._handlers["tail"] = self._handlers["notail"] = self._op_call

    def read_body(self, text: str) -> list[Block]:
        """The blocks in order. Allocas end up in the first."""
        order: list[Block] = []
        instrs: list[Instr] = []
        lines = iter(text.split("\n"))
        for line in lines:
            if line[:1] != " ":
                if label := _LABEL.match(line):
                    block = self._block("%" + label[1])
                    order.append(block)
                    instrs = block.instrs
                elif not _NO_INSTRUCTION.fullmatch(line):
                    raise self.with_loc(refusal(line, 0, "a label"))
                continue
            if not order:
                order.append(self._block("%"))
                instrs = order[0].instrs
            if line.startswith("  switch "):
                line = _join_switch_lines(line, lines)
            instr = self._read(line)
            if instr is not None:
                instrs.append(instr)
        if not order:
            raise self.with_loc(UnsupportedError("unsupported: a function without instructions"))
        self._hoist_allocas(order)
        return order

    def _block(self, name: str) -> Block:
        block = self.blocks.get(name)
        if block is None:
            block = self.blocks[name] = Block(unquote(name[1:]))
        return block

    def _hoist_allocas(self, order: list[Block]) -> None:
        """Move allocas to the entry (an inlined body brings its own), constant expressions and spills after them."""
        allocas: list[Instr] = [instr for instr in self.prologue if instr.op == "alloca"]
        for block in order:
            if any(instr.op == "alloca" for instr in block.instrs):
                allocas += [instr for instr in block.instrs if instr.op == "alloca"]
                block.instrs = [instr for instr in block.instrs if instr.op != "alloca"]
        order[0].instrs[:0] = [*allocas, *(instr for instr in self.prologue if instr.op != "alloca")]

    def _read(self, line: str) -> Instr | None:
        """The instruction on a line, None for one that means nothing here. Places every error."""
        body = line
        self.loc = ir.UNKNOWN_LOC
        if line.startswith("#dbg_", 4):
            return self._declaration(line)
        at = line.find(", !")
        while at >= 0:
            if attached := _ATTACHED.fullmatch(line, at):
                body = line[:at]
                self.loc = self.metadata.loc(attached[1]) if attached[1] else ir.UNKNOWN_LOC
                if _OF_DECLARATION in attached[0]:
                    return self._undefine(body)
                break
            at = line.find(", !", at + 1)
        name = ""
        at = 2
        if body.startswith("%", 2):
            name, _, _ = body[2:].partition(" = ")
            at = len(name) + 5
        op, _, rest = body[at:].partition(" ")
        try:
            return self._dispatch(name, op, rest)
        except UnsupportedError as error:
            raise self.with_loc(error) from None
        except (AssertionError, IndexError, ValueError):  # a form of the instruction that is not read here
            raise self.with_loc(UnsupportedError(f"unsupported: LLVM instruction {body.strip()[:80]!r}")) from None

    def _declaration(self, text: str) -> Instr | None:
        """Ties a variable in memory to what debug information says of it. Returns the loss of its value by its declaration, None
        for a parameter, which has one."""
        found = _DECLARED.search(text)
        variable = self.values.get(found[1]) if found else None
        if found is None or not isinstance(variable, Instr) or variable.op != "alloca":
            return None
        variable.indices = (int(found[2]),)
        if self.metadata.is_parameter(found[2]):
            return None
        return Instr("note", VOID, [], self.metadata.loc(found[3]) if found[3] else self.loc, indices=variable.indices)

    def _undefine(self, body: str) -> Instr | None:
        """Returns the loss of its value by the variable to which a store or memset of clang's writes; None if it has no bytes of
        its own, as events."""
        address = _ADDRESS.search(body)
        variable = self.values.get(address[1]) if address else None
        if self.result is not None and variable is self.result[0]:
            return Instr("undefine", VOID, [variable], self.loc, elem=self.result[1])
        if not isinstance(variable, Instr) or variable.op != "alloca" or variable.operands:
            return None
        return Instr("undefine", VOID, [variable], self.loc)

    def _dispatch(self, name: str, op: str, rest: str) -> Instr | None:
        handler = self._handlers.get(op)
        if handler is None:
            raise UnsupportedError(f"unsupported: LLVM instruction {op}")
        used = self.values.get(name) if name else None
        expected = ir.type_of(used) if used is not None else None
        instr = handler(rest, self._target(name, op))
        if name and instr is None:
            raise UnsupportedError(f"unsupported: the value of LLVM instruction {op} {rest[:60]}")
        if instr is not None and expected is not None and instr.type != expected:
            raise UnsupportedError(f"unsupported: {name}, which is used as {expected} and is of type {instr.type}")
        return instr

    def with_loc(self, error: UnsupportedError) -> UnsupportedError:
        """`error` with the current place in the source, else that of the function, and the name of the function."""
        text = str(error)
        if " at " in text and text.rsplit(" at ", 1)[1][:1].isdigit():
            return error
        loc = self.loc if self.loc.line else self.start
        where = f" at {loc.line}:{loc.column}" if loc.line else ""
        return UnsupportedError(f"{text}{where} (in {self.function})")

    def _target(self, name: str, op: str) -> Instr:
        """The object that this definition fills: a new one, or the one an earlier use made."""
        instr = self.values.get(name) if name else None
        if not isinstance(instr, Instr):
            instr = Instr(op, VOID)
            if name:
                self.values[name] = instr
        instr.op = op
        instr.loc = self.loc
        if name:
            instr.name = unquote(name[1:])
        return instr

    # Control flow

    def _op_br(self, text: str, instr: Instr) -> Instr:
        if text.startswith("label "):
            target, at = self._label(text, 0)
            end(text, at)
            instr.blocks = [target]
            return instr
        condition, _, at = self._typed(text, 0)
        first, at = self._label(text, expect(text, at, ", "))
        second, at = self._label(text, expect(text, at, ", "))
        end(text, at)
        instr.op = "condbr"
        instr.operands = [condition]
        instr.blocks = [first, second]
        return instr

    def _label(self, text: str, at: int) -> tuple[Block, int]:
        """The block that `label %name` names."""
        name, at = name_at(text, expect(text, at, "label "))
        return self._block(name), at

    def _op_switch(self, text: str, instr: Instr) -> Instr:
        value, type, at = self._typed(text, 0)
        default, at = self._label(text, expect(text, at, ", "))
        at = expect(text, at, " [")
        instr.operands, instr.blocks = [value], [default]
        numbers: list[int] = []
        while not text.startswith(" ]", at):
            number, case_type, at = self._typed(text, expect(text, at, " "))
            target, at = self._label(text, expect(text, at, ", "))
            if case_type != type or not isinstance(number, ir.Const) or not isinstance(number.value, int):
                raise refusal(text, 0, f"cases of type {type}")
            numbers.append(number.value)
            instr.blocks.append(target)
        end(text, at + 2)
        instr.cases = tuple(numbers)
        return instr

    def _op_ret(self, text: str, instr: Instr) -> Instr:
        if text != "void":
            value, _, at = self._typed(text, 0)
            end(text, at)
            instr.operands = [value]
        return instr

    def _op_unreachable(self, text: str, instr: Instr) -> Instr:
        end(text, 0)
        return instr

    def _op_phi(self, text: str, instr: Instr) -> Instr:
        instr.type, at = self.types.type_at(text, self._after_flags(text))
        operands, blocks = [], []
        separator = " [ "
        while at < len(text):
            value, at = self._value(text, expect(text, at, separator), instr.type)
            name, at = name_at(text, expect(text, at, ", "))
            at = expect(text, at, " ]")
            operands.append(value)
            blocks.append(self._block(name))
            separator = ", [ "
        instr.operands, instr.blocks = operands, blocks
        return instr

    # Calls

    def _op_call(self, text: str, instr: Instr) -> Instr | None:
        text = text.removeprefix("call ")
        words = _CALL_WORDS.match(text)
        at = words.end() if words else 0
        instr.type, at = self.types.type_at(text, at)
        if text.startswith(" (", at):  # the type of a variadic callee
            at = text.index(") ", at) + 1
        name = NAME.match(text, at + 1)
        if name is None or name[0][0] == "%":
            what = "inline assembly" if text.startswith("asm", at + 1) else "a call through a pointer"
            raise UnsupportedError(f"unsupported: {what}")
        symbol = unquote(name[0][1:])
        if symbol.startswith(_IGNORED):
            return self._declaration(text)
        operands, at = self._arguments(text, expect(text, name.end(), "("))
        end(text, at, _CALL_END)
        if symbol in self.defined:
            instr.op, instr.pred = "helper", symbol
            instr.operands = operands
            return instr
        if memory_op := _MEMORY_OP.fullmatch(symbol):
            return _make_memory_instr(instr, memory_op[1], operands)
        instr.op = "call"
        instr.callee = demangle(symbol)
        if symbol.startswith("__") and symbol not in _CLANGS_NAMES:
            raise UnsupportedError(f"unsupported: {symbol}, a function of the compiler's own library, for what OpenCL C lacks")
        instr.operands = operands
        return instr

    def _arguments(self, text: str, at: int) -> tuple[list[ir.Value], int]:
        """The operands up to the closing parenthesis, and the position behind it."""
        operands: list[ir.Value] = []
        while not text.startswith(")", at):
            type, at = self.types.type_at(text, at if not operands else expect(text, at, ", "))
            words = ARGUMENT_WORDS.match(text, at)
            value, at = self._value(text, words.end() if words else expect(text, at, " "), type)
            operands.append(value)
        return operands, at + 1


def _join_switch_lines(line: str, lines: object) -> str:
    """A switch on one line: its cases follow up to the closing bracket."""
    parts = [line]
    for more in lines:  # type: ignore[attr-defined]
        parts.append(more.strip())
        if parts[-1].startswith("]"):
            break
    return " ".join(parts)


def _make_memory_instr(instr: Instr, op: str, operands: list[ir.Value]) -> Instr:
    volatile = operands[3]
    assert len(operands) == 4
    assert isinstance(volatile, ir.Const)
    instr.op = op
    instr.type = VOID
    instr.operands = operands[:3]
    instr.volatile = volatile.value == 1
    return instr
