"""Statements one after another that each compute the elements of one shape: all of an element at once, in variables.

A bias, a scale and an activation after a convolution are one loop, and what is between them is never in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ....compiler.tvm_bridge import read
from ....records import dataclass
from .strips import Nest, extent_of, is_same_place, key_of

Shape = tuple[tuple[int, str], ...]
"""The extents of the loops over the elements of a tensor, by dimension, each with the type of its variable."""


@dataclass(frozen=True)
class Chain:
    """Nests that run together, element by element. passed: keys of the tensors that only they need."""

    numbers: tuple[int, ...]
    nests: tuple[Nest, ...]
    passed: frozenset[int]


def find_chains(nests: Sequence[Nest | None], temporary: Collection[int], uses: Mapping[int, int]) -> list[Chain]:
    """The chains of two nests or more among statements that run one after another.

    nests: the statements, None for one that is not a nest. temporary: keys of tensors that are not parameters. uses: how often
    the whole function loads or stores each tensor.
    """
    found: list[Chain] = []
    run: list[tuple[int, Nest]] = []
    for number, nest in enumerate([*nests, None]):
        shape = None if nest is None else shape_of(nest)
        if nest is None or shape is None or (run and not _fits([other for _, other in run], nest, shape)):
            found += [_make_chain(run, temporary, uses)] if len(run) > 1 else []
            run = []
        if nest is not None and shape is not None:
            run.append((number, nest))
    return found


def shape_of(nest: Nest) -> Shape | None:
    """The shape of what a nest computes; None if it is a sum, or not all of a tensor, or needs its own elements in an order."""
    loops = loops_by_dimension(nest)
    alone = all(is_same_place(load, nest.store) for load in nest.loads if key_of(load) == nest.stored)
    if nest.sums or nest.realize.block.init is not None or loops is None or not alone:
        return None
    extents = [extent_of(loop) for loop in loops]
    known = tuple(extent for extent in extents if extent is not None)
    return tuple(zip(known, (read.dtype_of(loop.loop_var) for loop in loops), strict=True)) if len(known) == len(loops) else None


def loops_by_dimension(nest: Nest) -> list[Any] | None:
    """The loop of each dimension of the tensor that a nest stores; None if an index is not one of them."""
    found = [nest.axes.get(read.key(index)) if read.kind(index) == "Var" else None for index in nest.store.indices]
    loops = [loop for loop in found if loop is not None]
    return loops if len(loops) == len(found) == len({read.key(loop.loop_var) for loop in loops}) == len(nest.loops) else None


def _fits(run: Sequence[Nest], nest: Nest, shape: Shape) -> bool:
    """Whether a nest may compute each element right after those before it."""
    stored = {other.stored for other in run}
    passed = all(is_same_place(load, nest.store) for load in nest.loads if key_of(load) in stored)
    used = stored | {key_of(load) for other in run for load in other.loads}
    return passed and shape_of(run[0]) == shape and nest.stored not in used


def _make_chain(run: Sequence[tuple[int, Nest]], temporary: Collection[int], uses: Mapping[int, int]) -> Chain:
    nests = tuple(nest for _, nest in run)
    loads = [key_of(load) for nest in nests for load in nest.loads]
    made = {nest.stored for nest in nests if nest.stored not in map(key_of, nest.loads)}  # not of what a run before this one left
    passed = {key for key in made & set(temporary) if uses[key] == 1 + loads.count(key)}
    return Chain(tuple(number for number, _ in run), nests, frozenset(passed - {nests[-1].stored}))
