"""Extents as formulas of sizes: what a launch touches, without what is one too many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...records import dataclass

Environment = Mapping[str, int]
"""Sizes of one launch by name."""

MOST_FACTORS = 4
MOST_EXTRA = 16
"""Elements, in steps of a formula, that may be more than it has: a kernel that touches one more than its sizes."""
WIDTHS = (1, 2, 3, 4, 8, 16)


@dataclass(frozen=True)
class Formula:
    """factor times the product of these sizes (each a name, or two that are added), plus `plus`."""

    factor: int
    sizes: tuple[tuple[str, ...], ...] = ()
    plus: int = 0

    def of(self, sizes: Environment) -> int:
        """The extent of one launch; 1 at least."""
        return max(1, self.factor * math.prod(sum(sizes[name] for name in term) for term in self.sizes) + self.plus)

    def __str__(self) -> str:
        """As an expression of a launch file."""
        terms = ["(" + " + ".join(term) + ")" if len(term) > 1 else term[0] for term in self.sizes]
        product = " * ".join([*([str(self.factor)] if self.factor != 1 or not terms else []), *terms])
        return product + (f" + {self.plus}" if self.plus > 0 else "")


def fit(needs: Sequence[int], launches: Sequence[Environment], axes: Collection[str], whole: bool = False) -> Formula | None:
    """The extent that is meant where launches of these sizes touch `needs` elements; None if no formula is next to them.
    axes: names of sizes that are those of axes. whole: all that is touched is meant.

    What a launch touches may end a few elements before the formula, as a stencil that leaves its border alone does, or behind it:
    that is what is wrong with it.
    """
    if len(set(needs)) == 1:
        return Formula(needs[0])
    most = 0 if whole else MOST_EXTRA
    exact = [found for sizes in _products(launches[0]) if (found := _fit_exactly(needs, launches, sizes, most)) is not None]
    if exact:
        return min(exact, key=lambda found: found[0])[1]
    rows = [sizes for sizes in _products(launches[0]) if sum(name in axes for (name, *_) in sizes) >= max(1, len(sizes) - 1)]
    near = [close for sizes in rows if (close := _fit_nearly(needs, launches, sizes)) is not None]
    return min(near, key=lambda close: close[0])[1] if near else None


def _products(sizes: Environment) -> Iterator[tuple[tuple[str, ...], ...]]:
    names = sorted(sizes)
    for count in range(1, MOST_FACTORS + 1):
        for product in itertools.combinations_with_replacement(names, count):
            yield tuple((name,) for name in product)
    for pair in itertools.combinations(names, 2):
        yield (pair,)


def _fit_exactly(
    needs: Sequence[int], launches: Sequence[Environment], sizes: tuple[tuple[str, ...], ...], most: int
) -> tuple[tuple[int, ...], Formula] | None:
    products = [Formula(1, sizes).of(launch) for launch in launches]
    (a, b), (x, y) = needs[:2], products[:2]
    if x == y or (a - b) % (x - y) or (factor := (a - b) // (x - y)) < 1:
        return None
    rest = a - factor * x
    if any(need - factor * product != rest for need, product in zip(needs, products, strict=True)):
        return None
    if rest < -max(factor, 4) * 4:
        return None
    plus = rest if rest > most * factor else 0
    return (_penalty(rest, factor), len(sizes), max(map(len, sizes)), factor), Formula(factor, sizes, plus)


def _penalty(rest: int, factor: int) -> int:
    """By which of several exact formulas one is chosen: the next one, and rather one that is not exceeded."""
    return -rest // factor if rest <= 0 else 2 + rest


def _fit_nearly(
    needs: Sequence[int], launches: Sequence[Environment], sizes: tuple[tuple[str, ...], ...]
) -> tuple[tuple[float, ...], Formula] | None:
    """A product of several sizes that differs by at most two of its rows."""
    if len(sizes) < 2:
        return None
    best: tuple[tuple[float, ...], Formula] | None = None
    for factor in WIDTHS:
        formula = Formula(factor, sizes)
        off = []
        for need, launch in zip(needs, launches, strict=True):
            extents = [sum(launch[name] for name in term) for term in sizes]
            row = factor * math.prod(extents) // min(extents)
            off.append((need - formula.of(launch)) / row)
        same_side = all(part >= 0 for part in off) or all(part <= 0 for part in off)
        if max(map(abs, off)) <= 2.2 and same_side:
            found = ((max(map(abs, off)), float(len(sizes))), formula)
            best = min(best, found, key=lambda one: one[0]) if best else found
    return best
