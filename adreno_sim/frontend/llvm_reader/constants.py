"""Constants in LLVM's textual form.

One `TextReader` serves one module. Constants of one word are interned, so that each distinct one is parsed once. Whatever is
read is compared with the type that it has to have: its kind, its range, the number of its elements, the type of each.
"""

from __future__ import annotations

import re
import struct as _struct
from collections.abc import Callable

from ...base.errors import UnsupportedError
from ...ir import ir, layout
from ...ir.ir import UNDEF, Array, Const, Float, Global, GlobalOffset, Int, Pointer, Struct, Type, Vector
from .types import TypeReader
from .words import expect, find, name_at, read_quoted, refusal, unquote

_ATOM = re.compile(r"[-+.\w]+")
_OPERATIONS = ("getelementptr", "ptrtoint", "inttoptr", "bitcast", "addrspacecast", "trunc", "add", "sub", "mul", "xor")
_EXPRESSION = re.compile(rf"({'|'.join(_OPERATIONS)})(?: (?:inbounds|nuw|nusw|nsw|inrange\([^)]*\)))* \(")
_EXPRESSION_WORDS = frozenset((*_OPERATIONS, "splat"))
_ALONE = re.compile(r"<1 x (\w+)> (?:<|splat \()\1 ([-+.\w]+)[>)]")
"""A number whose bits clang takes for a vector: it makes a vector of one of it first."""
_INTEGER = re.compile(r"-?\d+")
_DECIMAL = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")
_DOUBLE_BITS = re.compile(r"0x[0-9A-Fa-f]{1,16}")
_HALF_BITS = re.compile(r"0xH[0-9A-Fa-f]{1,4}")

Expression = Callable[[str, Type, list[ir.Value], Type | None], ir.Value]
"""Makes the value of a constant expression that is not a plain constant: (op, result type, operands, gep element type)."""


class TextReader(TypeReader):
    """Reads types and constants; `globals` by name and `structs` (name to body text) belong to the module."""

    def __init__(self, structs: dict[str, str]):
        super().__init__(structs)
        self.globals: dict[str, Global] = {}
        self.changeable: set[str] = set()
        self.expression: Expression = _refuse_expression
        self._constants: dict[tuple[Type, str], Const] = {}

    def constant_at(self, text: str, at: int, type: Type) -> tuple[ir.Value, int]:
        """The constant of `type` that starts at `at`; a Global for a bare `@name`."""
        match = _ATOM.match(text, at)
        if match:
            word = match[0]
            if found := self._constants.get((type, word)):
                return found, match.end()
            if word == "c" and text.startswith('c"', at):
                return self._string(text, at + 2, type)
            if word == "splat":
                return self._splat(text, expect(text, match.end(), " ("), type)
            if word not in _EXPRESSION_WORDS:
                return self._atom(word, type), match.end()
            expression = _EXPRESSION.match(text, at)
            if expression is None:
                raise refusal(text, at, f"a constant of type {type}")
            return self._expression(word, text, expression.end(), type)
        if text.startswith("@", at):
            name, end = name_at(text, at)
            return self._global(name, type), end
        return self._aggregate(text, at, type)

    def _atom(self, word: str, type: Type) -> Const:
        made = self._constants[(type, word)] = Const(type, _value_of_word(word, type))
        return made

    def _global(self, name: str, type: Type) -> Global:
        if "block_invoke" in name:
            raise UnsupportedError("unsupported: blocks (^{ })")
        if name not in self.globals:
            raise UnsupportedError(f"unsupported: use of {unquote(name[1:])!r}, which has no definition or is a function")
        if name in self.changeable:
            what = f"variable {unquote(name[1:])!r} of program scope that kernels may change (__global, static)"
            raise UnsupportedError(f"unsupported: {what}")
        found = self.globals[name]
        if type != Pointer(found.space):
            raise UnsupportedError(f"unsupported: the address of {found.name} as {type}: expected {Pointer(found.space)}")
        return found

    def _string(self, text: str, at: int, type: Type) -> tuple[Const, int]:
        """`c"..."`, `at` behind the quote that opens it."""
        end = find(text, at, '"')
        data = read_quoted(text[at:end])
        if not isinstance(type, Array) or type.elem != Int(8) or type.count != len(data):
            raise UnsupportedError(f"unsupported: text of {len(data)} bytes as {type}: expected [{len(data)} x i8]")
        of_byte = {byte: self._atom(str(byte), type.elem) for byte in set(data)}
        return Const(type, tuple(map(of_byte.__getitem__, data))), end + 1

    def _splat(self, text: str, at: int, type: Type) -> tuple[Const, int]:
        """`splat (i32 1)`, `at` behind the parenthesis."""
        elem, at = self.type_at(text, at)
        if not isinstance(type, Vector) or type.elem != elem:
            raise UnsupportedError(f"unsupported: a splat of {elem} as {type}: expected a vector of {elem}")
        value, at = self.constant_at(text, expect(text, at, " "), elem)
        return Const(type, (_as_constant(value),) * type.count), expect(text, at, ")")

    def _aggregate(self, text: str, at: int, type: Type) -> tuple[Const, int]:
        """The elements of an array, a vector or a struct: as many as the type has, each of the type that it says."""
        if isinstance(type, Array) and type.count > len(text) - at:  # each element takes more than a character
            raise UnsupportedError(f"unsupported: a constant of type {type} in {len(text) - at} characters of LLVM text")
        opener, closer, types = _form_of(type)
        at = expect(text, at, opener)
        parts: list[Const] = []
        for number, wanted in enumerate(types):
            at = at if number == 0 else expect(text, at, ", ")
            elem, at = self.type_at(text, at)
            if elem is not wanted and elem != wanted:
                raise UnsupportedError(f"unsupported: element {number} of a constant of type {type} is of type {elem}")
            value, at = self.constant_at(text, expect(text, at, " "), elem)
            parts.append(value if isinstance(value, Const) else _as_constant(value))
        return Const(type, tuple(parts)), expect(text, at, closer)

    def _expression(self, op: str, text: str, at: int, type: Type) -> tuple[ir.Value, int]:
        """`op (...)`, `at` after the parenthesis: an address is computed here, the rest is left to `expression`."""
        elem: Type | None = None
        if op == "getelementptr":
            elem, at = self.type_at(text, at)
            at = expect(text, at, ", ")
        operands: list[ir.Value] = []
        alone = _ALONE.match(text, at) if op == "bitcast" else None
        if alone is not None:
            operands.append(self._atom(alone[2], self.type_at(alone[1], 0)[0]))
            at = alone.end()
        while alone is None:
            operand_type, at = self.type_at(text, at)
            value, at = self.constant_at(text, expect(text, at, " "), operand_type)
            operands.append(value)
            if not text.startswith(", ", at):
                break
            at += 2
        if text.startswith(" to ", at):
            target, at = self.type_at(text, at + 4)
            if target != type:
                raise UnsupportedError(f"unsupported: {op} to {target} as {type}")
        at = expect(text, at, ")")
        address = _address(elem, operands, type) if op == "getelementptr" else None
        return address or self.expression(op, type, operands, elem), at


def _form_of(type: Type) -> tuple[str, str, tuple[Type, ...]]:
    """What opens and closes the elements of a constant of `type`, and their types."""
    if isinstance(type, Array):
        return "[", "]", (type.elem,) * type.count
    if isinstance(type, Vector):
        return "<", ">", (type.elem,) * type.count
    if not isinstance(type, Struct):
        raise UnsupportedError(f"unsupported: a constant of type {type} that has elements")
    opener, closer = ("<{", "}>") if type.packed else ("{", "}")
    return (f"{opener} ", f" {closer}", type.fields) if type.fields else (opener, closer, ())


def _value_of_word(word: str, type: Type) -> object:
    if word in ("undef", "poison"):
        return UNDEF
    if word == "null" and isinstance(type, Pointer):
        return None
    if word == "zeroinitializer":
        return 0 if isinstance(type, (Int, Float)) else None
    if isinstance(type, Int) and (value := _integer_value(word, type.bits)) is not None:
        return value
    if isinstance(type, Float) and (value := _float_bits(word, type.bits)) is not None:
        return value
    raise UnsupportedError(f"unsupported: constant {word!r} of type {type}")


def _integer_value(word: str, bits: int) -> int | None:
    """Bit pattern of an integer in decimal, signed or not, or of a truth value; None for another word, and one out of range."""
    if bits == 1 and word in ("true", "false"):
        return int(word == "true")
    if not _INTEGER.fullmatch(word) or not -(1 << (bits - 1)) <= int(word) < 1 << bits:
        return None
    return int(word) & ((1 << bits) - 1)


def _float_bits(word: str, bits: int) -> int | None:
    """Bit pattern of a float literal: decimal, `0xH` with a half's bits, or `0x` with the bits of the value as a double. None for
    another word, and for a number that the type does not hold."""
    if _HALF_BITS.fullmatch(word):
        return int(word[3:], 16) if bits == 16 else None
    if _DOUBLE_BITS.fullmatch(word):
        double = int(word[2:], 16)
    elif _DECIMAL.fullmatch(word):
        double = _struct.unpack("<Q", _struct.pack("<d", float(word)))[0]
    else:
        return None
    return double if bits == 64 else _narrow(double, bits)


def _narrow(double: int, bits: int) -> int | None:
    """The float or half with the value of a double's bit pattern, None if it has none; a NaN keeps sign and payload."""
    if (double >> 52) & 0x7FF == 0x7FF and double & ((1 << 52) - 1):
        mantissa = 23 if bits == 32 else 10
        payload, lost = divmod(double & ((1 << 52) - 1), 1 << (52 - mantissa))
        exponent = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
        return (double >> 63) << (bits - 1) | exponent | payload if payload and not lost else None
    value = _struct.unpack("<d", _struct.pack("<Q", double))[0]
    code, pattern = ("<f", "<I") if bits == 32 else ("<e", "<H")
    try:
        packed = _struct.pack(code, value)
    except OverflowError:
        return None
    return int(_struct.unpack(pattern, packed)[0]) if _struct.unpack(code, packed)[0] == value else None


def _as_constant(value: ir.Value) -> Const:
    """A value inside an initializer: a global there stands for its address."""
    if isinstance(value, Global):
        return Const(Pointer(value.space), GlobalOffset(value, 0))
    if isinstance(value, Const):
        return value
    raise UnsupportedError("unsupported: an address conversion")


def _address(elem: Type | None, operands: list[ir.Value], type: Type) -> Const | None:
    """A constant address, or None if the base is not a global."""
    base, indices = operands[0], [index.value for index in operands[1:] if isinstance(index, Const)]
    if isinstance(base, Const) and isinstance(base.value, GlobalOffset):
        target, offset = base.value.target, base.value.offset
    elif isinstance(base, Global):
        target, offset = base, 0
    else:
        return None
    if elem is None or len(indices) != len(operands) - 1 or not all(isinstance(index, int) for index in indices):
        return None
    if not indices or type != Pointer(target.space):
        raise UnsupportedError(f"unsupported: an address in {target.name} as {type}")
    first, *inner = (_signed(operand) for operand in operands[1:])
    offset += first * layout.size_of(elem)
    for index in inner:
        elem, more = layout.step(elem, index)
        offset += more
    return Const(type, GlobalOffset(target, offset))


def _signed(index: ir.Value) -> int:
    assert isinstance(index, Const)
    assert isinstance(index.value, int)
    assert isinstance(index.type, Int)
    half = 1 << (index.type.bits - 1)
    return (index.value ^ half) - half


def _refuse_expression(op: str, type: Type, operands: list[ir.Value], elem: Type | None) -> ir.Value:
    raise UnsupportedError(f"unsupported: {op} of an address")
