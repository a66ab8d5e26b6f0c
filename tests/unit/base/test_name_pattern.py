"""Expressions over names: what is none is one line."""

from __future__ import annotations

import pytest

from adreno_sim.base.text.name_pattern import NamePattern, PatternError


def test_a_name_matches_anywhere_in_it() -> None:
    pattern = NamePattern(r"^conv|_1x1$|pool\d")
    assert [pattern.is_in(name) for name in ("conv2d", "my_1x1", "maxpool3", "my_conv", "_1x1s", "", "conv2d")] == [
        True, True, True, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["(", "a)", "*a", "[a", "[z-a]", "a**", "a{3,1}", "\\", "a{99999999999}", "(" * 5000, "(?P<a\n>b"]
)
def test_what_is_no_expression_is_one_line(text: str) -> None:
    with pytest.raises(PatternError) as refused:
        NamePattern(text)
    assert str(refused.value)
    assert "\n" not in str(refused.value)
