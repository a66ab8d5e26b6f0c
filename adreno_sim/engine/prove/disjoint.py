"""Proves that accesses of different work-items are disjoint: no two of them have a byte in common.

The offset of an access is an affine form over ids, loop iterations and other symbols. It is injective in its symbols if each
coefficient is larger than the sum of all that smaller terms can contribute, as with the digits of a number. If every id that
can vary is among those symbols, different work-items have different offsets. Quotients and remainders of one number are its
digits, so an offset is also tried as a sum of such digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir import ir
from ...records import dataclass
from ..analysis.affine import AffineForms
from ..analysis.bounds import Bounds
from ..analysis.linear import Linear

Step = tuple[int, int]
"""A distance, and how many multiples of it occur, from 0."""
Part = tuple[int, Linear]
"""A coefficient, and the digit that it multiplies."""


@dataclass(frozen=True)
class AccessRange:
    """`size` bytes at `offset` that `instr` writes or reads; for texels, one unit at a number that stands for the
    coordinates."""

    instr: ir.Instr
    offset: Linear
    size: int


def injective_symbols(
    forms: AffineForms, writes: Sequence[AccessRange], ids: Sequence[Linear], reads: Sequence[ir.Instr] = ()
) -> frozenset[int] | None:
    """Returns the symbols on which the address map of `writes` is injective, or None if it may not be.

    If not None: two executions of these writes share no byte if their work-items differ in any of `ids`, if the writes have
    different offsets, or if the iterations of a loop in the offset differ. `reads` are accesses to the bytes of one of the
    writes, to which the same applies.
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
        known = all(_is_determined(points, number, determined) for number in ids)
        if known and _are_disjoint(points, parts, steps, first.size):
            return determined
    return None


def _is_determined(points: list[Bounds], number: Linear, determined: frozenset[int]) -> bool:
    """Returns True if the `determined` symbols fix the value of `number`, or if it is one and the same at all points."""
    return number.terms.keys() <= determined or len({end for point in points for end in point.range_of(number)}) == 1


def _decompositions(forms: AffineForms, points: list[Bounds], offset: Linear) -> Iterator[tuple[list[Part], frozenset[int]]]:
    """Yields ways to write an offset as a sum of parts, each with the symbols that the parts determine: by symbol, then by
    digits."""
    offset, quotients = _merge_quotients(forms, offset)
    yield _by_symbol(offset), frozenset(offset.terms)
    rest, parts, determined = offset, list[Part](), set[int]()
    for number in {number.terms_key: number for number, _ in quotients.values()}.values():
        digits, rest = _extract_digits(number, {d: symbol for symbol, (n, d) in quotients.items() if n.same(number)}, rest)
        parts += digits
        if all(c for c, _ in digits) and _are_disjoint(points, _by_symbol(number), [], 1):
            determined |= number.terms.keys()
    if parts:
        yield [part for part in parts + _by_symbol(rest) if part[0]], frozenset(determined | rest.terms.keys())


def _by_symbol(value: Linear) -> list[Part]:
    return [(c, Linear({a: 1}, 0)) for a, c in value.terms.items()]


Quotient = tuple[Linear, int]
"""A number, and its divisor."""


def _merge_quotients(forms: AffineForms, offset: Linear) -> tuple[Linear, dict[int, Quotient]]:
    """Returns the offset with equal quotients merged into one symbol, and the quotients in it by symbol."""
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
    """Returns the number and divisor of a floor symbol without inner floors, by floor((floor(x / a) + y) / b) = floor((x + a
    * y) / (a * b)); None if the symbol is not a floor."""
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
    """Returns the digits of `number` in an offset, lowest first, and the rest of the offset. `quotients` are the symbols of
    the number's quotients, by divisor."""
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
    """Returns how many times `offset` contains `number`, judged by one symbol with coefficient 1 or -1; 0 if there is none."""
    for symbol, coefficient in number.terms.items():
        if coefficient in (1, -1):
            return offset.terms.get(symbol, 0) * coefficient
    return 0


def _are_disjoint(points: list[Bounds], parts: list[Part], steps: list[Step], width: int) -> bool:
    """Returns True if different values of the parts, plus any of `steps`, are at least `width` apart.

    For two executions, take the largest coefficient whose part (or step) differs: all smaller ones together must not make up
    for it.
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
    """Returns the largest difference between two values of `value`, at any of the points."""
    ends = [point.range_of(value) for point in points]
    return max(high for _, high in ends) - min(low for low, _ in ends)


def _factor_into_steps(offsets: list[int]) -> list[Step] | None:
    """Returns steps whose sums of multiples are exactly `offsets` (ascending from 0), or None if there are none."""
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
