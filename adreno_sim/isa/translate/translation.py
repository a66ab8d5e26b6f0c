"""The state of a translation: what each value of the kernel is in NIR, where constants and parameters lie, who translates what.

A value of kernel IR is a tuple of NIR's scalars, one for each leaf of its type. Pointers to global and constant memory have 64
bits, to local and private memory 32 (an offset).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from ...base.alignment import align_up
from ...base.errors import UnsupportedError
from ...ir import ir, layout
from ...ir.constant_data import data_bytes
from ...records import dataclass
from ..program import IMAGE_SHAPES, ImageShape, NirProgram, Value, Variable

Values = tuple[Value, ...]
Handler = Callable[["Translation", ir.Instr], "Values | ElementPointer | None"]
"""Translates an instruction, and returns its value."""


@dataclass(frozen=True)
class ElementPointer:
    """A pointer to an element of a private array that NIR knows as an array. unit: bytes of an element."""

    variable: Variable
    unit: int
    index: Value


@dataclass(frozen=True)
class ImageHandle:
    """A parameter that is an image: a texture (only read) or an image (written), counted apart."""

    number: int
    is_texture: bool
    shape: ImageShape


@dataclass(frozen=True)
class _NearPointer:
    """A pointer as another one and a constant, which a load can hold itself."""

    base: Value
    offset: int


@dataclass
class Translation:
    """One kernel on its way. arrays: the private arrays (by id) that NIR holds as arrays. stand_ins: functions that the
    hardware's own stand for. omitted: what the machine code lacks. repeated: the loads (by id) that give an earlier value.
    inlined: how many functions of the library are around it."""

    function: ir.Function
    program: NirProgram
    handlers: Mapping[str, Handler]
    arrays: Mapping[int, int]
    values: dict[int, Values] = field(default_factory=dict)
    elements: dict[int, ElementPointer] = field(default_factory=dict)
    images: dict[int, ImageHandle] = field(default_factory=dict)
    samplers: dict[int, int] = field(default_factory=dict)
    stand_ins: set[str] = field(default_factory=set)
    omitted: set[str] = field(default_factory=set)
    repeated: Mapping[int, ir.Value] = field(default_factory=dict)
    inlined: int = 0
    _addresses: dict[str, int] = field(default_factory=dict)
    _near: dict[Value, _NearPointer] = field(default_factory=dict)
    _constant_places: dict[Value, Value] = field(default_factory=dict)
    _places: dict[str, int | None] = field(default_factory=dict)

    def stand_at(self, instr: ir.Instr) -> None:
        """What is added next is of the source line of this instruction; of none if that is in another file."""
        if not self.inlined:
            self.program.line = 0 if instr.loc.file else instr.loc.line

    # Values of the kernel

    def value(self, value: ir.Value) -> Values:
        """Returns the scalars of an operand."""
        if isinstance(value, ir.Const):
            return self._constant(value)
        if isinstance(value, ir.Global):
            return (self._address(value, 0),)
        if id(value) in self.values:
            return self.values[id(value)]
        if id(value) in self.elements:
            raise UnsupportedError("unsupported by isa: a pointer into a private array that is kept in registers")
        raise UnsupportedError(f"unsupported by isa: {ir.type_of(value)} where a number or a pointer is expected")

    def scalar(self, value: ir.Value) -> Value:
        """Returns the scalar of an operand that is one."""
        return self.value(value)[0]

    def element(self, value: ir.Value) -> ElementPointer | None:
        """Returns an operand as a pointer into an array of NIR's, if it is one."""
        return self.elements.get(id(value))

    def _constant(self, constant: ir.Const) -> Values:
        value = constant.value
        if value is ir.UNDEF:
            return tuple(self.program.undefined(bits_of(leaf)) for _, leaf in leaves_of(constant.type))
        if isinstance(value, tuple):
            return tuple(scalar for item in value for scalar in self._constant(item))
        if value is None:
            return tuple(self.program.constant(0, bits_of(leaf)) for _, leaf in leaves_of(constant.type))
        if isinstance(value, ir.GlobalOffset):
            return (self._address(value.target, value.offset),)
        assert isinstance(value, int)
        return (self.program.constant(value, bits_of(constant.type)),)

    def _address(self, variable: ir.Global, offset: int) -> Value:
        """A local array is an offset; constant data are at an address that is a parameter, and in the program if known."""
        if variable.space == ir.LOCAL:
            if variable.name not in self._addresses:
                self._addresses[variable.name] = self.reserve_local(variable.type, variable.align)
            return self.program.constant(self._addresses[variable.name] + offset, 32)
        if variable.name not in self._addresses:
            self._addresses[variable.name] = self.reserve_uniform(f"constant {variable.name}", 8, 8)
        start = self.load_uniform(self._addresses[variable.name], 64)
        place = self._place_data(variable)
        if place is not None:
            self._constant_places[start] = self.program.constant(place, 32)
        return self.add_constant(start, offset)

    def _place_data(self, variable: ir.Global) -> int | None:
        """Returns where the data of a constant variable begin in the program; None where nobody knows them before a launch."""
        if variable.name not in self._places:
            data, places = _find_data(variable), self.program.constant_data
            places.extend(bytes(align_up(len(places), _DATA_ALIGNED) - len(places)) if data else b"")
            self._places[variable.name] = len(places) if data else None
            places.extend(data)
        return self._places[variable.name]

    def constant_place(self, pointer: Value) -> Value | None:
        """Returns where a pointer points to in the constant data of the program; None if that is not known."""
        base, known = self.split_constant(pointer)
        place = self._constant_places.get(base)
        return place if place is None or not known else self.program.op("iadd", place, self.program.constant(known, 32))

    def note_constant_place(self, pointer: Value, place: Value) -> None:
        """From here on, a pointer is known to point to this place in the constant data of the program."""
        self._constant_places[pointer] = place

    # Where things lie

    def reserve_local(self, type: ir.Type, align: int) -> int:
        """Returns the offset of a new local array."""
        start = align_up(self.program.local_bytes, max(align, layout.align_of(type)))
        self.program.local_bytes = start + layout.size_of(type)
        return start

    def reserve_scratch(self, size: int, align: int) -> int:
        """Returns the offset of a new variable in private memory."""
        start = align_up(self.program.scratch_bytes, max(align, 4))
        self.program.scratch_bytes = start + size
        return start

    def reserve_uniform(self, what: str, size: int, align: int) -> int:
        """Returns the offset of a new parameter in the constant buffer."""
        start = align_up(self.program.uniforms, align)
        self.program.parameters.append((what, start))
        self.program.uniforms = start + size
        return start

    def find_local_size(self) -> int:
        """Returns the offset of the three sizes of a group, which the driver hands over."""
        if "" not in self._addresses:
            self._addresses[""] = self.reserve_uniform("local size", 12, 4)
        return self._addresses[""]

    def load_uniform(self, offset: int, bits: int) -> Value:
        """Reads a parameter."""
        program = self.program
        if bits == 1:
            return program.op("ine", self.load_uniform(offset, 8), program.constant(0, 8))
        where = [program.constant(0, 32), program.constant(offset, 32)]
        return program.intrinsic("load_ubo", where, 1, bits, 1, ALIGN_MUL=bits // 8, RANGE_BASE=0, RANGE=_MOST_UNIFORMS)

    # Addresses

    def add_constant(self, pointer: Value, offset: int) -> Value:
        """Adds a constant to a pointer; the sum is known as such, so that an access can hold the constant itself."""
        base, known = self.split_constant(pointer)
        total = known + offset
        if offset == 0 or total == 0:
            return pointer if offset == 0 else base
        found = self.program.op("iadd", base, self.program.constant(total, self.program.bits(base)))
        self._near[found] = _NearPointer(base, total)
        return found

    def split_constant(self, pointer: Value) -> tuple[Value, int]:
        """Returns a pointer as another one and a constant."""
        near = self._near.get(pointer)
        return (pointer, 0) if near is None else (near.base, near.offset)

    def resize(self, value: Value, bits: int, signed: bool = False) -> Value:
        """Returns an integer in so many bits."""
        if self.program.bits(value) == bits:
            return value
        return self.program.op(f"{'i2i' if signed else 'u2u'}{bits}", value)

    # Lanes

    def map_lanes(self, instr: ir.Instr, apply: Callable[..., Value]) -> Values:
        """Applies a function of scalars to the lanes of all operands; a scalar operand serves every lane."""
        operands = [self.value(operand) for operand in instr.operands]
        count = max(map(len, operands))
        return tuple(apply(*(one[lane if len(one) > 1 else 0] for one in operands)) for lane in range(count))


_MOST_UNIFORMS = 4096
_DATA_ALIGNED = 16


def _find_data(variable: ir.Global) -> bytes:
    """Returns the bytes of a constant variable; none where it holds addresses, which nobody knows before a launch."""
    try:
        return data_bytes(variable.initializer, variable.type)
    except UnsupportedError:
        return b""


def refuse(what: str, instr: ir.Instr | None = None) -> UnsupportedError:
    """Returns the error for what is not translated, with its place."""
    place = f" at {instr.loc.line}:{instr.loc.column}" if instr is not None and instr.loc.line else ""
    return UnsupportedError(f"unsupported by isa: {what}{place}")


def lane_type(type: ir.Type) -> ir.Type:
    """Returns the type of a lane of a vector, or the type itself."""
    return type.elem if isinstance(type, ir.Vector) else type


def bits_of(type: ir.Type) -> int:
    """Returns the bits of a scalar type in NIR."""
    if isinstance(type, ir.Float) and type.bits == 64:
        raise refuse("double: these GPUs do not have it")
    if isinstance(type, (ir.Int, ir.Float)):
        return type.bits
    if isinstance(type, ir.Pointer):
        return 64 if type.space in (ir.GLOBAL, ir.CONSTANT, ir.GENERIC) else 32
    if isinstance(type, ir.Event):
        return 32
    raise refuse(f"a value of type {type}")


def stored_bits(type: ir.Type) -> int:
    """Returns the bits of a scalar type in memory."""
    return layout.size_of(type) * 8


@functools.lru_cache(maxsize=4096)
def leaves_of(type: ir.Type, start: int = 0) -> tuple[tuple[int, ir.Type], ...]:
    """Returns the byte offset and type of each scalar in a type."""
    if isinstance(type, (ir.Vector, ir.Array)):
        size = layout.size_of(type.elem)
        return tuple(leaf for number in range(type.count) for leaf in leaves_of(type.elem, start + number * size))
    if isinstance(type, ir.Struct):
        offsets = [layout.field_offset(type, number) for number in range(len(type.fields))]
        return tuple(leaf for part, at in zip(type.fields, offsets, strict=True) for leaf in leaves_of(part, start + at))
    return () if isinstance(type, ir.Void) else ((start, type),)


def leaf_types(type: ir.Type) -> frozenset[ir.Type]:
    """Returns the types of the scalars in a type, which may be a private array of any length."""
    if isinstance(type, (ir.Vector, ir.Array)):
        return leaf_types(type.elem) if type.count else frozenset()
    if isinstance(type, ir.Struct):
        return frozenset().union(*map(leaf_types, type.fields))
    return frozenset() if isinstance(type, ir.Void) else frozenset([type])


def make_image(program: NirProgram, type: ir.Image) -> ImageHandle:
    """Counts one more image of the kernel."""
    shape = IMAGE_SHAPES.get(type.kind)
    if shape is None:
        raise refuse(f"an image of kind {type.kind}")
    if type.access == "read_only":
        program.textures += 1
        return ImageHandle(program.textures - 1, True, shape)
    program.images += 1
    return ImageHandle(program.images - 1, False, shape)


def constant_index(index: ir.Value) -> int | None:
    """Returns an index that is a constant, with its sign."""
    if not isinstance(index, ir.Const) or not isinstance(index.value, int) or not isinstance(index.type, ir.Int):
        return None
    sign = 1 << (index.type.bits - 1)
    return (index.value ^ sign) - sign


def is_unsigned(spelled: str) -> bool:
    """Returns whether a type is spelled as an unsigned one."""
    return spelled.startswith("u")


def all_of(values: Sequence[Values]) -> Values:
    """Returns the scalars of several values, one after the other."""
    return tuple(scalar for value in values for scalar in value)
