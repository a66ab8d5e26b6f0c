"""Values of the source's types: read from bytes, computed with, and as text."""

from __future__ import annotations

import numpy as np

from ..frontend.debug_info import Type
from ..records import dataclass

Number = int | float
_DTYPES = {
    ("int", 1): "i1", ("int", 2): "i2", ("int", 4): "i4", ("int", 8): "i8",
    ("uint", 1): "u1", ("uint", 2): "u2", ("uint", 4): "u4", ("uint", 8): "u8",
    ("float", 2): "f2", ("float", 4): "f4", ("float", 8): "f8", ("bool", 1): "u1", ("pointer", 8): "u8",
}  # fmt: skip
MOST_SHOWN = 16
"""Elements of an array that are shown."""
_COMPONENTS = {**{name: n for n, name in enumerate("xyzw")}, **{f"s{n:x}": n for n in range(16)}}


class DebugError(Exception):
    """What a command of the debugger asks for is not there, or makes no sense. The text says why."""


class NoValueError(DebugError):
    """A variable that is known, and has no value yet."""


@dataclass(frozen=True)
class Value:
    """A value of the source: its type and bytes. address: where it lies, for what may be stored to; local: `address` counts from
    the start of the group's local memory."""

    type: Type
    data: bytes
    address: int | None = None
    local: bool = False

    @property
    def number(self) -> Number:
        """What it comes to in arithmetic. DebugError for a vector, an array or a struct."""
        dtype = _DTYPES.get((self.type.kind, self.type.nbytes))
        if dtype is None:
            raise DebugError(f"expected a number, got a {self.type.name}")
        found = np.frombuffer(self.data[: self.type.nbytes], dtype)[0].item()
        return int(found) if self.type.kind == "bool" else found

    def part(self, offset: int, type: Type) -> Value:
        """Returns the part of it at a byte offset."""
        address = None if self.address is None else self.address + offset
        return Value(type, self.data[offset : offset + type.nbytes], address, self.local)


INT = Type("int", "int", 4)
FLOAT = Type("float", "float", 4)
_LONG, _DOUBLE = Type("int", "long", 8), Type("float", "double", 8)


def make_value(number: Number) -> Value:
    """Returns a computed number as a value: a long, or a double."""
    if isinstance(number, float):
        return Value(_DOUBLE, np.float64(number).tobytes())
    return Value(_LONG, (number % (1 << 64)).to_bytes(8, "little"))


def type_of_dtype(dtype: str, channels: int = 1) -> Type:
    """Returns the type of elements of a buffer or texels of an image that nothing says more of."""
    found = np.dtype(dtype)
    kind = {"i": "int", "u": "uint", "f": "float", "b": "bool"}.get(found.kind, "opaque")
    element = Type(kind, found.name, found.itemsize)
    return element if channels == 1 else Type("vector", f"{found.name}x{channels}", found.itemsize * channels, element, channels)


def member(value: Value, name: str) -> Value:
    """Returns a member of a struct, or one component of a vector. DebugError if there is none."""
    if value.type.kind == "struct":
        for field, offset, type in value.type.fields:
            if field == name:
                return value.part(offset, type)
        raise DebugError(f"{value.type.name} has no member {name}: it has {', '.join(f[0] for f in value.type.fields)}")
    if value.type.kind == "vector" and value.type.element is not None:
        number = _COMPONENTS.get(name.lower().replace("s", "s", 1))
        if number is not None and number < value.type.count:
            return value.part(number * value.type.element.nbytes, value.type.element)
        raise DebugError(f"{value.type.name} has no component {name}")
    raise DebugError(f"a {value.type.name} has no members")


def element_at(value: Value, index: int) -> Value:
    """Returns an element of an array. DebugError if it has none there."""
    element = value.type.element
    assert element is not None
    if not 0 <= index < value.type.count:
        raise DebugError(f"index {index}: {value.type.name} has {value.type.count} elements")
    return value.part(index * element.nbytes, element)


def show(value: Value) -> str:
    """Returns a value as text; a pointer as its address, which who knows more replaces."""
    type = value.type
    if type.kind == "vector" and type.element is not None:
        parts = (show(value.part(n * type.element.nbytes, type.element)) for n in range(type.count))
        return "(" + ", ".join(parts) + ")"
    if type.kind == "array" and type.element is not None:
        shown = [show(element_at(value, n)) for n in range(min(type.count, MOST_SHOWN))]
        return "{" + ", ".join(shown) + (f", ... {type.count} elements" if type.count > MOST_SHOWN else "") + "}"
    if type.kind == "struct":
        return "{" + ", ".join(f"{name} = {show(value.part(at, of))}" for name, at, of in type.fields) + "}"
    if (type.kind, type.nbytes) not in _DTYPES:
        return f"<{value.data.hex(' ')}>" if value.data else "<no bytes>"
    if type.kind == "bool":
        return "true" if value.number else "false"
    if type.kind == "pointer":
        return f"{value.number:#x}"
    if type.kind == "float":
        return str(np.frombuffer(value.data, _DTYPES[type.kind, type.nbytes])[0])
    return str(value.number)
