"""Types in LLVM's textual form.

Each distinct type of one word is parsed once; the functions take a string and a position and return what they read and the
position after it. What is not understood, or not closed as it was opened, is refused.
"""

from __future__ import annotations

import re

from ...base.errors import UnsupportedError
from ...ir import ir
from ...ir.ir import Array, Float, Int, Pointer, Struct, Type, Vector, Void
from .words import expect, name_at, refusal, unquote

_SIMPLE_TYPE = re.compile(
    r"(?:void|i\d+|half|float|double|ptr addrspace\(\d+\)|ptr)(?![\w.$])"
    r"|<\d+ x (?:i\d+|half|float|double|ptr(?: addrspace\(\d+\))?)>"
)
_COUNT = re.compile(r"(\d+) x ")
_TARGET = re.compile(r'target\("([^"]+)"([^)]*)\)')
_IMAGE = re.compile(r", (?:void|i32|float|half)((?:, \d+){7})")
"""Operands of SPIR-V's OpTypeImage: the sampled type, dim, depth, arrayed, multisampled, sampled, format, access."""

_SPACES = (ir.PRIVATE, ir.GLOBAL, ir.CONSTANT, ir.LOCAL, ir.GENERIC)
_DIMENSIONS = {0: "image1d", 1: "image2d", 2: "image3d", 5: "image1d_buffer"}
_ACCESS = {0: "read_only", 1: "write_only", 2: "read_write"}
_LANES = frozenset((2, 3, 4, 8, 16, 32))
"""Elements of a vector of OpenCL C (section 6.3.2), and of cl_qcom_extra_vector_types. clang takes any number: LLVM aborts, and
analyses take for ever, long before the highest."""

_OPAQUE = {"spirv.DeviceEvent": "clk_event_t", "spirv.Queue": "queue_t", "spirv.Pipe": "pipe", "spirv.ReserveId": "reserve_id_t"}


class TypeReader:
    """Reads types; `structs` are the named ones of the module, name to body text."""

    def __init__(self, structs: dict[str, str]):
        self.structs = structs
        self._types: dict[str, Type] = {"void": Void()}
        self._named: dict[str, Type] = {}

    def type_at(self, text: str, at: int) -> tuple[Type, int]:
        """The type that starts at `at`."""
        match = _SIMPLE_TYPE.match(text, at)
        if match:
            word = match[0]
            return self._types.get(word) or self._simple(word), match.end()
        opener = text[at : at + 1]
        if text.startswith("<{", at):
            return self._struct(text, at + 2, packed=True)
        if opener in ("[", "<"):
            return self._sequence(text, at)
        if opener == "{":
            return self._struct(text, at + 1, packed=False)
        if opener == "%":
            name, end = name_at(text, at)
            return self._named.get(name) or self._named_struct(name), end
        if match := _TARGET.match(text, at):
            return self._types.get(match[0]) or self._target(match), match.end()
        raise UnsupportedError(f"unsupported: type {text[at : at + 40]!r}")

    def _simple(self, word: str) -> Type:
        made: Type
        if word[0] == "<":
            count, _, elem = word[1:-1].partition(" x ")
            made = _vector(self.type_at(elem, 0)[0], int(count))
        elif word[0] == "i":
            made = _integer(int(word[1:]))
        elif word[0] == "p":
            made = _pointer(int(word[14:-1]) if len(word) > 3 else ir.PRIVATE)
        else:
            made = Float({"half": 16, "float": 32, "double": 64}[word])
        self._types[word] = made
        return made

    def _sequence(self, text: str, at: int) -> tuple[Type, int]:
        """An array, or a vector whose elements are of a type that is refused."""
        count = _COUNT.match(text, at + 1)
        if not count:
            raise UnsupportedError(f"unsupported: type {text[at : at + 40]!r}")
        elem, end = self.type_at(text, count.end())
        if text[at] == "<":
            return _vector(elem, int(count[1])), expect(text, end, ">")
        return Array(elem, int(count[1])), expect(text, end, "]")

    def _struct(self, text: str, at: int, *, packed: bool) -> tuple[Type, int]:
        """A struct, `at` behind the brace that opens it."""
        closer = "}>" if packed else "}"
        if text.startswith(closer, at):
            return Struct((), packed), at + len(closer)
        fields: list[Type] = []
        at = expect(text, at, " ")
        while True:
            field, at = self.type_at(text, at)
            fields.append(field)
            if text.startswith(" ", at):
                return Struct(tuple(fields), packed), expect(text, at, " " + closer)
            at = expect(text, at, ", ")

    def _named_struct(self, name: str) -> Type:
        body = self.structs.get(name, "opaque")
        if body == "opaque":
            raise UnsupportedError(f"unsupported: opaque type {unquote(name[1:])}")
        made, end = self.type_at(body, 0)
        if end != len(body):
            raise refusal(body, end, f"the end of type {unquote(name[1:])}")
        self._named[name] = made
        return made

    def _target(self, match: re.Match[str]) -> Type:
        kind, rest = match[1], match[2]
        made: Type
        if kind == "spirv.Sampler" and not rest:
            made = ir.Sampler()
        elif kind == "spirv.Event" and not rest:
            made = ir.Event()
        elif kind == "spirv.Image" and (numbers := _IMAGE.fullmatch(rest)):
            made = _image([int(word) for word in numbers[1][2:].split(", ")])
        else:
            raise UnsupportedError(f"unsupported: type {_OPAQUE.get(kind, match[0])}")
        self._types[match[0]] = made
        return made


def _integer(bits: int) -> Type:
    if bits not in (1, 8, 16, 32, 64):
        raise UnsupportedError(f"unsupported: integers of {bits} bits")
    return Int(bits)


def _pointer(space: int) -> Type:
    if space not in _SPACES:
        raise UnsupportedError(f"unsupported: address space {space}, which OpenCL C does not have")
    return Pointer(space)


def _vector(elem: Type, count: int) -> Type:
    if not isinstance(elem, (Int, Float)):
        raise UnsupportedError(f"unsupported: a vector of {elem}")
    if count not in _LANES:
        lacking = f"a vector of {count} x {elem}, which OpenCL C lacks"
        raise UnsupportedError(f"unsupported: {lacking} (expected 2, 3, 4, 8, 16 or 32)")
    return Vector(elem, count)


def _image(numbers: list[int]) -> Type:
    """The type of SPIR-V's numbers after the sampled type."""
    dimension, depth, arrayed, multisampled, sampled, format, access = numbers
    if dimension not in _DIMENSIONS or access not in _ACCESS or sampled or format:
        raise UnsupportedError(
            f"unsupported: image of dimension {dimension}, sampled {sampled}, format {format}, access {access}"
        )
    kind = _DIMENSIONS[dimension] + ("_array" if arrayed else "")
    if depth or multisampled:
        raise UnsupportedError(f"unsupported: {kind}{'_msaa' if multisampled else ''}{'_depth' if depth else ''}_t")
    return ir.Image(kind, _ACCESS[access])
