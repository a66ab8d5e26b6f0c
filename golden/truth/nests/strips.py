"""Which temporary tensors a sum needs only a strip of at a time: a weight that is dequantised for one product is never whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ....compiler.tvm_bridge import read
from ....records import dataclass

WIDTH = 16
"""Elements of a result that are computed side by side."""

LEAST = 1 << 16
"""Elements of a temporary tensor that is worth it."""

ELEMENT, REDUCTION = 0, 2
"""TVM's numbers (IterVar.DataPar, CommReduce) of an axis of independent elements and of one over the terms of a sum."""


@dataclass(frozen=True)
class Nest:
    """Loops around one block that stores one element. axes: key of a block axis -> its loop."""

    loops: tuple[Any, ...]
    realize: Any
    store: Any
    axes: Mapping[int, Any]
    sums: bool

    @cached_property
    def stored(self) -> int:
        """The key of the tensor that it stores."""
        return key_of(self.store)

    @cached_property
    def loads(self) -> list[Any]:
        """Every load of an element in it."""
        parts = [self.store.value, *self.store.indices, *([] if self.realize.block.init is None else [self.realize.block.init])]
        return [node for part in parts for node in read.walk(part) if is_load(node)]

    @cached_property
    def variables(self) -> dict[int, frozenset[int]]:
        """The keys of the variables in the indices of each load, by the load's key."""
        return {read.key(load): frozenset(key for index in load.indices for key in variables_of(index)) for load in self.loads}


@dataclass(frozen=True)
class Part:
    """A nest with the loop that goes along strips. axis: that dimension of the tensor it stores; -1: all of it is in memory."""

    nest: Nest
    loop: Any
    axis: int


@dataclass(frozen=True)
class Strips:
    """Statements that run together, strip by strip of `extent` elements: those that fill temporary tensors, at last the sum."""

    numbers: tuple[int, ...]
    parts: tuple[Part, ...]
    extent: int


def variables_of(node: Any) -> Iterator[int]:
    """The key of every variable in an expression."""
    return (read.key(part) for part in read.walk(node) if read.kind(part) == "Var")


def key_of(access: Any) -> int:
    """The key of the tensor that a node loads or stores."""
    return read.buffer_key(access.buffer if read.kind(access) == "BufferStore" else read.loaded_buffer(access))


def is_load(node: Any) -> bool:
    return read.kind(node) in ("TensorLoad", "BufferLoad")


def find_strips(nests: Sequence[Nest | None], temporary: Collection[int], uses: Mapping[int, int]) -> list[Strips]:
    """The groups among statements that run one after another.

    nests: the statements, None for one that is not a nest. temporary: keys of tensors that are not parameters. uses: how often
    the whole function loads or stores each tensor.
    """
    found: list[Strips] = []
    for number, nest in enumerate(nests):
        if nest is not None and nest.sums and (group := _group(nests, number, temporary, uses)) is not None:
            found.append(group)
    return found


def find_nest(statement: Any) -> Nest | None:
    """The statement as a nest; None if it is something else."""
    loops = []
    while read.kind(statement) == "For":
        loops.append(statement)
        statement = statement.body
    if not loops or not read.kind(statement).endswith("BlockRealize"):
        return None
    block = statement.block
    by_variable = {read.key(loop.loop_var): loop for loop in loops}
    values = [read.key(value) if read.kind(value) == "Var" else 0 for value in statement.iter_values]
    plain = read.kind(statement.predicate) == "IntImm" and int(statement.predicate.value) == 1
    plain = plain and sorted(values) == sorted(by_variable) and not block.alloc_buffers and not block.match_buffers
    if not plain or read.kind(block.body) != "BufferStore" or any(loop.thread_binding is not None for loop in loops):
        return None
    axes = {read.key(axis.var): by_variable[value] for axis, value in zip(block.iter_vars, values, strict=True)}
    kinds = {int(axis.iter_type) for axis in block.iter_vars}
    if not kinds <= {ELEMENT, REDUCTION} or shares_elements(statement):
        return None
    return Nest(tuple(loops), statement, block.body, axes, REDUCTION in kinds)


def shares_elements(realize: Any) -> bool:
    """Whether iterations of a block that should be independent store to one element: the order of its loops decides then."""
    block, store = realize.block, realize.block.body
    if read.kind(store) != "BufferStore":
        return False
    apart = {read.key(index) for index in store.indices if read.kind(index) == "Var"}
    elements = (axis for axis in block.iter_vars if int(axis.iter_type) == ELEMENT and extent_of(axis.dom) != 1)
    return any(read.key(axis.var) not in apart for axis in elements)


def _group(nests: Sequence[Nest | None], last: int, temporary: Collection[int], uses: Mapping[int, int]) -> Strips | None:
    """The nests that fill what the sum `last` reads along its strips; None if there are none."""
    nest = nests[last]
    assert nest is not None
    if not all(is_same_place(load, nest.store) for load in nest.loads if key_of(load) == nest.stored):
        return None
    kinds = {read.key(axis.var): int(axis.iter_type) for axis in nest.realize.block.iter_vars}
    elements = [loop for key, loop in nest.axes.items() if kinds[key] == ELEMENT and (extent_of(loop) or 0) >= WIDTH]
    groups = (_group_along(loop, nests, last, temporary, uses) for loop in reversed(elements))
    return next((group for group in groups if group is not None), None)


def _group_along(
    loop: Any, nests: Sequence[Nest | None], last: int, temporary: Collection[int], uses: Mapping[int, int]
) -> Strips | None:
    """The same for strips along one loop of the sum."""
    nest = nests[last]
    assert nest is not None
    parts, numbers = [Part(nest, loop, -1)], [last]
    for number in range(last - 1, -1, -1):
        made = nests[number]
        if made is None or made.sums or made.stored not in temporary or uses[made.stored] != 1 + _count(parts, made.stored):
            continue
        axis = _strip_axis(parts, made.stored)
        along = None if axis is None else _loop_of(made, made.store.indices[axis])
        if axis is None or along is None or extent_of(along) != extent_of(loop) or not _is_large(made.store.buffer):
            continue
        others = [other for place, other in enumerate(nests[:last]) if place > number and place not in numbers]
        if not _is_overwritten(made, [*others, nest]):
            parts.insert(0, Part(made, along, axis))
            numbers.insert(0, number)
    return Strips(tuple(numbers), tuple(parts), extent_of(loop) or 0) if len(parts) > 1 else None


def is_same_place(load: Any, store: Any) -> bool:
    """Whether both are at the same plain indices."""
    if len(load.indices) != len(store.indices):
        return False
    pairs = zip(load.indices, store.indices, strict=True)
    return all(read.kind(a) == read.kind(b) == "Var" and read.key(a) == read.key(b) for a, b in pairs)


def extent_of(loop: Any) -> int | None:
    """How often a loop from 0 on runs, where that is known."""
    known = read.kind(loop.min) == "IntImm" and int(loop.min.value) == 0 and read.kind(loop.extent) == "IntImm"
    return int(loop.extent.value) if known else None


def _count(parts: Sequence[Part], key: int) -> int:
    """How often the nests load a tensor."""
    return sum(key_of(load) == key for part in parts for load in part.nest.loads)


def _strip_axis(parts: Sequence[Part], key: int) -> int | None:
    """The dimension of a tensor along which the nests read it strip by strip; None if there is none."""
    found: set[int] = set()
    for part in parts:
        for load in part.nest.loads:
            if key_of(load) == key:
                axes = {axis for axis, index in enumerate(load.indices) if _loop_of(part.nest, index) is part.loop}
                found = axes if not found else found & axes
                if not found:
                    return None
    return min(found) if found else None


def _loop_of(nest: Nest, index: Any) -> Any:
    """The loop that an index is, through its block axis; None if it is something else."""
    return nest.axes.get(read.key(index)) if read.kind(index) == "Var" else None


def _is_large(buffer: Any) -> bool:
    elements = 1
    for dim in read.buffer_info(buffer).shape:
        if read.kind(dim) != "IntImm":
            return False
        elements *= int(dim.value)
    return elements >= LEAST


def _is_overwritten(nest: Nest, between: Sequence[Nest | None]) -> bool:
    """Whether statements that then run before it may store what a nest loads."""
    loaded = {key_of(load) for load in nest.loads}
    return any(other is None or other.stored in loaded for other in between)
