"""What sub-group functions must give, whatever sub-groups there are: each work-item tells its own beside the result.

The operands of a result are the sub-group's id, the work-item's place in it, the sub-group's size, and the value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def _least(dtype: np.dtype) -> Array:
    return np.array(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min, dtype)


def _greatest(dtype: np.dtype) -> Array:
    return np.array(np.inf if dtype.kind == "f" else np.iinfo(dtype).max, dtype)


def _exclusive(scan: Callable[[Array], Array], identity: Callable[[np.dtype], Array]) -> Callable[[Array], Array]:
    return lambda x: np.concatenate([identity(x.dtype)[None], scan(x)[:-1]])


def _sum(x: Array) -> Array:
    return np.full_like(x, np.add.reduce(x, dtype=x.dtype))


def _running(x: Array) -> Array:
    return np.add.accumulate(x, dtype=x.dtype)


def _ballot(x: Array) -> Array:
    """The first word of the mask: sub-groups here have at most so many work-items as it has bits, or more that are cut off."""
    bits = sum(1 << lane for lane, chosen in enumerate(x[:32]) if chosen)
    return np.full(len(x), bits, np.uint32)


COLLECTIVES: dict[str, Callable[[Array], Array]] = {
    "sub_group_reduce_add": _sum,
    "sub_group_reduce_min": lambda x: np.full_like(x, x.min()),
    "sub_group_reduce_max": lambda x: np.full_like(x, x.max()),
    "sub_group_scan_inclusive_add": _running,
    "sub_group_scan_inclusive_min": np.minimum.accumulate,
    "sub_group_scan_inclusive_max": np.maximum.accumulate,
    "sub_group_scan_exclusive_add": _exclusive(_running, lambda dtype: np.zeros((), dtype)),
    "sub_group_scan_exclusive_min": _exclusive(np.minimum.accumulate, _greatest),
    "sub_group_scan_exclusive_max": _exclusive(np.maximum.accumulate, _least),
    "sub_group_broadcast": lambda x: np.full_like(x, x[0]),
    "sub_group_any": lambda x: np.full(len(x), (x != 0).any(), np.int32),
    "sub_group_all": lambda x: np.full(len(x), (x != 0).all(), np.int32),
    "sub_group_shuffle": lambda x: x[(np.arange(len(x)) * 3 + 1) % len(x)],
    "sub_group_shuffle_xor": lambda x: x[np.where((np.arange(len(x)) ^ 1) < len(x), np.arange(len(x)) ^ 1, np.arange(len(x)))],
    "sub_group_ballot": _ballot,
}


def wrong_items(function: str, operands: list[Array], got: Array, group_items: int) -> Array:
    """Where a result is not what the sub-group's values come to, or its places are not 0 up to its size."""
    sub, place, size, value = (operand[:, 0] for operand in operands)
    wrong = np.zeros(got.shape, bool)
    group = np.arange(len(sub)) // group_items
    for key in {*zip(group.tolist(), sub.tolist(), strict=True)}:
        members = np.flatnonzero((group == key[0]) & (sub == key[1]))
        members = members[np.argsort(place[members])]
        if not size[members].any() and not got[members].any():  # the call stands where the group does not come
            continue
        if place[members].tolist() != list(range(len(members))) or (size[members] != len(members)).any():
            wrong[members] = True
            continue
        expected = COLLECTIVES[function](value[members])
        mine = got[members, 0]
        wrong[members, 0] = mine != expected
    return wrong
