"""Writes a sum of exact floats in C, tile by tile; an element near the ends of the type's range is added up step by step."""

from __future__ import annotations

from typing import Any

from ....base.integers.interval import Interval
from ....compiler.tvm_bridge import read
from ..tensor import Tensor
from ..value import Value, c_type, unit
from .loops import LoopWriter
from .strips import extent_of
from .sums import LANES, Sum


def write_sum(writer: LoopWriter, sum: Sum) -> None:
    """The loops of a sum, with tiles inside."""
    spans = sum.tile.spans
    for loop in sum.outer:
        writer.open_loop(loop, _SCALAR)
    begins = []
    for loop, span in spans:
        at, extent = writer.fresh("i"), extent_of(loop) or 0
        writer.open(f"for (int64_t {at} = 0; {at} < {extent}LL; {at} += {span})")
        begins.append(writer.let("int64_t", f"{at} < {extent - span}LL ? {at} : {extent - span}LL"))
    _write_terms(writer, sum, begins)
    _write_results(writer, sum, begins)
    for _ in range(len(sum.outer) + len(spans)):
        writer.close()


def _write_terms(writer: LoopWriter, sum: Sum, begins: list[str]) -> None:
    """Adds up in registers, and puts `sums` and the `squares` of what is rounded in memory."""
    rows = sum.tile.rows
    writer.line(f"lanes_t sum[{rows}], square[{rows}];")
    begin = writer.value(sum.nest.realize.block.init.value).text
    writer.line(f"{_each_row(rows)} {{ sum[row] = ALL({begin}); square[row] = ALL(0.0); }}")
    for loop in sum.steps:
        writer.open_loop(loop, _SCALAR)
    writer.open(_each_row(rows))
    for lane in (LANES - 1, 0):  # where both are inside, those between are
        _name_element(writer, sum, begins, "row", str(lane))
        places = [writer.place(read.loaded_buffer(load), load.indices) for load in sum.loads]
    loaded = [_load(writer, place, stride) for place, stride in zip(places, sum.strides, strict=True)]
    term = writer.let("lanes_t", _TERMS[sum.operation].format(*loaded))
    writer.line(f"sum[row] += {term};")
    if sum.operation:
        writer.line(f"square[row] += {term} * {term};")
    writer.line("square[row] += sum[row] * sum[row];")
    for _ in range(len(sum.steps) + 1):
        writer.close()
    writer.line(f"lanes_t sums[{rows}], squares[{rows}];")
    writer.line(f"{_each_row(rows)} {{ sums[row] = sum[row]; squares[row] = square[row]; }}")


def _write_results(writer: LoopWriter, sum: Sum, begins: list[str]) -> None:
    """Stores each element of a tile, or adds it up step by step as those of any other sum."""
    kind = unit(read.dtype_of(sum.nest.store.value))
    for counter, end in (("row", sum.tile.rows), ("lane", LANES)):
        writer.line(_SCALAR)
        writer.open(f"for (int64_t {counter} = 0; {counter} < {end}; {counter}++)")
    _name_element(writer, sum, begins, "row", "lane")
    terms = " * ".join(f"(double){extent_of(loop)}LL" for loop in sum.steps)
    writer.line("double square = squares[row][lane];")
    writer.open(f"if (is_plain(square, {terms}, {kind}))")
    tensor, index = writer.place(sum.nest.store.buffer, sum.nest.store.indices)
    writer.line(f"{tensor.name}[{index.text}] = sums[row][lane];")
    writer.line(f"{tensor.name}_q[{index.text}] = square * ({kind})->rel;")
    writer.close()
    writer.open("else")
    for loop in sum.steps:
        writer.open_loop(loop, _SCALAR)
    writer.statement(sum.nest.realize)
    for _ in range(len(sum.steps) + 3):
        writer.close()


def _each_row(rows: int) -> str:
    """A loop over the vectors of a tile that clang unrolls, so that they are in registers."""
    return f'_Pragma("clang loop unroll(full)") for (int64_t row = 0; row < {rows}; row++)'


def _name_element(writer: LoopWriter, sum: Sum, begins: list[str], row: str, lane: str) -> None:
    """Gives the axes of the block their values in an element of a tile."""
    at = [f"{row} * {LANES} + {lane}"] if len(begins) == 1 else [row, lane]
    for (loop, _), begin, offset in zip(sum.tile.spans, begins, at, strict=True):
        type = c_type(read.dtype_of(loop.loop_var))
        writer.names[read.key(loop.loop_var)] = _counter(loop, writer.let(type, f"({type})({begin} + {offset})"))
    for axis, loop in sum.nest.axes.items():
        writer.names[axis] = writer.names[read.key(loop.loop_var)]


def _counter(loop: Any, name: str) -> Value:
    return Value(name, read.dtype_of(loop.loop_var), range=Interval(0, (extent_of(loop) or 1) - 1))


def _load(writer: LoopWriter, first: tuple[Tensor, Value], stride: int) -> str:
    """The elements of a vector. first: the place of its first one."""
    tensor, index = first
    place = f"{tensor.name} + {index.text}"
    if stride == 0:
        return writer.let("lanes_t", f"ALL({tensor.name}[{index.text}])")
    return writer.let("lanes_t", f"SIDE_BY_SIDE({place})" if stride == 1 else f"APART({place}, {stride})")


_TERMS = {"": "{}", "*": "{} * {}", "+": "lanes_plus({}, {})", "-": "lanes_minus({}, {})"}

_SCALAR = '_Pragma("clang loop unroll(disable) vectorize(disable)")'
"""Ahead of loops that take little time: clang takes long to make vectors of them."""
