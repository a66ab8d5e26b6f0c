"""Types, constants and operands in LLVM's textual form.

One `TextReader` serves one module. Types and constants are interned by their text, so that each distinct one is
parsed once; the functions take a string and a position and return what they read and the position after it.
"""

from __future__ import annotations

import re
import struct as _struct
from collections.abc import Callable

from ...base.errors import UnsupportedError
from ...ir import ir, layout
from ...ir.ir import UNDEF, Array, Const, Float, Global, GlobalOffset, Int, Pointer, Struct, Type, Vector, Void

_SIMPLE_TYPE = re.compile(
    r"void|i\d+|half|float|double|ptr(?: addrspace\(\d+\))?|<\d+ x (?:i\d+|half|float|double|ptr(?: addrspace\(\d+\))?)>"
)
_COUNT = re.compile(r"(\d+) x ")
_TARGET = re.compile(r'target\("([^"]+)"([^)]*)\)')
NAME = re.compile(r'[%@](?:"[^"]*"|[-\w.$]+)')
_ATOM = re.compile(r"[-+.\w]+")
_EXPRESSION = re.compile(
    r"(getelementptr|ptrtoint|inttoptr|bitcast|addrspacecast|trunc|add|sub|mul|xor)"
    r"(?: (?:inbounds|nuw|nusw|nsw|inrange\([^)]*\)))* \("
)  # fmt: skip
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})")

_DIMENSIONS = {0: "image1d", 1: "image2d", 2: "image3d", 5: "image1d_buffer"}
_ACCESS = {0: "read_only", 1: "write_only", 2: "read_write"}

Expression = Callable[[str, Type, list[ir.Value], Type | None], ir.Value]
"""Makes the value of a constant expression that is no plain constant: (op, result type, operands, gep element type)."""


class TextReader:
    """Reads types and constants; `globals` by name and `structs` (name to body text) belong to the module."""

    def __init__(self, structs: dict[str, str]):
        self.structs = structs
        self.globals: dict[str, Global] = {}
        self.changeable: set[str] = set()
        self._types: dict[str, Type] = {"void": Void()}
        self._named: dict[str, Type] = {}
        self._constants: dict[tuple[Type, str], Const] = {}
        self._elements: dict[Type, Type] = {}
        self.expression: Expression = _no_expression

    # Types

    def type_at(self, text: str, at: int) -> tuple[Type, int]:
        """The type that starts at `at`."""
        match = _SIMPLE_TYPE.match(text, at)
        if match:
            word = match[0]
            return self._types.get(word) or self._simple(word), match.end()
        opener = text[at]
        if opener == "[" or (opener == "<" and text[at + 1] != "{"):
            return self._sequence(text, at)
        if opener == "{" or opener == "<":
            return self._struct(text, at)
        if opener == "%":
            name = NAME.match(text, at)
            assert name is not None
            return self._named_struct(name[0]), name.end()
        if match := _TARGET.match(text, at):
            return self._types.get(match[0]) or self._target(match), match.end()
        raise UnsupportedError(f"unsupported: type {text[at : at + 40]!r}")

    def _simple(self, word: str) -> Type:
        made: Type
        if word[0] == "<":
            count, _, elem = word[1:-1].partition(" x ")
            made = self._vector(self.type_at(elem, 0)[0], int(count))
        elif word[0] == "i":
            made = _integer(int(word[1:]))
        elif word[0] == "p":
            made = Pointer(int(word[14:-1]) if len(word) > 3 else ir.PRIVATE)
        else:
            made = Float({"half": 16, "float": 32, "double": 64}[word])
        self._types[word] = made
        return made

    def _vector(self, elem: Type, count: int) -> Type:
        if not isinstance(elem, (Int, Float)):
            raise UnsupportedError(f"unsupported: a vector of {elem}")
        return Vector(elem, count)

    def _sequence(self, text: str, at: int) -> tuple[Type, int]:
        count = _COUNT.match(text, at + 1)
        if not count:
            raise UnsupportedError(f"unsupported: type {text[at : at + 40]!r}")
        elem, end = self.type_at(text, count.end())
        made = Array(elem, int(count[1])) if text[at] == "[" else self._vector(elem, int(count[1]))
        return made, end + 1

    def _struct(self, text: str, at: int) -> tuple[Type, int]:
        packed = text[at] == "<"
        at += 2 if packed else 1
        fields: list[Type] = []
        while True:
            while text[at] in " ,":
                at += 1
            if text[at] == "}":
                return Struct(tuple(fields), packed), at + (2 if packed else 1)
            field, at = self.type_at(text, at)
            fields.append(field)

    def _named_struct(self, name: str) -> Type:
        if name not in self._named:
            body = self.structs.get(name, "opaque")
            if body == "opaque":
                raise UnsupportedError(f"unsupported: opaque type {name[1:]}")
            self._named[name] = self.type_at(body, 0)[0]
        return self._named[name]

    def _target(self, match: re.Match[str]) -> Type:
        kind, rest = match[1], match[2]
        made: Type
        if kind == "spirv.Sampler":
            made = ir.Sampler()
        elif kind == "spirv.Event":
            made = ir.Event()
        elif kind == "spirv.Image":
            made = _image([int(word) for word in rest.split(",")[2:]])
        else:
            raise UnsupportedError(f"unsupported: type {_OPAQUE.get(kind, kind)}")
        self._types[match[0]] = made
        return made

    # Constants

    def constant_at(self, text: str, at: int, type: Type) -> tuple[ir.Value, int]:
        """The constant of `type` that starts at `at`; a Global for a bare `@name`."""
        match = _ATOM.match(text, at)
        if match and match[0] != "c" and text[match.end() : match.end() + 2] != " (" and match[0] not in _EXPRESSION_WORDS:
            word = match[0]
            return self._constants.get((type, word)) or self._atom(word, type), match.end()
        opener = text[at]
        if opener == "@":
            name = NAME.match(text, at)
            assert name is not None
            return self._global(name[0]), name.end()
        if text.startswith("splat (", at):
            elem, start = self.type_at(text, at + 7)
            value, end = self.constant_at(text, start + 1, elem)
            assert isinstance(value, Const) and isinstance(type, Vector)
            return Const(type, (value,) * type.count), end + 1
        if opener == "c":
            return self._string(text, at, type)
        if opener in "<[{":
            return self._aggregate(text, at, type)
        if match := _EXPRESSION.match(text, at):
            return self._expression(match[1], text, match.end(), type)
        raise UnsupportedError(f"unsupported: constant {text[at : at + 40]!r}")

    def _atom(self, word: str, type: Type) -> Const:
        made = Const(type, _atom_value(word, type))
        self._constants[(type, word)] = made
        return made

    def _global(self, name: str) -> Global:
        if "block_invoke" in name:
            raise UnsupportedError("unsupported: blocks (^{ })")
        if name not in self.globals:
            raise UnsupportedError(f"unsupported: use of {name[1:]!r}, which has no definition or is a function")
        if name in self.changeable:
            what = f"variable {name[1:]!r} of program scope that kernels may change (__global, static)"
            raise UnsupportedError(f"unsupported: {what}")
        return self.globals[name]

    def _string(self, text: str, at: int, type: Type) -> tuple[Const, int]:
        end = text.index('"', at + 2)
        data = _ESCAPE.sub(lambda code: bytes([int(code[1], 16)]), text[at + 2 : end].encode("utf-8", "surrogateescape"))
        assert isinstance(type, Array)
        return Const(type, tuple(self._atom(str(byte), type.elem) for byte in data)), end + 1

    def _aggregate(self, text: str, at: int, type: Type) -> tuple[Const, int]:
        closer = {"<": ">", "[": "]", "{": "}"}[text[at]]
        if text.startswith("<{", at):
            at, closer = at + 1, "}"
        parts: list[Const] = []
        at += 1
        while True:
            while text[at] in " ,":
                at += 1
            if text[at] == closer:
                break
            elem, at = self.type_at(text, at)
            value, at = self.constant_at(text, at + 1, elem)
            parts.append(_as_constant(value))
        at += 2 if closer == "}" and text.startswith("}>", at) else 1
        return Const(type, tuple(parts)), at

    def _expression(self, op: str, text: str, at: int, type: Type) -> tuple[ir.Value, int]:
        """`op (...)`, `at` after the parenthesis: an address is computed here, the rest is left to `expression`."""
        elem: Type | None = None
        if op == "getelementptr":
            elem, at = self.type_at(text, at)
            at += 2
        operands: list[ir.Value] = []
        while text[at] != ")":
            if text.startswith(" to ", at):
                _, at = self.type_at(text, at + 4)
                continue
            at += 2 if text[at] == "," else 0
            operand_type, at = self.type_at(text, at)
            value, at = self.constant_at(text, at + 1, operand_type)
            operands.append(value)
        if op == "getelementptr":
            address = _address(elem, operands, type)
            if address is not None:
                return address, at + 1
        return self.expression(op, type, operands, elem), at + 1


_EXPRESSION_WORDS = frozenset((
    "getelementptr", "ptrtoint", "inttoptr", "bitcast", "addrspacecast", "trunc", "add", "sub", "mul", "xor", "splat",
))  # fmt: skip
_OPAQUE = {"spirv.DeviceEvent": "clk_event_t", "spirv.Queue": "queue_t", "spirv.Pipe": "pipe", "spirv.ReserveId": "reserve_id_t"}


def _integer(bits: int) -> Type:
    if bits not in (1, 8, 16, 32, 64):
        raise UnsupportedError(f"unsupported: integers of {bits} bits")
    return Int(bits)


def _image(numbers: list[int]) -> Type:
    """Operands of SPIR-V's OpTypeImage after the sampled type: dim, depth, arrayed, multisampled, sampled, format, access."""
    dimension, depth, arrayed, multisampled, access = *numbers[:4], numbers[6]
    kind = _DIMENSIONS.get(dimension, f"image of dimension {dimension}") + ("_array" if arrayed else "")
    if depth or multisampled:
        raise UnsupportedError(f"unsupported: {kind}{'_msaa' if multisampled else ''}{'_depth' if depth else ''}_t")
    return ir.Image(kind, _ACCESS[access])


def _atom_value(word: str, type: Type) -> object:
    if word in ("undef", "poison"):
        return UNDEF
    if word in ("null", "zeroinitializer", "none"):
        return 0 if isinstance(type, (Int, Float)) else None
    if isinstance(type, Int):
        return 1 if word == "true" else 0 if word == "false" else int(word) & ((1 << type.bits) - 1)
    if isinstance(type, Float):
        return _float_bits(word, type.bits)
    raise UnsupportedError(f"unsupported: constant {word!r} of type {type}")


def _float_bits(word: str, bits: int) -> int:
    """Bit pattern of a float literal: decimal, `0xH` with a half's bits, or `0x` with the bits of the value as a double."""
    if word.startswith("0xH"):
        return int(word[3:], 16)
    double = int(word[2:], 16) if word.startswith("0x") else _struct.unpack("<Q", _struct.pack("<d", float(word)))[0]
    return double if bits == 64 else _narrow(double, bits)


def _narrow(double: int, bits: int) -> int:
    """The float or half with the value of a double's bit pattern; a NaN keeps sign and leading payload bits."""
    if (double >> 52) & 0x7FF == 0x7FF and double & ((1 << 52) - 1):
        mantissa = 23 if bits == 32 else 10
        return (
            (double >> 63) << (bits - 1)
            | ((1 << (bits - 1 - mantissa)) - 1) << mantissa
            | (double & ((1 << 52) - 1)) >> (52 - mantissa)
        )
    (value,) = _struct.unpack("<d", _struct.pack("<Q", double))
    code, pattern = ("<f", "<I") if bits == 32 else ("<e", "<H")
    return int(_struct.unpack(pattern, _struct.pack(code, value))[0])


def _as_constant(value: ir.Value) -> Const:
    """A value inside an initializer: a global there stands for its address."""
    if isinstance(value, Global):
        return Const(Pointer(value.space), GlobalOffset(value, 0))
    if isinstance(value, Const):
        return value
    raise UnsupportedError("unsupported: an address conversion")


def _address(elem: Type | None, operands: list[ir.Value], type: Type) -> Const | None:
    """A constant address, or None where the base is not a global."""
    base, indices = operands[0], [index.value for index in operands[1:] if isinstance(index, Const)]
    if isinstance(base, Const) and isinstance(base.value, GlobalOffset):
        target, offset = base.value.target, base.value.offset
    elif isinstance(base, Global):
        target, offset = base, 0
    else:
        return None
    if elem is None or len(indices) != len(operands) - 1 or not all(isinstance(index, int) for index in indices):
        return None
    first, *inner = (_signed(operand) for operand in operands[1:])
    offset += first * layout.size_of(elem)
    for index in inner:
        elem, more = layout.step(elem, index)
        offset += more
    return Const(type, GlobalOffset(target, offset))


def _signed(index: ir.Value) -> int:
    assert isinstance(index, Const) and isinstance(index.value, int) and isinstance(index.type, Int)
    half = 1 << (index.type.bits - 1)
    return (index.value ^ half) - half


def _no_expression(op: str, type: Type, operands: list[ir.Value], elem: Type | None) -> ir.Value:
    raise UnsupportedError(f"unsupported: {op} of an address")
