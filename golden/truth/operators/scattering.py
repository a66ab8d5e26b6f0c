"""Scatters: a tensor with updates at places that another one lists, each combined with what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....results.expected import SIGMAS
from ..run import OutOfRange, Truth, standard_deviation
from ..units import Units
from ..value import HALVES
from .operator import Operator


def compute_scatter_elements(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units) -> list[Truth]:
    """Each update goes to its own place, but along the axis to the index given for it; one below zero counts from the end."""
    data, indices, updates = given
    axis = operator["axis"]
    extent = data.value.shape[axis]
    index = np.where(indices.value < 0, indices.value + extent, indices.value)
    _require_inside("scatter_elements", index, extent, indices)
    places = list(np.indices(index.shape))
    places[axis] = index
    flat = np.ravel_multi_index(tuple(place.reshape(-1) for place in places), data.value.shape)
    return [_combine(operator["reduction"], data, updates, flat, kinds[-1], units)]


def compute_scatter_nd(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units) -> list[Truth]:
    """The last axis of the indices says where a slice of updates goes."""
    data, indices, updates = given
    depth = indices.value.shape[-1]
    whole, inner = data.value.shape[:depth], int(np.prod(data.value.shape[depth:]))
    rows = indices.value.reshape(-1, depth)
    for axis, extent in enumerate(whole):
        _require_inside("scatter_nd", rows[:, axis], extent, indices)
    first = np.ravel_multi_index(tuple(rows.T), whole) if rows.size else np.zeros(0, np.int64)
    flat = (first[:, None] * inner + np.arange(inner)).reshape(-1)
    return [_combine(operator["reduction"], data, updates, flat, kinds[-1], units)]


def _require_inside(name: str, index: np.ndarray, extent: int, given: Truth) -> None:
    wrong = index[(index < 0) | (index >= extent)]
    if wrong.size:
        raise OutOfRange(
            f"{name}: {int(wrong.flat[0])} is not an index of {extent} elements; give inputs that suit the model (--input)"
        )
    if given.sigma is not None and bool((given.sigma != 0).any()):
        raise OutOfRange(f"{name}: rounding decides an index")


def _combine(reduction: str, data: Truth, updates: Truth, places: np.ndarray, dtype: np.dtype, units: Units) -> Truth:
    """`data` with each update combined into its place, in any order.

    Two updates of one place have no order. A sum, a product, a maximum and a minimum do not depend on one; any of a few plain
    updates is right. A mean is that of an update and what is there, and is known for one update.
    """
    update = updates.value.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        value = _scatter(reduction, data.value, update, places, dtype)
        counts = np.bincount(places, minlength=value.size).reshape(value.shape)
        others = _others(value, update, places, counts) if reduction == "update" and int(counts.max(initial=0)) > 1 else None
        if updates.sigma is not None and bool((updates.sigma != 0).any()):
            others = None  # its bits say which one it is
        unclear = counts > {"update": MOST_UPDATES if others is not None else 1, "mean": 1}.get(reduction, update.size)
        if dtype.kind != "f":
            return replace(_integers(value, data, updates, places, unclear), others=others)
        variance = _variance(reduction, data, updates, places, dtype, units, counts)
        variance[unclear] = np.inf
        sigma = standard_deviation(variance)
    native = None
    if data.native is not None or updates.native is not None or dtype.name in HALVES:
        parts = [given.value if given.native is None else given.native for given in (data, updates)]
        native = _scatter(reduction, parts[0], parts[1].reshape(-1), places, dtype)
    return Truth(value, sigma if sigma.any() else None, native if sigma.any() else None, others=others)


def _scatter(reduction: str, data: np.ndarray, update: np.ndarray, places: np.ndarray, dtype: np.dtype) -> np.ndarray:
    made: np.ndarray = data.reshape(-1).copy() if dtype.kind != "f" else data.reshape(-1).astype(np.float64)
    if reduction == "update":
        made[places] = update
    elif reduction == "mean":
        made[places] = (made[places] + update) / 2 if dtype.kind == "f" else (made[places] + update) // 2
    else:
        _UNORDERED[reduction].at(made, places, update)
    return made.reshape(data.shape)


MOST_UPDATES = 8
"""Plain updates of one element; any of them is right; where they are more, nothing is known."""

_UNORDERED = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
REDUCTIONS = ("update", "mean", *_UNORDERED)


def _others(value: np.ndarray, update: np.ndarray, places: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What else an element may hold, as `Truth.others`: the other updates of its place."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.searchsorted(sorted_places, np.arange(value.size))
    most = min(int(counts.max()), MOST_UPDATES)
    flat = value.reshape(-1)
    rows = []
    for number in range(most):
        has = counts.reshape(-1) > number
        row = flat.copy()
        row[has] = update[order[np.minimum(starts[has] + number, update.size - 1)]]
        rows.append(row.reshape(value.shape))
    return np.stack(rows)


def _integers(value: np.ndarray, data: Truth, updates: Truth, places: np.ndarray, unclear: np.ndarray) -> Truth:
    unknown = unclear.copy()
    if data.sigma is not None:
        unknown |= data.sigma != 0
    if updates.sigma is not None:
        unknown.reshape(-1)[places[updates.sigma.reshape(-1) != 0]] = True
    return Truth(value, np.where(unknown, np.float32(np.inf), np.float32(0)) if unknown.any() else None)


def _variance(
    reduction: str, data: Truth, updates: Truth, places: np.ndarray, dtype: np.dtype, units: Units, counts: np.ndarray
) -> np.ndarray:
    """The variance of each element: that of what it is made of, and of the roundings on the way, in any order."""
    before = np.zeros(counts.shape) if data.sigma is None else np.square(data.sigma, dtype=np.float64)
    added = np.zeros(places.size) if updates.sigma is None else np.square(updates.sigma.reshape(-1), dtype=np.float64)
    if reduction == "update":
        before.reshape(-1)[places] = added
        return before
    if reduction in ("max", "min"):
        np.maximum.at(before.reshape(-1), places, added)
        return before
    unit = units.unit_of(dtype.name)
    terms, there = updates.value.reshape(-1).astype(np.float64), data.value.astype(np.float64)
    if reduction == "mul":
        size: np.ndarray = np.maximum(np.abs(there), 1).reshape(-1)
        np.multiply.at(size, places, np.maximum(np.abs(terms), 1))
        share: np.ndarray = np.where(before > 0, before / np.square(there), 0).reshape(-1)
        np.add.at(share, places, np.where(added > 0, added / np.square(terms), 0))
        size, share = size.reshape(counts.shape), share.reshape(counts.shape)
        variance = np.square(size) * (share + counts * (unit.rel + max(unit.floor, unit.flushed**2 / 16)))
    else:
        size = np.abs(there).reshape(-1)
        np.add.at(size, places, np.abs(terms))
        np.add.at(before.reshape(-1), places, added)
        size = size.reshape(counts.shape)
        rounds = counts * (2 if reduction == "mean" else 1)
        variance = before + rounds * (unit.rel * np.square(size) + np.where(counts > 0, unit.floor + unit.flushed**2 / 16, 0))
    variance = np.where(np.isnan(variance), np.inf, variance)
    return np.where(size + SIGMAS * np.sqrt(variance) > unit.largest, np.inf, variance) if reduction != "mean" else variance
