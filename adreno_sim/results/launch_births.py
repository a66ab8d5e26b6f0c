"""NaN and infinity that occur in one launch whose reference nobody knows: its arguments before and afterwards tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from ..findings import Finding, Kind, Severity
from ..ir.nonfinite_constants import MINUS, NAN, PLUS
from ..records import dataclass


@dataclass(frozen=True)
class Birth:
    """What came up. element: number of the first such element in logical order."""

    sentence: str
    element: int


def explain_births(findings: Iterable[Finding]) -> bool:
    """Whether a launch with these findings may have read what nobody meant it to: then the NaN is theirs."""
    return any(finding.severity is Severity.ERROR or finding.kind is Kind.OUTSIDE_EXTENT_READ for finding in findings)


def kinds_in(arrays: Iterable[np.ndarray]) -> set[str]:
    """Which of NAN, PLUS and MINUS there are in arrays of floats."""
    found: set[str] = set()
    for array in arrays:
        if array.dtype.kind != "f" or np.isfinite(array).all():
            continue
        found.update(kind for kind in (NAN, PLUS, MINUS) if _are(array, kind).any())
    return found


def find_birth_in_launch(
    name: str, kernel: str, after: np.ndarray, changed: np.ndarray | None, given: Collection[str], meant: Collection[str]
) -> Birth | None:
    """The NaN and infinity that occur in argument `name` of `kernel`, which holds `after`.

    changed: the elements that may be of this launch; None for all. given: `kinds_in` what the launch may have read, arguments by
    value too. meant: kinds that occur in the kernel's code, which it stores on purpose. As in a model's calls, an infinity occurs
    if all given values are finite, NaN if none of them is NaN.
    """
    if after.dtype.kind != "f":
        return None
    new = ~np.isfinite(after)
    if changed is not None:
        new &= changed
    if not new.any():
        return None
    told = [kind for kind in (NAN, PLUS, MINUS) if kind not in meant and (NAN not in given if kind == NAN else not given)]
    born = np.zeros(after.shape, bool)
    for kind in told:
        born |= new & _are(after, kind)
    count = int(born.sum())
    if not count:
        return None
    element = int(np.argmax(born))
    index = np.unravel_index(element, born.shape)
    value = after[index]
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]"
    why = f"no argument of {kernel} holds NaN" if given else f"every argument of {kernel} is finite"
    what = "NaN" if np.isnan(value) else "infinity"
    sentence = f"{what} appears in {name}, though {why}: {place} is {value} ({count} of {after.size} elements)"
    return Birth(sentence, element)


def _are(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == NAN:
        return np.isnan(array)
    return array == (np.inf if kind == PLUS else -np.inf)
