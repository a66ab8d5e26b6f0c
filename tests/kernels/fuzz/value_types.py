"""OpenCL C's scalar and vector types, as the generator speaks of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

DTYPES: dict[str, type[np.generic]] = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "half": np.float16, "float": np.float32,
}  # fmt: skip
SIGNED = ("char", "short", "int", "long")
UNSIGNED = ("uchar", "ushort", "uint", "ulong")
INTEGERS = SIGNED + UNSIGNED
WIDTHS = (1, 2, 3, 4, 8, 16)
_BY_BITS = {8: "char", 16: "short", 32: "int", 64: "long"}


@dataclass(frozen=True)
class Type:
    """`kind` is a key of DTYPES, `width` one of WIDTHS; a vector of three occupies four elements of memory."""

    kind: str
    width: int = 1

    def __str__(self) -> str:
        return self.kind if self.width == 1 else f"{self.kind}{self.width}"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(DTYPES[self.kind])

    @property
    def bits(self) -> int:
        """Of one element."""
        return self.dtype.itemsize * 8

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def stored(self) -> int:
        """Elements occupied in memory."""
        return 4 if self.width == 3 else self.width

    @property
    def element(self) -> Type:
        return Type(self.kind)

    @property
    def signed(self) -> Type:
        """The signed integer type of the same shape."""
        return Type(_BY_BITS[self.bits], self.width)

    @property
    def unsigned(self) -> Type:
        """The unsigned integer type of the same shape."""
        return Type("u" + _BY_BITS[self.bits], self.width)

    def of(self, kind: str) -> Type:
        """Another kind in the same width."""
        return Type(kind, self.width)

    def wide(self, width: int) -> Type:
        """The same kind in another width."""
        return Type(self.kind, width)

    @cached_property
    def traits(self) -> frozenset[str]:
        """Words that templates select types by."""
        words = {self.kind, "vector" if self.width > 1 else "scalar", "float_like" if self.is_float else "integer"}
        if not self.is_float:
            words.add("signed" if self.kind in SIGNED else "unsigned")
        if self.bits < 32:
            words.add("small")
        return frozenset(words)


INT = Type("int")
FLOAT = Type("float")
