"""Whether executions of accesses keep apart: no two by different work-items have a byte in common.

The offset of an access is a linear form over ids, turns of loops and other atoms. It tells the atoms apart where each
coefficient outweighs all that the smaller ones can add up to, as the digits of a number do. If every id that can vary is
among them, no two work-items agree in the offset. Quotients and remainders of one number are digits of it: an offset in which
they stand is looked at digit by digit as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...ir import ir
from ..analysis.affine import AffineForms
from ..analysis.bounds import Bounds
from ..analysis.linear import Linear

Step = tuple[int, int]
"""A distance, and how many multiples of it there are, from 0."""
Part = tuple[int, Linear]
"""A coefficient, and the digit it belongs to."""


@dataclass(frozen=True)
class AccessRange:
    """A write of `size` bytes at `offset` (of texels: one, at a number that stands for the coordinates). Or a read."""

    instr: ir.Instr
    offset: Linear
    size: int


def injective_symbols(
    forms: AffineForms, writes: Sequence[AccessRange], ids: Sequence[Linear], reads: Sequence[ir.Instr] = ()
) -> frozenset[int] | None:
    """The atoms that the offsets determine, if no two executions of these writes by work-items that differ in any of `ids` have
    a byte in common, nor those of writes at different offsets or with different turns of a loop in the offset; else None.

    `reads`: of what one of the writes writes, held against them in the same way.
    """
    if not writes:
        return frozenset()
    first = writes[0]
    if any(w.offset.terms != first.offset.terms or w.size != first.size for w in writes):
        return None
    offsets = sorted({w.offset.const for w in writes})
    steps = _factor_into_steps([offset - offsets[0] for offset in offsets])
    points = [forms.bounds_at(instr) for instr in (*(w.instr for w in writes), *reads)]
    if steps is None:
        return None
    for parts, determined in _decompositions(forms, points, first.offset):
        known = all(_is_determined(point, number, determined) for point in points for number in ids)
        if known and _are_separated(points, parts, steps, first.size):
            return determined
    return None


def _is_determined(point: Bounds, number: Linear, determined: frozenset[int]) -> bool:
    """Whether the atoms that are told determine `number`, if it can vary here."""
    low, high = point.range_of(number)
    return low == high or number.terms.keys() <= determined


def _decompositions(forms: AffineForms, points: list[Bounds], offset: Linear) -> Iterator[tuple[list[Part], frozenset[int]]]:
    """Ways to write an offset as a sum of parts, and the atoms that these determine: atom by atom, and by digits."""
    offset, quotients = _merge_quotients(forms, offset)
    yield _by_symbol(offset), frozenset(offset.terms)
    rest, parts, determined = offset, list[Part](), set[int]()
    for number in {number.terms_key: number for number, _ in quotients.values()}.values():
        digits, rest = _extract_digits(number, {d: symbol for symbol, (n, d) in quotients.items() if n.same(number)}, rest)
        parts += digits
        if all(c for c, _ in digits) and _are_separated(points, _by_symbol(number), [], 1):
            determined |= number.terms.keys()
    if parts:
        yield [part for part in parts + _by_symbol(rest) if part[0]], frozenset(determined | rest.terms.keys())


def _by_symbol(value: Linear) -> list[Part]:
    return [(c, Linear({a: 1}, 0)) for a, c in value.terms.items()]


Quotient = tuple[Linear, int]
"""A number, and what it is divided by."""


def _merge_quotients(forms: AffineForms, offset: Linear) -> tuple[Linear, dict[int, Quotient]]:
    """An offset in which equal quotients are one atom, and the quotients in it by their atoms."""
    found: dict[int, Quotient] = {}
    known: dict[tuple[frozenset[tuple[int, int]], int, int], int] = {}
    for symbol, coefficient in list(offset.terms.items()):
        quotient = _flatten_quotient(forms, symbol)
        if quotient is None:
            continue
        first = known.setdefault((quotient[0].terms_key, quotient[0].const, quotient[1]), symbol)
        if first == symbol:
            found[symbol] = quotient
        else:
            offset = offset.plus(Linear({first: coefficient, symbol: -coefficient}, 0))
    return offset, {symbol: quotient for symbol, quotient in found.items() if symbol in offset.terms}


def _flatten_quotient(forms: AffineForms, symbol: int) -> Quotient | None:
    """What an atom is the floor of, without floors inside: floor((floor(x / a) + y) / b) = floor((x + a * y) / (a * b))."""
    floor = forms.symbols[symbol].floor
    if floor is None:
        return None
    number, divisor = floor
    while True:
        inner = [a for a, c in number.terms.items() if c == 1 and forms.symbols[a].floor is not None]
        if not inner:
            return number, divisor
        value, by = forms.symbols[inner[0]].floor  # type: ignore[misc]
        number = value.plus(number.plus(Linear({inner[0]: 1}, 0), -1), by)
        divisor *= by


def _extract_digits(number: Linear, quotients: dict[int, int], offset: Linear) -> tuple[list[Part], Linear]:
    """The digits of `number` in an offset, the lowest first, and what is left of the offset without them; `quotients`: atoms by
    what the number is divided by."""
    weight = _multiplicity(number, offset)
    rest = offset.plus(number, -weight)
    digits, lower, unit = list[Part](), number, 1
    for divisor in sorted(quotients):
        symbol = quotients[divisor]
        digits.append((weight, lower.plus(Linear({symbol: 1}, 0), -(divisor // unit))))
        weight = weight * (divisor // unit) + rest.terms.get(symbol, 0)
        rest = Linear({a: c for a, c in rest.terms.items() if a != symbol}, rest.const)
        lower, unit = Linear({symbol: 1}, 0), divisor
    return [*digits, (weight, lower)], rest


def _multiplicity(number: Linear, offset: Linear) -> int:
    """How many times an offset has `number`, as one of the number's atoms tells."""
    for symbol, coefficient in number.terms.items():
        if coefficient in (1, -1):
            return offset.terms.get(symbol, 0) * coefficient
    return 0


def _are_separated(points: list[Bounds], parts: list[Part], steps: list[Step], width: int) -> bool:
    """Whether different values of the parts, plus any of `steps`, are at least `width` apart.

    Of two executions look at the largest coefficient whose part (or step) differs: what is smaller must not make up for it.
    """
    weights: list[tuple[int, int, int]] = [(step, count, -1) for step, count in steps]
    weights += [(abs(c), 0, n) for n, (c, part) in enumerate(parts) if _spread(points, part) > 0]
    below, extent = Linear.number(0), 0  # of parts, and of steps
    for weight, count, number in sorted(weights):
        if weight < _spread(points, below) + extent + width:
            return False
        if number < 0:
            extent += weight * (count - 1)
        else:
            below = below.plus(parts[number][1], parts[number][0])
    return True


def _spread(points: list[Bounds], value: Linear) -> int:
    """The largest difference between two values, at whichever places."""
    ends = [point.range_of(value) for point in points]
    return max(high for _, high in ends) - min(low for low, _ in ends)


def _factor_into_steps(offsets: list[int]) -> list[Step] | None:
    """Different offsets, ascending from 0, as all the sums of multiples of some steps; None where they are no such sums."""
    steps: list[Step] = []
    while len(offsets) > 1:
        step, count, left = offsets[1] - offsets[0], 1, set(offsets)
        while count * step in left:
            count += 1
        starts = []
        for offset in offsets:
            if offset in left:
                run = {offset + n * step for n in range(count)}
                if not run <= left:
                    return None
                left -= run
                starts.append(offset)
        steps.append((step, count))
        offsets = starts
    return steps
