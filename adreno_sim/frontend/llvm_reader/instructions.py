"""Reads the body of one function: a handler per opcode, chosen by the first word of the line.

A call of a function that the module defines becomes an instruction `helper`, for the inliner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ...base.errors import UnsupportedError
from ...ir import ir
from ...ir.ir import PRIVATE, Block, Instr, Int, Pointer, SourceLoc, Type, Void
from ..mangling import demangle
from .metadata import Metadata
from .types import NAME, TextReader

_LABEL = re.compile(r'^("[^"]*"|[-\w.$]+):')
_ATTACHMENT = re.compile(r", !\w")
_FLAGS = re.compile(r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*")
_CALL_WORDS = re.compile(
    r"(?:(?:tail|notail|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|spir_func|spir_kernel|fastcc|ccc|noundef|signext|zeroext|inreg"
    r"|nonnull|noalias|nofpclass\([^)]*\)|align \d+|range\([^)]*\)|dereferenceable(?:_or_null)?\(\d+\)) )*"
)  # fmt: skip
_ARGUMENT_WORDS = re.compile(
    r" (?:(?:noundef|signext|zeroext|inreg|nonnull|noalias|readonly|writeonly|readnone|immarg|writable|dead_on_unwind"
    r"|(?:align|byval|sret|captures|range|nofpclass|dereferenceable|dereferenceable_or_null)(?: \d+|\([^)]*\))) )*"
)  # fmt: skip
_ALIGN = re.compile(r", align (\d+)")
_CASE = re.compile(r"i\d+ (-?\w+), label (%\S+)")
_IGNORED = ("llvm.lifetime.", "llvm.dbg.", "llvm.experimental.noalias.", "llvm.assume", "llvm.invariant.")
_MEMORY_OPS = {"llvm.memcpy": "memcpy", "llvm.memmove": "memmove", "llvm.memset": "memset"}

_BINARY = (
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub", "fmul",
    "fdiv", "frem",
)  # fmt: skip
_CASTS = (
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast",
    "addrspacecast",
)  # fmt: skip


class FunctionReader:
    """Reads one body. `values` maps local names to what defines them; a use before the definition creates the
    instruction object, which the definition then fills in. `prologue` goes to the start of the entry block."""

    def __init__(self, types: TextReader, metadata: Metadata, defined: Collection[str], name: str):
        self.types = types
        self.metadata = metadata
        self.defined = defined
        self.function = name
        self.values: dict[str, ir.Value] = {}
        self.blocks: dict[str, Block] = {}
        self.prologue: list[Instr] = []
        self.loc: SourceLoc = ir.UNKNOWN_LOC
        types.expression = self._constant_expression
        self._handlers: dict[str, Callable[[str, Instr], Instr | None]] = {
            **dict.fromkeys(_BINARY, self._binary),
            **dict.fromkeys(_CASTS, self._cast),
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
                continue
            if not order:
                order.append(self._block("%"))
                instrs = order[0].instrs
            if line.startswith("  switch "):
                line = _join_switch_lines(line, lines)
            instr = self._read(line)
            if instr is not None:
                instrs.append(instr)
        self._hoist_allocas(order)
        return order

    def _block(self, name: str) -> Block:
        block = self.blocks.get(name)
        if block is None:
            block = self.blocks[name] = Block(name[1:].strip('"'))
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
        body, found, tail = line.partition(", !dbg !")
        if found:
            self.loc = self.metadata.loc(tail.partition(",")[0])
        else:
            self.loc = ir.UNKNOWN_LOC
            if "!" in body and (attached := _ATTACHMENT.search(body)):
                body = body[: attached.start()]
        name = ""
        at = 2
        if body[2] == "%":
            name, _, _ = body[2:].partition(" = ")
            at = len(name) + 5
        op, _, rest = body[at:].partition(" ")
        if op.startswith("#dbg_"):
            return None
        try:
            return self._dispatch(name, op, rest)
        except UnsupportedError as error:
            raise self.with_loc(error) from None
        except (AssertionError, IndexError, ValueError):  # a form of the instruction that is not read here
            raise self.with_loc(UnsupportedError(f"unsupported: LLVM instruction {body.strip()[:80]!r}")) from None

    def _dispatch(self, name: str, op: str, rest: str) -> Instr | None:
        handler = self._handlers.get(op)
        if handler is None:
            raise UnsupportedError(f"unsupported: LLVM instruction {op}")
        instr = handler(rest, self._target(name, op))
        if name and instr is None:
            raise UnsupportedError(f"unsupported: the value of LLVM instruction {op} {rest[:60]}")
        return instr

    def with_loc(self, error: UnsupportedError) -> UnsupportedError:
        """`error` with the current place in the source and the name of the function."""
        text = str(error)
        if " at " in text and text.rsplit(" at ", 1)[1][:1].isdigit():
            return error
        where = f" at {self.loc.line}:{self.loc.column}" if self.loc.line else ""
        return UnsupportedError(f"{text}{where} (in {self.function})")

    def _target(self, name: str, op: str) -> Instr:
        """The object that this definition fills: a new one, or the one an earlier use made."""
        instr = self.values.get(name) if name else None
        if not isinstance(instr, Instr):
            instr = Instr(op, _VOID)
            if name:
                self.values[name] = instr
        instr.op = op
        instr.loc = self.loc
        if name:
            instr.name = name[1:].strip('"')
        return instr

    # Operands

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

    # Arithmetic

    def _binary(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
        type, at = self.types.type_at(text, flags.end() if flags else 0)
        a, at = self._value(text, at + 1, type)
        b, _ = self._value(text, at + 2, type)
        instr.type = type
        instr.operands = [a, b]
        return instr

    def _op_fneg(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
        value, instr.type, _ = self._typed(text, flags.end() if flags else 0)
        instr.operands = [value]
        return instr

    def _op_freeze(self, text: str, instr: Instr) -> Instr:
        return self._op_fneg(text, instr)

    def _cast(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
        value, _, at = self._typed(text, flags.end() if flags else 0)
        instr.type, _ = self.types.type_at(text, at + len(" to "))
        instr.operands = [value]
        return instr

    def _compare(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
        at = flags.end() if flags else 0
        end = text.index(" ", at)
        a, type, after = self._typed(text, end + 1)
        b, _ = self._value(text, after + 2, type)
        instr.pred = text[at:end]
        instr.type = ir.Vector(_BOOL, type.count) if isinstance(type, ir.Vector) else _BOOL
        instr.operands = [a, b]
        return instr

    def _op_icmp(self, text: str, instr: Instr) -> Instr:
        return self._compare(text, instr)

    def _op_fcmp(self, text: str, instr: Instr) -> Instr:
        return self._compare(text, instr)

    def _op_select(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
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

    # Memory

    def _op_alloca(self, text: str, instr: Instr) -> Instr:
        instr.elem, at = self.types.type_at(text, 0)
        instr.type = Pointer(PRIVATE)
        if text.startswith(", i", at):
            count, _, at = self._typed(text, at + 2)
            if not isinstance(count, ir.Const):
                raise UnsupportedError("unsupported: an array of variable length")
            instr.operands = [count]
        align = _ALIGN.match(text, at)
        instr.align = int(align[1]) if align else 0
        instr.name = instr.name.removesuffix(".addr")
        return instr

    def _op_load(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        instr.type, at = self.types.type_at(text, at)
        pointer, _, at = self._typed(text, at + 2)
        align = _ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.operands = [pointer]
        return instr

    def _op_store(self, text: str, instr: Instr) -> Instr:
        at, instr.volatile = _skip_access_words(text)
        value, _, at = self._typed(text, at)
        pointer, _, at = self._typed(text, at + 2)
        align = _ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.operands = [value, pointer]
        return instr

    def _op_getelementptr(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
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
        align = _ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.operands = [pointer, value]
        return instr

    def _op_cmpxchg(self, text: str, instr: Instr) -> Instr:
        text = text.removeprefix("weak ")
        at, instr.volatile = _skip_access_words(text)
        pointer, _, at = self._typed(text, at)
        expected, type, at = self._typed(text, at + 2)
        new, _, at = self._typed(text, at + 2)
        align = _ALIGN.search(text, at)
        instr.align = int(align[1]) if align else 0
        instr.type = ir.Struct((type, _BOOL))
        instr.operands = [pointer, expected, new]
        return instr

    # Control flow

    def _op_br(self, text: str, instr: Instr) -> Instr:
        if text.startswith("label "):
            instr.blocks = [self._block(text[6:])]
            return instr
        condition, _, at = self._typed(text, 0)
        instr.op = "condbr"
        instr.operands = [condition]
        instr.blocks = [self._block(word.strip()) for word in text[at:].split(", label ")[1:]]
        return instr

    def _op_switch(self, text: str, instr: Instr) -> Instr:
        value, type, at = self._typed(text, 0)
        head, _, cases = text[at:].partition(" [")
        instr.operands = [value]
        instr.blocks = [self._block(head.removeprefix(", label "))]
        numbers: list[int] = []
        assert isinstance(type, Int)
        for word, label in _CASE.findall(cases):
            numbers.append((1 if word == "true" else 0 if word == "false" else int(word)) & ((1 << type.bits) - 1))
            instr.blocks.append(self._block(label))
        instr.cases = tuple(numbers)
        return instr

    def _op_ret(self, text: str, instr: Instr) -> Instr:
        if text != "void":
            instr.operands = [self._typed(text, 0)[0]]
        return instr

    def _op_unreachable(self, text: str, instr: Instr) -> Instr:
        return instr

    def _op_phi(self, text: str, instr: Instr) -> Instr:
        flags = _FLAGS.match(text)
        instr.type, at = self.types.type_at(text, flags.end() if flags else 0)
        operands, blocks = [], []
        at += 1
        while at < len(text):
            value, at = self._value(text, at + 2, instr.type)
            end = text.index(" ]", at)
            operands.append(value)
            blocks.append(self._block(text[at + 2 : end]))
            at = end + 4
        instr.operands, instr.blocks = operands, blocks
        return instr

    # Calls

    def _op_call(self, text: str, instr: Instr) -> Instr | None:
        text = text.removeprefix("call ")
        words = _CALL_WORDS.match(text)
        at = words.end() if words else 0
        instr.type, at = self.types.type_at(text, at)
        if text[at + 1] == "(":  # the type of a variadic callee
            at = text.index(") ", at) + 1
        name = NAME.match(text, at + 1)
        if name is None or name[0][0] == "%":
            what = "inline assembly" if text.startswith("asm", at + 1) else "a call through a pointer"
            raise UnsupportedError(f"unsupported: {what}")
        symbol = name[0][1:].strip('"')
        if symbol.startswith(_IGNORED):
            return None
        if symbol in self.defined:
            instr.op, instr.pred = "helper", symbol
            instr.operands = self._arguments(text, name.end() + 1)
            return instr
        operands = self._arguments(text, name.end() + 1)
        memory_op = _MEMORY_OPS.get(".".join(symbol.split(".", 2)[:2]))
        if memory_op:
            return _make_memory_instr(instr, memory_op, operands)
        instr.op = "call"
        instr.callee = demangle(symbol)
        instr.operands = operands
        return instr

    def _arguments(self, text: str, at: int) -> list[ir.Value]:
        """The operands up to the closing parenthesis."""
        operands: list[ir.Value] = []
        while text[at] != ")":
            if text[at] == ",":
                at += 2
            type, at = self.types.type_at(text, at)
            words = _ARGUMENT_WORDS.match(text, at)
            value, at = self._value(text, words.end() if words else at + 1, type)
            operands.append(value)
        return operands


_VOID = Void()
_BOOL = Int(1)


def _join_switch_lines(line: str, lines: object) -> str:
    """A switch on one line: its cases follow up to the closing bracket."""
    parts = [line]
    for more in lines:  # type: ignore[attr-defined]
        parts.append(more.strip())
        if parts[-1].startswith("]"):
            break
    return " ".join(parts)


def _skip_access_words(text: str) -> tuple[int, bool]:
    """Skip `atomic` and `volatile`: position of the type, and whether it is volatile."""
    at = 7 if text.startswith("atomic ") else 0
    if text.startswith("volatile ", at):
        return at + 9, True
    return at, False


def _mask_lanes(mask: ir.Const, count: int) -> tuple[int, ...]:
    if mask.value is None:
        return (0,) * count
    if not isinstance(mask.value, tuple):
        return (-1,) * count
    return tuple(lane.value if isinstance(lane.value, int) else -1 for lane in mask.value)


def _make_memory_instr(instr: Instr, op: str, operands: list[ir.Value]) -> Instr:
    volatile = operands[3]
    instr.op = op
    instr.type = _VOID
    instr.operands = operands[:3]
    instr.volatile = isinstance(volatile, ir.Const) and volatile.value == 1
    return instr
