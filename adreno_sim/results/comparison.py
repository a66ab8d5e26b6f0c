"""Compare what a device computed with what it should have: allowed error, distance in ulp, whether the comparison says anything.

A reference that knows its own error (`Expected.allowed`) says how far each element may be off. Another is judged by its type:
error <= t * max(|golden|, rms(golden)), t by `TOLERANCE`; integers and booleans are exact. NaN agrees with NaN, an infinity
with the same infinity, and with nothing else, but where the allowed error is infinite anything agrees.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..records import dataclass
from .elements.masking import unmasked
from .elements.plain_chunks import ChunkFigures, compare_plain
from .expected import Expected

TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 2.0**-8}
"""Relative tolerance; for float16 it supposes accumulation in fp32."""

SMALL_RMS = 1e-2
"""Below this rms a result must at least vary (`LEAST_SPREAD`) to say anything."""

NO_RMS = 1e-6
"""Below this rms nothing is said, however the values vary."""

LEAST_SPREAD = 0.1
"""Standard deviation over rms that a small result needs (probabilities over many classes have it)."""

MOST_SATURATED = 0.01
"""Largest share of elements that may be overflowed, or integers at an end of their range."""

MOST_LARGEST = 0.25
"""Largest share of floats that may equal the largest: the gates and maps of trained networks have up to a fifth at their end,
and the others still say whether a kernel is right. They must vary by LEAST_SPREAD."""

MOST_UNKNOWN = 0.01
"""Largest share of elements for which a reference may have no value."""

WHY_OPEN = "its type overflows on the way, rounding decides, or NaN is compared"

WEAK = 0.5
"""The median allowed error, over the spread of the values, from which a comparison says nothing."""

NEXT_TO_NOTHING = 1e-3
"""A share of the largest magnitude that is next to nothing, and by which values at the largest may differ."""

LEAST_ONE_HOT = 8
"""Elements from which a result is called one-hot."""

CHUNK = 1 << 18
"""Elements whose squares are summed in one step: it bounds the memory of a comparison, and sums depend on it."""

STEP = 1 << 16
"""Elements compared in one step: the arrays between one and the next fit the processor's cache."""


@dataclass(frozen=True)
class Comparison:
    """Result of one comparison.

    ok: every element is within tolerance. uninformative: why an agreement says nothing, "" if it does. wrong: elements
    outside the tolerance. max_abs: the largest error, infinite where one of a pair alone is infinite or NaN; max_ulp, in units of
    the last place of the result's type, over finite pairs at least as large as the rms (near zero it would measure cancellation;
    0 for integers). worst: index of the largest error in units of its tolerance, with both values there.
    """

    ok: bool
    uninformative: str
    elements: int
    wrong: int
    max_abs: float
    max_ulp: int
    worst: tuple[int, ...]
    got: float
    golden: float
    rms: float

    def __str__(self) -> str:
        place = "[" + ", ".join(map(str, self.worst)) + "]"
        return (
            f"{self.wrong} of {self.elements} elements out of tolerance; worst at {place}: got {self.got:.9g}, expected "
            f"{self.golden:.9g} (max error {self.max_abs:.3g}, {self.max_ulp} ulp, rms {self.rms:.3g})"
        )


@dataclass
class _Worst:
    wrong: int = 0
    max_abs: float = 0.0
    max_ulp: int = 0
    ratio: float = -1.0
    index: int = 0

    def add(self, chunk: ChunkFigures, start: int) -> None:
        """Count a chunk that begins at element `start`."""
        self.wrong += chunk.wrong
        self.max_abs, self.max_ulp = max(self.max_abs, chunk.max_abs), max(self.max_ulp, chunk.max_ulp)
        if chunk.ratio > self.ratio:
            self.ratio, self.index = chunk.ratio, start + chunk.place


def compare(got: np.ndarray, golden: np.ndarray | Expected, tolerance: float | None = None) -> Comparison:
    """Compare `got` with `golden`, arrays of one shape and dtype. Raises ValueError if they differ in either.

    tolerance: relative, in place of the element type's and of what an Expected allows.
    """
    expected = golden if isinstance(golden, Expected) else Expected(golden)
    flat_got, flat_golden, value, limits = _flatten(got, expected, tolerance)
    rms = _rms(unmasked(flat_golden))
    worst = _Worst()
    for start in range(0, flat_got.size, STEP):
        part = slice(start, start + STEP)
        allowed = _allowed(flat_golden[part], limits, part, rms, tolerance)
        _compare_chunk(worst, flat_got[part], flat_golden[part], value[part], allowed, start, rms)
    index = tuple(int(i) for i in np.unravel_index(worst.index, got.shape)) if got.size else ()
    return Comparison(
        ok=worst.wrong == 0,
        uninformative=why_uninformative(flat_golden, rms) or _why_unknown(expected.unsure, flat_golden, limits),
        elements=got.size,
        wrong=worst.wrong,
        max_abs=worst.max_abs,
        max_ulp=worst.max_ulp,
        worst=index,
        got=float(flat_got[worst.index]) if got.size else 0.0,
        golden=float(flat_golden[worst.index]) if got.size else 0.0,
        rms=rms,
    )


def find_wrong(got: np.ndarray, expected: Expected, tolerance: float | None = None) -> np.ndarray:
    """Returns which elements `compare` counts as wrong. Errors and tolerance as there."""
    flat_got, flat_golden, value, limits = _flatten(got, expected, tolerance)
    rms, wrong = _rms(unmasked(flat_golden)), np.zeros(flat_got.size, bool)
    for start in range(0, flat_got.size, CHUNK):
        part = slice(start, start + CHUNK)
        allowed = _allowed(flat_golden[part], limits, part, rms, tolerance)
        wrong[part] = (_errors(flat_got[part], value[part]) > allowed) & ~np.isinf(allowed)
    return wrong.reshape(got.shape)


def _flatten(
    got: np.ndarray, expected: Expected, tolerance: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Flat arrays: what was computed, its reference, the value that errors are measured from, and the allowed errors where the
    reference says them. ValueError if shapes or types differ."""
    golden = expected.array
    if got.shape != golden.shape or got.dtype != golden.dtype:
        raise ValueError(f"expected {golden.dtype}{list(golden.shape)}, got {got.dtype}{list(got.shape)}")
    flat_got, flat_golden = np.ascontiguousarray(got).reshape(-1), np.ascontiguousarray(golden).reshape(-1)
    value = flat_golden if expected.value is None else expected.value.reshape(-1)
    if expected.others is not None:
        also = (expected.others == got).any(0).reshape(-1)
        flat_golden, value = np.where(also, flat_got, flat_golden), np.where(also, flat_got, value)
    limits = None if tolerance is not None or expected.allowed is None else expected.allowed.reshape(-1)
    return flat_got, flat_golden, value, limits


def _allowed(golden: np.ndarray, limits: np.ndarray | None, part: slice, rms: float, tolerance: float | None) -> np.ndarray:
    """The allowed error of each element of a part of a reference. golden: that part."""
    return _tolerated(golden, rms, tolerance) if limits is None else limits[part].astype(np.float64)


def tolerated(golden: np.ndarray) -> np.ndarray:
    """The error that the element type of a reference allows each of its elements."""
    return _tolerated(golden, _rms(unmasked(golden.reshape(-1))), None)


def _compare_chunk(
    worst: _Worst, got: np.ndarray, golden: np.ndarray, value: np.ndarray, allowed: np.ndarray, start: int, rms: float
) -> None:
    """Count a chunk that begins at element `start`. value: from which errors are measured."""
    plain = compare_plain(got, golden, value, allowed, rms) if got.dtype.kind == "f" else None
    worst.add(find_figures(got, golden, value, allowed, rms) if plain is None else plain, start)


def find_figures(got: np.ndarray, golden: np.ndarray, value: np.ndarray, allowed: np.ndarray, rms: float) -> ChunkFigures:
    """Returns the figures of a chunk of any numbers; arguments as of `compare_plain`, but `allowed` may be infinite."""
    error, unknown = _errors(got, value), np.isinf(allowed)
    error[unknown] = 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        ratio = np.where(error > 0, error / np.maximum(allowed, np.finfo(np.float64).tiny), 0.0)
    max_ulp = 0
    if got.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            pairs = np.isfinite(got) & np.isfinite(golden) & (np.abs(golden) >= got.dtype.type(rms)) & ~unknown
        max_ulp = int(ulp_distance(got[pairs], golden[pairs]).max(initial=0))
    place = int(ratio.argmax())
    wrong = int(np.count_nonzero(error > allowed))
    return ChunkFigures(wrong, float(error.max(initial=0.0)), max_ulp, float(ratio[place]), place)


def _errors(got: np.ndarray, golden: np.ndarray) -> np.ndarray:
    """Error of each element; disagreement about NaN or infinity is an infinite error."""
    if got.dtype.kind != "f":
        return np.where(got == golden, 0.0, np.maximum(np.abs(got.astype(np.float64) - golden.astype(np.float64)), 1.0))
    a, b = got.astype(np.float64), golden.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        error = np.where(same, 0.0, np.abs(a - b))
    error[~same & ~(np.isfinite(a) & np.isfinite(b))] = np.inf
    return error


def _tolerated(golden: np.ndarray, rms: float, tolerance: float | None) -> np.ndarray:
    """Allowed error of each element by its type, or by a relative tolerance."""
    wide = np.abs(golden.astype(np.float64))
    if golden.dtype.kind != "f":
        return (tolerance or 0.0) * np.maximum(wide, rms)
    scale = np.where(np.isfinite(wide), wide, 0.0)
    return (TOLERANCE[golden.dtype.name] if tolerance is None else tolerance) * np.maximum(scale, rms)


def _why_unknown(unsure: int, golden: np.ndarray, allowed: np.ndarray | None) -> str:
    """The reason why a reference that knows its own error says nothing; "" if it does."""
    if unsure:
        return f"rounding may turn {unsure} decisions on what is computed"
    if allowed is None or not allowed.size:
        return ""
    known = _finite(allowed)
    unknown = allowed.size - known.size
    if unknown > MOST_UNKNOWN * allowed.size:
        return f"{unknown} of {allowed.size} elements may be anything: {WHY_OPEN}"
    spread = _spread(golden) if golden.size > 1 else float(np.abs(golden.astype(np.float64)).max())
    if not np.isfinite(spread) or float(known.max(initial=0.0)) <= WEAK * spread:  # no median is above the largest
        return ""
    median = float(np.median(known))
    return f"rounding alone may move elements by {median:.2g}, and they spread by {spread:.2g}" if median > WEAK * spread else ""


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Returns the largest difference of two arrays; inf where one of them alone is not finite."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return float(np.where(np.isnan(apart), np.inf, apart).max(initial=0.0))


def ulp_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Steps between representable values from `a` to `b` (finite, of one dtype); +0 and -0 are the same. Saturates at 2**62."""
    signed = np.dtype(f"int{a.dtype.itemsize * 8}")
    lowest = np.int64(np.iinfo(signed).min)
    x, y = (value.view(signed).astype(np.int64) for value in (a, b))
    x, y = np.where(x < 0, lowest - x, x), np.where(y < 0, lowest - y, y)
    far = np.abs(x.astype(np.float64) - y.astype(np.float64)) >= 2.0**62
    return np.where(far, np.int64(2**62), np.abs(x - y))


def why_uninformative(golden: np.ndarray, rms: float | None = None) -> str:
    """The reason why agreement with `golden` could not fail (constant, saturated, empty), or "". One element is informative."""
    flat = unmasked(golden.reshape(-1))
    if flat.size == 0:
        return "no elements"
    if flat.size > 1 and bool((flat[:STEP] == flat[0]).all()) and bool((flat == flat[0]).all()):
        return f"every element is {flat[0]}"
    if flat.dtype.kind in "iu":
        return _why_saturated(flat)
    return _why_uninformative_floats(flat, _rms(flat) if rms is None else rms) if flat.dtype.kind == "f" else ""


def _why_uninformative_floats(flat: np.ndarray, rms: float) -> str:
    known = _finite(flat)
    overflowed = flat.size - known.size
    if overflowed > MOST_SATURATED * flat.size:
        return f"{overflowed} of {flat.size} elements are infinite or NaN"
    if rms < NO_RMS:
        return f"all values are near zero (rms {rms:.1g})"
    if rms < SMALL_RMS and _spread(known) < LEAST_SPREAD * rms:
        return f"values are small (rms {rms:.1g}) and nearly constant"
    magnitude = np.abs(known)
    top = magnitude.max()
    if reason := _why_one_hot(magnitude, top):
        return reason
    at_end = magnitude == top
    largest = int(np.count_nonzero(at_end))
    if largest <= max(1.0, MOST_SATURATED * flat.size):
        return ""
    if largest <= MOST_LARGEST * flat.size and _spread(known[~at_end]) >= LEAST_SPREAD * rms:
        return ""
    return f"{largest} of {flat.size} elements equal the largest magnitude (saturated)"


def _why_one_hot(magnitude: np.ndarray, top: np.floating) -> str:
    """Few elements that all are at the largest magnitude, all others next to nothing: a softmax that is sure of its classes.

    Small errors do not reach such a result; one element alone says no more than which it is. top: the largest magnitude.
    """
    largest = float(top)
    few = max(1.0, MOST_SATURATED * magnitude.size)
    is_above = magnitude > NEXT_TO_NOTHING * largest
    above = int(np.count_nonzero(is_above))
    if magnitude.size < LEAST_ONE_HOT or above > few:
        return ""
    if float(magnitude[is_above].min(initial=top)) < (1 - NEXT_TO_NOTHING) * largest:
        return ""
    return f"{above} of {magnitude.size} elements are at the largest magnitude, the others next to nothing (one-hot)"


def _why_saturated(flat: np.ndarray) -> str:
    limits = np.iinfo(flat.dtype)
    saturated = int(np.count_nonzero(flat == limits.max))
    if limits.min < 0:
        saturated += int(np.count_nonzero(flat == limits.min))
    few = max(1.0, MOST_SATURATED * flat.size)
    return f"{saturated} of {flat.size} elements are saturated" if saturated > few else ""


def _rms(flat: np.ndarray) -> float:
    """Root mean square of the finite elements; 0 for none."""
    total, count = 0.0, 0
    for chunk in _finite_chunks(flat):
        total += float(np.square(chunk).sum())
        count += chunk.size
    return float(np.sqrt(total / count)) if count else 0.0


def _spread(flat: np.ndarray) -> float:
    """Standard deviation of the finite elements."""
    chunks = [(chunk.size, *_mean_and_variance(chunk)) for chunk in _finite_chunks(flat) if chunk.size]
    count = sum(size for size, _, _ in chunks)
    mean = sum(size * m for size, m, _ in chunks) / count
    return float(np.sqrt(sum(size * (v + (m - mean) ** 2) for size, m, v in chunks) / count))


def _mean_and_variance(chunk: np.ndarray) -> tuple[float, float]:
    """As `mean` and `var`, which would find the mean a second time. It overwrites `chunk`."""
    mean = float(chunk.mean())
    chunk -= mean
    np.square(chunk, out=chunk)
    return mean, float(chunk.mean())


def _finite_chunks(flat: np.ndarray) -> Iterator[np.ndarray]:
    """The finite elements in parts, each a copy in float64."""
    for start in range(0, flat.size, CHUNK):
        yield _finite(flat[start : start + CHUNK]).astype(np.float64)


def _finite(flat: np.ndarray) -> np.ndarray:
    """The finite elements; the array itself if all are."""
    if flat.dtype.kind != "f":
        return flat
    finite = np.isfinite(flat)
    return flat if finite.all() else flat[finite]
