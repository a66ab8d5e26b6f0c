"""What the kernels' objects are made of: scalars, vectors, structs, arrays of them, images; where each element lies."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

SCALARS = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "float": "float32",
    "half": "float16",
    "double": "float64",
}
"""NumPy's name of each scalar type. Every value is a whole number of at most 7 bits, which all of them hold."""


@dataclass(frozen=True)
class Element:
    """A scalar, or a vector of `lanes` scalars."""

    scalar: str
    lanes: int = 1

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(SCALARS[self.scalar])

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * self.lanes

    def text(self) -> str:
        return self.scalar if self.lanes == 1 else f"{self.scalar}{self.lanes}"


@dataclass(frozen=True)
class Struct:
    """A struct of arrays and single fields: (name, type, number of elements; 0 = no array)."""

    name: str
    fields: tuple[tuple[str, Element, int], ...]

    def offset_of(self, field: str) -> int:
        return self._offsets()[field]

    def element_of(self, field: str) -> tuple[Element, int]:
        return next((element, count) for name, element, count in self.fields if name == field)

    @property
    def alignment(self) -> int:
        return max(element.nbytes for _, element, _ in self.fields)

    @property
    def nbytes(self) -> int:
        return self._offsets()[""]

    def _offsets(self) -> dict[str, int]:
        offsets, at = {}, 0
        for name, element, count in self.fields:
            at = -(-at // element.nbytes) * element.nbytes
            offsets[name] = at
            at += element.nbytes * max(count, 1)
        offsets[""] = -(-at // self.alignment) * self.alignment
        return offsets

    def text(self) -> str:
        fields = " ".join(f"{e.text()} {n}{f'[{c}]' if c else ''};" for n, e, c in self.fields)
        return f"typedef struct {{ {fields} }} {self.name};"


@dataclass(frozen=True)
class Array:
    """An object of `dims` elements. how: "variable" (of the kernel), "program" (a constant of the program) or "argument"."""

    name: str
    space: str
    element: Element | Struct
    dims: tuple[int, ...]
    how: str = "variable"
    const: bool = False

    @property
    def nbytes(self) -> int:
        return self.element.nbytes * prod(self.dims)

    @property
    def type_text(self) -> str:
        return self.element.name if isinstance(self.element, Struct) else self.element.text()


@dataclass(frozen=True)
class Image:
    """An image argument. access: "read_only", "write_only" or "read_write"; size: width, height, depth or layers."""

    name: str
    kind: str
    access: str
    order: str
    channel_type: str
    size: tuple[int, int, int]

    space = "image"

    @property
    def dimensions(self) -> int:
        return {"image1d": 1, "image1d_buffer": 1, "image1d_array": 2, "image2d": 2}.get(self.kind, 3)

    @property
    def extents(self) -> tuple[int, ...]:
        """The extent of each coordinate."""
        width, height, depth = self.size
        return (width, depth) if self.kind == "image1d_array" else (width, height, depth)[: self.dimensions]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(CHANNELS[self.channel_type][0])

    @property
    def suffix(self) -> str:
        """Of read_image and write_image."""
        return CHANNELS[self.channel_type][1]

    @property
    def channels(self) -> int:
        return len(self.order)

    @property
    def texel_bytes(self) -> int:
        return self.channels * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return prod(self.size) * self.texel_bytes


CHANNELS = {
    "SIGNED_INT8": ("int8", "i"),
    "SIGNED_INT16": ("int16", "i"),
    "SIGNED_INT32": ("int32", "i"),
    "UNSIGNED_INT8": ("uint8", "ui"),
    "UNSIGNED_INT16": ("uint16", "ui"),
    "UNSIGNED_INT32": ("uint32", "ui"),
    "HALF_FLOAT": ("float16", "f"),
    "FLOAT": ("float32", "f"),
}
"""How a channel is stored, and which functions read and write it."""
