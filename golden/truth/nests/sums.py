"""Which sums of exact floats a truth computes tile by tile: many elements at a time, in registers, by two multiplications a term.

The variance of such a sum is one of the type's roundings for each product and each partial sum. As long as none of these is near
the ends of the type's range, that is a factor times the sum of their squares. The program checks the range once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ....compiler.tvm_bridge import read
from ....records import dataclass
from ..tensor import Tensor
from .strips import ELEMENT, REDUCTION, Nest, extent_of, is_load, is_same_place, key_of, variables_of

LANES = 4
"""Elements of a vector."""

MOST_ROWS = 7
"""Vectors of a tile: two registers each, of sixteen, and two more for a term."""

_OPERATIONS = {"Mul": "*", "Add": "+", "Sub": "-"}


@dataclass(frozen=True)
class Tile:
    """The elements that are computed together: `rows` vectors of LANES elements along the loop `lane`.

    row: the loop from one vector to the next; the same as `lane`: they lie side by side.
    """

    lane: Any
    row: Any
    rows: int

    @property
    def spans(self) -> list[tuple[Any, int]]:
        """The loops of a tile, each with how many of its iterations are in one."""
        return [(self.lane, LANES * self.rows)] if self.row is self.lane else [(self.row, self.rows), (self.lane, LANES)]


@dataclass(frozen=True)
class Sum:
    """A nest that adds up terms: `loads`, one or two elements of tensors, and in C the operation on them.

    outer: the loops over elements around a tile, in order. steps: those over terms. strides: how far apart in memory the elements
    are that the lanes of a vector load, for each of `loads`.
    """

    nest: Nest
    loads: tuple[Any, ...]
    operation: str
    tile: Tile
    outer: tuple[Any, ...]
    steps: tuple[Any, ...]
    strides: tuple[int, ...]


def find_sum(nest: Nest, tensors: Mapping[int, Tensor], inexact: Collection[int]) -> Sum | None:
    """The nest as a sum of exact floats; None if it is something else, or too small for a tile.

    tensors: by key; inexact: keys of those that hold rounded values.
    """
    if not nest.sums or nest.stored not in inexact or not all(map(extent_of, nest.loops)):  # nothing begins a sum of no terms
        return None
    value, begin = nest.store.value, nest.realize.block.init
    if read.kind(value) != "Add" or read.dtype_of(value) not in ("float32", "float64"):
        return None
    is_begun = begin is not None and read.kind(begin) == "BufferStore" and read.kind(begin.value) == "FloatImm"
    if not is_begun or not is_load(value.a) or not all(is_same_place(place, nest.store) for place in (value.a, begin)):
        return None
    if key_of(value.a) != nest.stored or key_of(begin) != nest.stored:
        return None
    kind = read.kind(value.b)
    loads = (value.b,) if is_load(value.b) else (value.b.a, value.b.b) if kind in _OPERATIONS else ()
    exact = tensors.keys() - {nest.stored} - set(inexact)
    if not loads or not all(_is_plain(load) and key_of(load) in exact and tensors[key_of(load)].strip is None for load in loads):
        return None
    tiles = [(_cost(nest, loads, tile, strides), tile, strides) for tile, strides in _tiles(nest, loads, tensors)]
    if not tiles:
        return None
    _, tile, strides = min(tiles, key=lambda found: found[0])
    tiled = [loop for loop, _ in tile.spans]
    outer = [loop for loop in _loops_of_kind(nest, ELEMENT) if all(loop is not other for other in tiled)]
    outer.sort(key=lambda loop: _traffic(nest, loads, loop, tensors))
    steps = _loops_of_kind(nest, REDUCTION)
    return Sum(nest, loads, _OPERATIONS.get(kind, ""), tile, tuple(outer), tuple(steps), strides)


def _traffic(nest: Nest, loads: tuple[Any, ...], loop: Any, tensors: Mapping[int, Tensor]) -> int:
    """How many elements a loop loads once more than needed if it is the outermost: those that do not depend on it."""
    found = [tensors[key_of(load)].extents for load in loads if not _depends(nest, load, loop)]
    return ((extent_of(loop) or 1) - 1) * sum(math.prod(extent or 1 for extent in extents) for extents in found)


def _is_plain(node: Any) -> bool:
    """Whether a node is a load at a place that no tensor says."""
    return is_load(node) and not any(is_load(part) for index in node.indices for part in read.walk(index))


def _loops_of_kind(nest: Nest, kind: int) -> list[Any]:
    kinds = {read.key(axis.var): int(axis.iter_type) for axis in nest.realize.block.iter_vars}
    found = {read.key(nest.axes[axis].loop_var) for axis, of in kinds.items() if of == kind}
    return [loop for loop in nest.loops if read.key(loop.loop_var) in found]


def _tiles(nest: Nest, loads: tuple[Any, ...], tensors: Mapping[int, Tensor]) -> Iterator[tuple[Tile, tuple[int, ...]]]:
    """Every tile with its strides."""
    loops = _loops_of_kind(nest, ELEMENT)
    for lane in loops:
        extent = extent_of(lane) or 0
        strides = tuple(_stride(nest, load, tensors[key_of(load)], lane) for load in loads)
        if extent < LANES or None in strides:
            continue
        known = tuple(stride for stride in strides if stride is not None)
        yield Tile(lane, lane, _rows(extent // LANES)), known
        yield from ((Tile(lane, row, _rows(extent_of(row) or 1)), known) for row in loops if row is not lane)


def _rows(extent: int) -> int:
    """How many of `extent` rows make a tile: what is left over at the end is computed twice."""
    return min(range(1, min(extent, MOST_ROWS) + 1), key=lambda rows: (-(-extent // rows) * max(rows, LANES), -rows))


def _cost(nest: Nest, loads: tuple[Any, ...], tile: Tile, strides: tuple[int, ...]) -> float:
    """About how many instructions an element takes for each term."""
    computed = 1.0
    for loop, span in tile.spans:
        extent = extent_of(loop) or 1
        computed *= -(-extent // span) * span / extent
    cost = 6.0 * max(tile.rows, LANES)
    for load, stride in zip(loads, strides, strict=True):
        vectors = tile.rows if _depends(nest, load, tile.row) else 1
        cost += vectors * (1 if stride in (0, 1) else 2 * LANES)
    return cost * computed / tile.rows


def _axes_of(nest: Nest, loop: Any) -> set[int]:
    return {axis for axis, other in nest.axes.items() if other is loop}


def _depends(nest: Nest, load: Any, loop: Any) -> bool:
    return not nest.variables[read.key(load)].isdisjoint(_axes_of(nest, loop))


def _stride(nest: Nest, load: Any, tensor: Tensor, loop: Any) -> int | None:
    """How far apart in memory the elements of two iterations of a loop are; None if that is not one number."""
    axes, total, step = _axes_of(nest, loop), 0, 1
    for index, extent in reversed(list(zip(load.indices, tensor.extents, strict=True))):
        by = _slope(index, axes)
        if by is None or extent is None:
            return None
        total, step = total + by * step, step * extent
    return total


def _slope(node: Any, axes: set[int]) -> int | None:
    """By how much an index grows with a variable; None if that is not one number."""
    kind = read.kind(node)
    if kind == "Var":
        return int(read.key(node) in axes)
    if kind in ("Add", "Sub"):
        a, b = _slope(node.a, axes), _slope(node.b, axes)
        return None if a is None or b is None else a + b if kind == "Add" else a - b
    if kind == "Mul" and read.kind(node.b) == "IntImm":
        a = _slope(node.a, axes)
        return None if a is None else a * int(node.b.value)
    return 0 if axes.isdisjoint(variables_of(node)) else None
