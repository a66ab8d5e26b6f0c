"""Sums and products of all elements up to each one, with the rounding that any order of their terms may give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....results.expected import SIGMAS
from ..run import Truth, standard_deviation
from ..units import Units
from .operator import Operator


def compute_cumsum(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units) -> list[Truth]:
    """Sums along an axis; along all of them where it is None."""
    source, axis = _rows(operator, given)
    return [_exclusive(scan_sum(source, axis, kinds[-1], units), operator, axis, 0)]


def compute_cumprod(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units) -> list[Truth]:
    """Products along an axis; along all of them where it is None."""
    source, axis = _rows(operator, given)
    return [_exclusive(_scan_product(source, axis, kinds[-1], units), operator, axis, 1)]


def scan_sum(given: Truth, axis: int, dtype: np.dtype, units: Units) -> Truth:
    """Sums in type `dtype`, in whatever order.

    A rounding has an error of its unit of a partial sum, which is no larger than the sum of magnitudes. One element after the
    other gives as many as there are elements; a tree gives fewer, but of sums that are not among these: a few of the last one's
    size count besides.
    """
    if dtype.kind != "f":
        return _scan_integers(np.cumsum, given, axis, dtype)
    unit = units.unit_of(dtype.name)
    terms = given.value.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        value, size = np.cumsum(terms, axis), np.cumsum(np.abs(terms), axis)
        lost = np.cumsum(np.where(np.abs(terms) < unit.flushed, np.abs(terms), 0), axis)
        count = _counts(terms.shape, axis)
        depth = np.ceil(np.log2(count)) + 2
        variance = unit.rel * (np.cumsum(np.square(size), axis) + depth * np.square(size)) + np.square(lost / SIGMAS)
        variance += count * (unit.floor + unit.flushed**2 / 16)
        if given.sigma is not None:
            variance += np.cumsum(np.square(given.sigma, dtype=np.float64), axis)
        variance = np.where(np.isfinite(size), np.where(size + SIGMAS * np.sqrt(variance) > unit.largest, np.inf, variance), 0)
    native = None if given.native is None else np.cumsum(given.native, axis)
    return Truth(value, standard_deviation(variance), native)


def _scan_product(given: Truth, axis: int, dtype: np.dtype, units: Units) -> Truth:
    """Products in type `dtype`: each rounding has an error of its unit; what underflow takes from a partial one, others
    enlarge."""
    if dtype.kind != "f":
        return _scan_integers(np.cumprod, given, axis, dtype)
    unit = units.unit_of(dtype.name)
    terms = given.value.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        value = np.cumprod(terms, axis)
        size = np.cumprod(np.maximum(np.abs(terms), 1), axis)
        count = _counts(terms.shape, axis)
        variance = count * (unit.rel * np.square(value) + np.square(size) * max(unit.floor, unit.flushed**2 / 16))
        if given.sigma is not None:
            shares = np.where(terms == 0, np.inf, given.sigma / np.abs(terms))
            variance += np.square(value) * np.cumsum(np.square(shares), axis)
            variance = np.where(np.isnan(variance), np.inf, variance)
        variance = np.where(np.isfinite(size), np.where(size > unit.largest / 2, np.inf, variance), 0)
    native = None if given.native is None else np.cumprod(given.native, axis)
    return Truth(value, standard_deviation(variance), native)


def _scan_integers(scan: Callable[..., np.ndarray], given: Truth, axis: int, dtype: np.dtype) -> Truth:
    """Integers wrap around, whatever the order."""
    value = scan(given.value.astype(dtype), axis, dtype=dtype)
    if given.sigma is None:
        return Truth(value)
    known = np.cumsum(given.sigma, axis) == 0
    return Truth(value, np.where(known, np.float32(0), np.float32(np.inf)))


def _rows(operator: Operator, given: Sequence[Truth]) -> tuple[Truth, int]:
    """The operand and the axis to scan."""
    (source,) = given
    if operator["axis"] is not None:
        return source, operator["axis"]
    parts = (None if part is None else part.reshape(-1) for part in (source.value, source.sigma, source.native))
    return Truth(*parts), 0  # type: ignore[arg-type]


def _exclusive(result: Truth, operator: Operator, axis: int, first: int) -> Truth:
    """The scan of all elements before each one, if the operator asks for that."""
    if not operator["exclusive"]:
        return result
    value, native = (None if part is None else _shift(part, axis, first) for part in (result.value, result.native))
    assert value is not None
    return Truth(value, None if result.sigma is None else _shift(result.sigma, axis, 0), native)


def _shift(array: np.ndarray, axis: int, first: int) -> np.ndarray:
    moved = np.roll(array, 1, axis)
    np.moveaxis(moved, axis, 0)[:1] = first
    return moved


def _counts(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """1, 2, ... along an axis."""
    sizes = np.ones(len(shape), np.int64)
    sizes[axis] = -1
    return np.arange(1, shape[axis] + 1).reshape(sizes)
