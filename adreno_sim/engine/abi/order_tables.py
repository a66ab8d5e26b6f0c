"""The schedule of groups and work-items at level full: random permutations that depend on the seed alone, or by their ids."""

from __future__ import annotations

import functools

import numpy as np

from ...base.errors import UnsupportedError
from ...base.run_options import Order

MOST_GROUPS = 1 << 25
"""The most work-groups of a launch at level full: their order and the first epoch of each are tables."""


_SMALL = 1 << 14  # entries of tables that are kept: nobody changes them


def tables(groups: int, items: int, seed: int, order: Order = "shuffled") -> tuple[np.ndarray, np.ndarray]:
    """Returns the group of each step, and the work-item (or lane of a sub-group) of each step within a group.

    Raises UnsupportedError for more than MOST_GROUPS groups.
    """
    if groups > MOST_GROUPS:
        raise UnsupportedError(f"unsupported: {groups} work-groups at level full: expected at most {MOST_GROUPS}; see --checks")
    return (_small if groups + items <= _SMALL else _tables)(groups, items, seed, order)


def _tables(groups: int, items: int, seed: int, order: Order) -> tuple[np.ndarray, np.ndarray]:
    if order != "shuffled":
        step = 1 if order == "ascending" else -1
        first, second = (np.ascontiguousarray(np.arange(count, dtype=np.uint32)[::step]) for count in (groups, items))
        return first, second
    chance = np.random.RandomState(seed & 0xFFFFFFFF)  # numpy keeps its sequences the same for ever
    return chance.permutation(groups).astype(np.uint32), chance.permutation(items).astype(np.uint32)


_small = functools.lru_cache(maxsize=256)(_tables)
"""Cached, because making a generator takes as long as a short launch."""


def items_in_table(plan_is_flat: bool, items: int, wave: int) -> int:
    """Returns the entries of the work-item table: a region runs the whole group, or one sub-group if the plan uses
    sub-groups."""
    return min(items, wave) if plan_is_flat else items
