"""Every interval rule, tried on all intervals of numbers of three bits: what a machine computes lies in the interval.

The judge is arithmetic on single numbers, written here. A rule without a judge fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from adreno_sim.base.integers.interval import Interval
from adreno_sim.engine.analysis.interval_rules import BUILTIN_RULES, INSTRUCTION_RULES, UNSIGNED, Source, apply_rule, factors_24

BITS = 3
INTERVALS = [Interval(low, high) for low in range(-4, 4) for high in range(low, 4)]


def signed(number: int, bits: int = BITS) -> int:
    return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def unsigned(number: int) -> int:
    return number % (1 << BITS)


def divide(x: int, y: int) -> int | None:
    return None if y == 0 else int(x / y)


def shift(change: Callable[[int, int], int]) -> Callable[[int, int], int | None]:
    return lambda x, y: change(x, y) if 0 <= y < BITS else None


JUDGES: dict[str, Callable[..., int | None]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "sdiv": divide,
    "srem": lambda x, y: None if y == 0 else x - y * int(x / y),
    "udiv": lambda x, y: divide(unsigned(x), unsigned(y)),
    "urem": lambda x, y: None if y == 0 else unsigned(x) % unsigned(y),
    "shl": shift(lambda x, y: x << y),
    "ashr": shift(lambda x, y: x >> y),
    "lshr": shift(lambda x, y: unsigned(x) >> y),
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "sext": lambda x: x,
    "zext": unsigned,
    "trunc": lambda x: x,
    "freeze": lambda x: x,
}
"""What an instruction gives for numbers; None where it is undefined."""
LOOSE = {"srem", "urem", "and", "or", "xor"}
"""Instructions whose rule does not always give the least interval."""
PARTIAL = {"sdiv", "udiv", "srem", "urem"}
"""Instructions whose rule gives nothing for some operands, though all results are defined."""
BITS_OF_RESULT = {"zext": 2 * BITS, "sext": 2 * BITS, "trunc": 2}


def results(judge: Callable[..., int | None], operands: tuple[Interval, ...]) -> list[int | None]:
    return [judge(*numbers) for numbers in product(*(range(low, high + 1) for low, high in operands))]


@pytest.mark.parametrize("op", INSTRUCTION_RULES)
def test_results_of_instructions(op: str) -> None:
    rule, judge = INSTRUCTION_RULES[op], JUDGES[op]
    bits = BITS_OF_RESULT.get(op, BITS)
    bounded = 0
    for operands in product(INTERVALS, repeat=judge.__code__.co_argcount):
        found, exact = apply_rule(rule, Source(BITS, op in UNSIGNED), operands), results(judge, operands)
        if found is None:
            assert op in PARTIAL or None in exact, operands
            continue
        assert None not in exact, operands
        numbers = [number for number in exact if number is not None]
        if op not in LOOSE:
            assert found == (min(numbers), max(numbers)), operands
        if found.fits(bits):
            bounded += 1
            assert all(found[0] <= signed(number, bits) <= found[1] for number in numbers), operands
    assert bounded > 5


BUILTIN_JUDGES: dict[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    "clamp": lambda x, low, high: min(max(x, low), high),
    "abs": abs,
    "select": lambda a, b, condition: b if condition else a,
    "clz": lambda x: BITS - unsigned(x).bit_length(),
    "ctz": lambda x: next((bit for bit in range(BITS) if x >> bit & 1), BITS),
    "popcount": lambda x: bin(unsigned(x)).count("1"),
}
LOOSE_BUILTINS = {"select", "ctz", "popcount"}


def operands_of(name: str) -> Iterator[tuple[Interval, ...]]:
    count = {"min": 2, "max": 2, "clamp": 3, "select": 3}.get(name, 1)
    yield from product(INTERVALS[:: 1 if count < 3 else 3], repeat=count)


@pytest.mark.parametrize("name", [name for name in BUILTIN_RULES if name not in ("mul24", "mad24")])
@pytest.mark.parametrize("is_unsigned", [False, True])
def test_results_of_builtins(name: str, is_unsigned: bool) -> None:
    read = unsigned if is_unsigned else int
    bounded = 0
    for operands in operands_of(name):
        found = apply_rule(BUILTIN_RULES[name], Source(BITS, is_unsigned and name != "select"), operands)
        if found is not None and found.fits(BITS):
            bounded += 1
            exact = results(lambda *numbers: signed(BUILTIN_JUDGES[name](*map(read, numbers))), operands)
            assert (
                (min(exact), max(exact)) == found if name not in LOOSE_BUILTINS else all(found[0] <= n <= found[1] for n in exact)
            ), operands
    assert bounded > 5


@pytest.mark.parametrize("is_unsigned", [False, True])
def test_products_of_24_bits(is_unsigned: bool) -> None:
    (low, high), source = factors_24(is_unsigned), Source(32, is_unsigned)
    rule, all_of, some = BUILTIN_RULES["mul24"], Interval(low, high), Interval(-3 if not is_unsigned else 0, 5)
    assert rule(source, all_of, some) == (min(low * 5, high * some.low), max(high * 5, low * some.low))
    assert BUILTIN_RULES["mad24"](source, some, some, Interval(7, 9)) == (min(-15, 0) * (not is_unsigned) + 7, 34)
    for beyond in (Interval(low - 1, 0), Interval(0, high + 1)):
        assert rule(source, beyond, some) is None
        assert rule(source, some, beyond) is None


def test_every_rule_has_a_judge() -> None:
    assert set(JUDGES) == set(INSTRUCTION_RULES)
    assert set(BUILTIN_JUDGES) | {"mul24", "mad24"} == set(BUILTIN_RULES)
