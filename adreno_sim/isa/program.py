"""A kernel in NIR as data: unstructured blocks of scalar SSA values, before any library is asked.

What is here is written by the translation, sent to the child process as JSON, and built there with Mesa's own functions. So the
translation needs no library, and the text of a program says all that its machine code depends on.

A value is the number of its instruction. Names are NIR's own, as Mesa's tables of operations and intrinsics have them.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from ..records import dataclass

Value = int
"""The number of the instruction that defines it."""

_TRUTHS = frozenset(["ieq", "ine", "ilt", "ige", "ult", "uge", "feq", "fneu", "flt", "fge"])
_OF_BITS = {
    "bit_count": 32, "find_lsb": 32, "ufind_msb": 32, "unpack_64_2x32_split_x": 32, "unpack_64_2x32_split_y": 32,
    "pack_64_2x32_split": 64,
}  # fmt: skip
_CONVERSION = re.compile(r"[fiub]2[fiub](\d+)")


@dataclass(frozen=True)
class Variable:
    """A variable of one work-item that NIR keeps in registers where it can: a scalar (count 0) or an array."""

    number: int
    bits: int
    count: int = 0


@dataclass
class NirProgram:
    """The program, and the functions that add to it.

    group: work-items of a group in each dimension, where they are known. exact: Mesa may not change the results of floats.
    uniforms: bytes of parameters, in one constant buffer; parameters: what is there, and where. constant_data: of constant
    variables, one after the other. line: of the source, of what is added next; 0 where there is none.
    """

    group: tuple[int, int, int] | None = None
    exact: bool = False
    instructions: list[list[Any]] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    blocks: int = 0
    uniforms: int = 0
    local_bytes: int = 0
    scratch_bytes: int = 0
    textures: int = 0
    images: int = 0
    samplers: int = 0
    parameters: list[tuple[str, int]] = field(default_factory=list)
    constant_data: bytearray = field(default_factory=bytearray)
    line: int = 0
    _lines: list[int] = field(default_factory=list)
    _bits: list[int] = field(default_factory=list)

    def encode(self) -> str:
        """Returns the program as JSON."""
        return json.dumps(
            {
                "group": self.group,
                "exact": self.exact,
                "instructions": self.instructions,
                "lines": self._lines,
                "variables": [[v.bits, v.count] for v in self.variables],
                "blocks": self.blocks,
                "local_bytes": self.local_bytes,
                "scratch_bytes": self.scratch_bytes,
                "textures": self.textures,
                "images": self.images,
                "parameters": self.parameters,
                "constant_data": self.constant_data.hex(),
            },
            separators=(",", ":"),
        )

    def bits(self, value: Value) -> int:
        """Returns the bits of each part of a value."""
        return self._bits[value]

    def _add(self, bits: int, *instruction: Any) -> Value:
        self.instructions.append(list(instruction))
        self._lines.append(self.line)
        self._bits.append(bits)
        return len(self._bits) - 1

    # Values

    def op(self, name: str, *operands: Value) -> Value:
        """Adds an arithmetic operation."""
        return self._add(self._bits_of(name, operands), "alu", name, list(operands))

    def _bits_of(self, name: str, operands: Sequence[Value]) -> int:
        if name in _TRUTHS:
            return 1
        if found := _CONVERSION.match(name):
            return int(found[1])
        return _OF_BITS.get(name) or self.bits(operands[1 if name == "bcsel" else 0])

    def constant(self, value: int, bits: int) -> Value:
        """Adds an integer, or the bits of a float."""
        return self._add(bits, "const", value & ((1 << bits) - 1), bits)

    def real(self, value: float, bits: int) -> Value:
        """Adds a float of 16 or 32 bits."""
        return self.constant(int.from_bytes(struct.pack("<e" if bits == 16 else "<f", value), "little"), bits)

    def undefined(self, bits: int) -> Value:
        """Adds a value that nobody has set."""
        return self._add(bits, "undef", bits)

    def vector(self, parts: Sequence[Value]) -> Value:
        """Adds the vector of up to four values."""
        return parts[0] if len(parts) == 1 else self.op(f"vec{len(parts)}", *parts)

    def part(self, vector: Value, number: int) -> Value:
        """Adds one part of a vector."""
        return self._add(self.bits(vector), "part", vector, number)

    def parts(self, vector: Value, count: int) -> tuple[Value, ...]:
        """Adds all parts of a vector, which may be a scalar."""
        return (vector,) if count == 1 else tuple(self.part(vector, number) for number in range(count))

    def intrinsic(
        self, name: str, operands: Iterable[Value] = (), parts: int = 0, bits: int = 32, width: int = 0, **indices: int | str
    ) -> Value:
        """Adds an intrinsic with a result of `parts` values (0: none). width: the number of components it is made for, where
        that is open. indices: its constants, by NIR's names; a text is the name of a constant of NIR's."""
        return self._add(bits, "intrinsic", name, list(operands), parts, bits, width, indices)

    def texture(
        self,
        name: str,
        number: int,
        shape: ImageShape,
        operands: Sequence[tuple[str, Value]],
        type: str,
        parts: int = 4,
        sampler: int = 0,
    ) -> Value:
        """Adds an operation on texture `number`. operands: what each is, and the value."""
        bits = 16 if type.endswith("16") else 32
        what = [shape.dimension, shape.coordinates, int(shape.array), number, sampler, type, parts]
        return self._add(bits, "texture", name, [list(pair) for pair in operands], *what)

    # Variables of a work-item

    def variable(self, bits: int, count: int = 0) -> Variable:
        """Declares a variable."""
        self.variables.append(Variable(len(self.variables), bits, count))
        return self.variables[-1]

    def get(self, variable: Variable, index: Value | None = None) -> Value:
        """Adds a read of a variable, or of an element of an array."""
        return self._add(variable.bits, "get", variable.number, -1 if index is None else index)

    def put(self, variable: Variable, value: Value, index: Value | None = None) -> None:
        """Adds an assignment."""
        self._add(0, "put", variable.number, -1 if index is None else index, value)

    # Flow

    def block(self) -> int:
        """Makes a block, which is filled after `start`."""
        self.blocks += 1
        return self.blocks - 1

    def start(self, block: int) -> None:
        """Fills this block from here on."""
        self._add(0, "start", block)

    def go(self, block: int) -> None:
        """Ends a block with a jump. -1 is the end of the program."""
        self._add(0, "go", block)

    def go_if(self, condition: Value, yes: int, no: int) -> None:
        """Ends a block with a choice of two others."""
        if yes == no:
            self.go(yes)
        else:
            self._add(0, "go_if", condition, yes, no)


@dataclass(frozen=True)
class ImageShape:
    """The shape of images as NIR names it. coordinates: how many an access takes, that of the array included."""

    dimension: str
    coordinates: int
    array: bool = False


IMAGE_SHAPES = {
    "image1d": ImageShape("1D", 1),
    "image1d_array": ImageShape("1D", 2, True),
    "image1d_buffer": ImageShape("BUF", 1),
    "image2d": ImageShape("2D", 2),
    "image2d_array": ImageShape("2D", 3, True),
    "image3d": ImageShape("3D", 3),
}
"""By the kind of an image of kernel IR."""
