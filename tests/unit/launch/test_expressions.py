"""Sizes as expressions: what they come to, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.launch_spec.expressions import LARGEST, LONGEST, evaluate, find_wrong_name

NAMES = {"n": 1024, "m": 9, "zero": 0}


@pytest.mark.parametrize(
    "text, value",
    [
        ("7", 7),
        (" n ", 1024),
        ("n/4", 256),
        ("(m+7)//8*8", 16),
        ("n % 1000 - 1", 23),
        ("-m + +n", 1015),
        ("2**10", 1024),
        ("(-1)**999999", -1),
        ("0**0 + 0**7", 1),
        ("min(n, m, 3) + max(2, m)", 12),
        ("ceildiv(m, 4)", 3),
        ("ceildiv(-m, 4)", -2),
        ("0x10 + 1_000", 1016),
    ],
)
def test_what_expressions_come_to(text, value):
    assert evaluate(text, NAMES) == value


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "not an expression: expected integers, names"),
        ("n +", "not an expression: expected integers"),
        ("k*2", "no value is named k; [values] has n, m, zero"),
        ("m/4", "9 / 4 is not a whole number; // rounds down, ceildiv(9, 4) up"),
        ("n // zero", "division by zero"),
        ("n % zero", "division by zero"),
        ("ceildiv(n, zero)", "division by zero"),
        ("2**-1", "2 ** -1 is not a whole number"),
        ("2**64", "a number on the way is 2**64 or more"),
        ("9**9**9**9", "a number on the way is 2**64 or more"),
        ("n**60 // n**60", "a number on the way is 2**64 or more"),
        ("abs(n)", "no function abs; there are min, max, ceildiv"),
        ("ceildiv(1)", "ceildiv: expected 2 arguments, got 1"),
        ("min(1)", "min: expected 2 or more arguments, got 1"),
        ("min(n, key=n)", "not an expression of sizes"),
        ("max(*n)", "not an expression of sizes"),
        ("n.real", "not an expression of sizes"),
        ("n[0]", "not an expression of sizes"),
        ("1.5", "not an expression of sizes"),
        ("True", "not an expression of sizes"),
        ("n if n else m", "not an expression of sizes"),
        ("n << 2", "not an expression of sizes"),
        ("(n := 3)", "not an expression of sizes"),
        ("__import__('os')", "not an expression of sizes"),
        ("n\0", "not an expression"),
        ("é", "of ASCII"),
        ("1+" * LONGEST + "1", f"at most {LONGEST} characters"),
        ("(" * 99 + "1" + ")" * 99, ""),
        ("-" * 199 + "1", ""),
    ],
)
def test_what_is_refused_says_why(text, reason):
    if not reason:  # deep, and right
        assert abs(evaluate(text, NAMES)) == 1
        return
    with pytest.raises(ValueError) as error:
        evaluate(text, NAMES)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@given(st.text("0123456789nm+-*/%() ,", max_size=40) | st.text(max_size=20))
def test_any_text_is_a_number_or_refused_in_one_line(text):
    try:
        assert abs(evaluate(text, NAMES)) < LARGEST
    except ValueError as error:
        assert "\n" not in str(error)


@given(st.integers(-(2**31), 2**31), st.integers(-(2**31), 2**31).filter(bool))
def test_divisions_agree_with_python(a, b):
    names = {"a": a, "b": b}
    assert evaluate("a // b * b + a % b", names) == a
    assert evaluate("ceildiv(a, b)", names) == -(-a // b)


def test_names():
    assert not find_wrong_name("n_1")
    assert not find_wrong_name("_")
    assert all(map(find_wrong_name, ("1n", "a-b", "", "lambda", "min", "ceildiv", "é")))
