"""One kernel of the campaign: its text, its PrimFunc, its inputs, and the defects that its arguments can plant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Defect(IntEnum):
    """What a kernel does wrong. The number is the argument `kind` of every kernel; 0 plants nothing."""

    NONE = 0
    DROPPED_TERM = 1
    SWAPPED_CHANNEL = 2
    WRONG_BIAS_LANE = 3
    WRONG_NIBBLE = 4
    MISSING_PARTIAL = 5
    WRONG_ROW = 6

    @property
    def title(self) -> str:
        return TITLES[self]


TITLES = {
    Defect.NONE: "none",
    Defect.DROPPED_TERM: "one dropped term",
    Defect.SWAPPED_CHANNEL: "swapped channel",
    Defect.WRONG_BIAS_LANE: "wrong bias lane",
    Defect.WRONG_NIBBLE: "one nibble of a q4 word",
    Defect.MISSING_PARTIAL: "missing last partial sum",
    Defect.WRONG_ROW: "off-by-one row",
}

ORDERS = ("sequential", "split", "tree")

SCALARS = ("kind", "at", "where", "run")
"""Arguments after the tensors: the defect; the term that it hits; the output (row, ...) that it hits, -1 for all; a number
that no two runs share."""

PLANTED = "(kind == defect && (where < 0 || where == (place)))"
"""C text that holds where a kernel does something wrong."""

HEADER = "\n".join(
    [
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable",
        *(f"#define {defect.name} {defect.value}" for defect in Defect if defect),
        f"#define IS(defect, place) {PLANTED}",
        "",
    ]
)


@dataclass(frozen=True)
class Input:
    """A tensor that a kernel reads. draw: which values it gets (`inputs.py`)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    draw: str


@dataclass(frozen=True)
class Problem:
    """name: also of the kernel. inputs, then the output: the kernel's arguments, then SCALARS.

    compute: from the inputs as placeholders to the output, in TVM's tensor expressions. groups, items: of the NDRange, one
    dimension. places: terms that a defect may hit; outputs: what a defect may be confined to. exact: it rounds nothing.
    """

    name: str
    family: str
    terms: int
    dtype: str
    order: str
    inputs: tuple[Input, ...]
    output: tuple[int, ...]
    body: str
    compute: Callable[..., Any]
    groups: int
    items: int
    places: int
    outputs: int
    defects: tuple[Defect, ...]

    @property
    def type(self) -> str:
        return type_of(self.dtype)

    @property
    def golden(self) -> str:
        """The PrimFunc: orders have it in common."""
        return f"{self.family}_{self.terms}_{self.type}".replace(" ", "_")

    @property
    def source(self) -> str:
        tensors = [f"global const {type_of(item.dtype)} *{item.name}" for item in self.inputs]
        params = ", ".join([*tensors, f"global {self.type} *Y", "int kind, int at, int where, int run"])
        return f"{HEADER}kernel void {self.name}({params}) {{\n{self.body}\n}}\n"


def type_of(dtype: str) -> str:
    """OpenCL's name."""
    return {"float16": "half", "float32": "float", "uint32": "uint"}[dtype]


def items_of(order: str, terms: int) -> int:
    """Work-items that share a sum: partial sums of the orders."""
    if order == "sequential":
        return 1
    if order == "split":
        return 8 if terms >= 16 else 4
    return 64 if terms >= 64 else 8


def reduce_text(
    order: str, terms: int, type: str, name: str, term: str, combine: str = "{0} + {1}", start: str = "0", missing: str = "0"
) -> str:
    """OpenCL C that leaves the reduction of `term` over t in `name`, for all work-items of a group.

    combine: of {0} and {1}. missing: C text that holds where the last partial result is to be left out.
    """
    items, zero = items_of(order, terms), f"({type}){start}"
    if order == "sequential":
        return f"  {type} {name} = {zero};\n  for (int t = 0; t < {terms}; t++) {name} = {combine.format(name, term)};"
    part = f"part_{name}"
    lines = [
        f"  local {type} {part}[{items}];",
        f"  {type} own_{name} = {zero};",
        f"  for (int t = get_local_id(0); t < {terms}; t += {items}) own_{name} = {combine.format('own_' + name, term)};",
    ]
    if order == "split":
        lines += [
            f"  {part}[get_local_id(0)] = own_{name};",
            "  barrier(CLK_LOCAL_MEM_FENCE);",
            f"  {type} {name} = {part}[0];",
            f"  for (int p = 1; p < {items} - ({missing} ? 1 : 0); p++) {name} = {combine.format(name, part + '[p]')};",
        ]
    else:
        pair = combine.format(f"{part}[get_local_id(0)]", f"{part}[get_local_id(0) + h]")
        lines += [
            f"  {part}[get_local_id(0)] = {missing} && get_local_id(0) == {items - 1} ? {zero} : own_{name};",
            "  barrier(CLK_LOCAL_MEM_FENCE);",
            f"  for (int h = {items // 2}; h > 0; h /= 2) {{",
            f"    if (get_local_id(0) < h) {part}[get_local_id(0)] = {pair};",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            "  }",
            f"  {type} {name} = {part}[0];",
        ]
    return "\n".join(lines)


def name_of(family: str, terms: int, dtype: str, order: str) -> str:
    return f"{family}_{terms}_{type_of(dtype)}_{order}".replace(" ", "_")


def defects_of(order: str, *defects: Defect) -> tuple[Defect, ...]:
    """Those that a kernel of this order can have."""
    return defects if order == "sequential" else (*defects, Defect.MISSING_PARTIAL)


Make = Callable[[int, str, str], Problem]
"""From terms of a sum, dtype and order."""


@dataclass(frozen=True)
class Family:
    """Kernels alike. terms: those that it is made for."""

    name: str
    terms: Sequence[int]
    make: Make
    dtypes: tuple[str, ...] = ("float16", "float32")
