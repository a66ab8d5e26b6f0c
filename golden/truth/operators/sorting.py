"""Sorts, and places among sorted values. Equal values keep their order: TVM's kernels for the CPU, ONNX and NumPy promise so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ....results.expected import SIGMAS
from ..run import Truth
from ..units import Units
from .operator import Operator


def compute_sort(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], _units: Units) -> list[Truth]:
    """The values in order."""
    return [_sort(given[0], operator["axis"], operator["descending"], kinds[-1])[0]]


def compute_argsort(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], _units: Units) -> list[Truth]:
    """Where the values in order come from."""
    return [_sort(given[0], operator["axis"], operator["descending"], kinds[-1])[1]]


def compute_topk(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], _units: Units) -> list[Truth]:
    """The first k values in order and where they come from, or one of both."""
    axis, count, wanted = operator["axis"], operator["k"], operator["ret_type"]
    values, places = _sort(given[0], axis, operator["largest"], kinds[-1])
    found = {"both": [values, places], "values": [values], "indices": [places]}[wanted]
    return [_cut(one, axis, count) if count >= 1 else one for one in found]


def choose(operator: Operator, given: Truth, results: Sequence[Truth], places: np.ndarray) -> list[Truth]:
    """The results of such an operator in the order of `places`, which a device found; unchanged if that is not a right order.

    It is one where each place is another, and rounding may have exchanged the elements that are not where they should be.
    """
    known, axis = results[-1], operator["axis"]
    if known.sigma is None or places.shape != known.value.shape or not _are_others(places, axis, given.value.shape[axis]):
        return list(results)
    values, sigma = (np.take_along_axis(array, places, axis) for array in (given.value, _sigma(given)))
    right = np.take_along_axis(given.value, known.value.astype(np.int64), axis)
    with np.errstate(invalid="ignore"):
        reach = SIGMAS * (sigma.astype(np.float64) + sigma.max(axis, keepdims=True, initial=0))
        fits = (places == known.value) | ((known.sigma > 0) & (np.abs(values - right) <= reach))
    if not fits.all():
        return list(results)
    native = None if given.native is None else np.take_along_axis(given.native, places, axis)
    return [Truth(values, sigma, native)] * (len(results) - 1) + [Truth(places.astype(known.value.dtype))]


def _are_others(places: np.ndarray, axis: int, size: int) -> bool:
    """Whether no place comes twice along the axis."""
    ordered = np.sort(places, axis)
    return bool((ordered >= 0).all() and (ordered < size).all() and (np.diff(ordered, axis=axis) > 0).all())


def compute_bucketize(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], _units: Units) -> list[Truth]:
    """The place of each value among sorted boundaries."""
    boundaries, values = given
    side: Literal["left", "right"] = "right" if operator["right"] else "left"
    reach = SIGMAS * np.hypot(_sigma(values), _sigma(boundaries).max(initial=0))
    place, low, high = (np.searchsorted(boundaries.value, values.value + by * reach, side) for by in (0, -1, 1))
    sigma = np.where(np.isnan(values.value.astype(np.float64)), np.inf, (high - low) / SIGMAS)
    return [Truth(place.astype(kinds[-1]), sigma.astype(np.float32) if sigma.any() else None)]


def _sort(given: Truth, axis: int, descending: bool, places: np.dtype) -> tuple[Truth, Truth]:
    """A tensor in order along an axis, and where each element comes from, in type `places`.

    Of a place whose element rounding decides nothing is known; its value is one of those that may be there.
    """
    order = _stable_order(given.value, axis, descending)
    values, sigma = (np.take_along_axis(array, order, axis) for array in (given.value, _sigma(given)))
    decided = _decided(-values.astype(np.float64) if descending else values, sigma, axis)
    lost = np.isnan(values).any(axis, keepdims=True) if values.dtype.kind == "f" else np.zeros((), bool)
    open_ = ~decided | lost
    widest = np.where(open_, sigma, 0).max(axis, keepdims=True, initial=0)
    sigma = np.where(lost, np.inf, np.where(open_, widest, sigma)).astype(np.float32)
    native = None if given.native is None else np.sort(given.native, axis)
    if native is not None and descending:
        native = np.flip(native, axis)
    unknown = np.where(open_, np.float32(np.inf), np.float32(0)) if open_.any() else None
    return Truth(values, sigma if sigma.any() else None, native), Truth(order.astype(places), unknown)


def _stable_order(values: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(values, axis, kind="stable")
    order = np.argsort(np.flip(values, axis), axis, kind="stable")
    return values.shape[axis] - 1 - np.flip(order, axis)


def _decided(values: np.ndarray, sigma: np.ndarray, axis: int) -> np.ndarray:
    """Where no rounding changes which element it is; values: ascending. Equal values that are exact have their order."""
    if not sigma.any() and values.dtype.kind != "f":
        return np.ones(values.shape, bool)
    with np.errstate(invalid="ignore"):
        reach = SIGMAS * sigma.astype(np.float64)
        highest = np.maximum.accumulate(np.moveaxis(values + reach, axis, -1), -1)
        lowest = np.flip(np.minimum.accumulate(np.flip(np.moveaxis(values - reach, axis, -1), -1), -1), -1)
        apart = highest[..., :-1] <= lowest[..., 1:]
    ends = np.ones((*apart.shape[:-1], 1), bool)
    return np.moveaxis(np.concatenate([ends, apart], -1) & np.concatenate([apart, ends], -1), -1, axis)


def _sigma(given: Truth) -> np.ndarray:
    return np.zeros(given.value.shape, np.float32) if given.sigma is None else given.sigma


def _cut(given: Truth, axis: int, count: int) -> Truth:
    """The first `count` places along an axis."""
    parts = (None if part is None else np.take(part, range(count), axis) for part in (given.value, given.sigma, given.native))
    value, sigma, native = parts
    assert value is not None
    return Truth(value, sigma, native)
