"""Expressions over names: Python's `re` is the judge of what matches; none takes long, and what is not understood is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base.text.name_pattern import NamePattern, PatternError

ATOMS = st.sampled_from(
    ["a", "b", "_", "1", ".", r"\d", r"\W", "[ab]", "[^a]", "[a-c1]", "[]a]", "[^]]", r"[\w-]", "^", "$", r"\.", "[-a]", "]", "}"]
)
REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "{,2}", "*?", "{", "{}", ""])


def _expressions() -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = st.builds("({}){}".format, inner, REPEATS)
        return st.one_of(group, st.builds("{}|{}".format, inner, inner), st.builds("{}{}".format, inner, inner))

    return st.recursive(st.builds("{}{}".format, ATOMS, REPEATS), grow, max_leaves=8)


@settings(max_examples=400, deadline=None)
@given(text=_expressions(), name=st.text("ab_1.-]{}", max_size=8))
def test_names_match_as_with_re(text, name) -> None:
    try:
        theirs = re.compile(text)
    except re.error:
        with pytest.raises(PatternError):
            NamePattern(text)
        return
    try:
        ours = NamePattern(text)
    except PatternError as error:
        assert "nothing to repeat" in str(error)  # re repeats ^ and $
        return
    assert ours.is_in(name) == (theirs.search(name) is not None)


@pytest.mark.parametrize("text", ["(a+)+$", "(a|a)*b", "(a*)*b", "a*a*a*a*a*a*a*a*b", "(a?){200}a{200}b"])
def test_no_expression_takes_long(text) -> None:
    """With backtracking each of these takes longer than the universe is old."""
    assert not NamePattern(text).is_in("a" * 500 + "c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(", "at character 1: ( without )"),
        ("a)", "at character 2: unbalanced )"),
        ("*a", "at character 1: nothing to repeat"),
        ("[a", "at character 1: [ without ]"),
        ("[z-a]", "a range from a lower to a higher"),
        ("a**", "a repeat of a repeat"),
        ("(?=a)b", "of groups"),
        (r"(a)\1", r"\1 is not supported"),
        ("a{3,1}", "m <= n"),
        ("((a{900}){900}){900}", "more than 5000 states"),
        ("(" * 60, "more than 50 groups"),
        ("a" * 501, "501 characters"),
        ("\\", "a backslash at the end"),
    ],
)
def test_what_is_not_understood_is_refused(text, said) -> None:
    with pytest.raises(PatternError) as refused:
        NamePattern(text)
    assert said in str(refused.value) and "\n" not in str(refused.value)
