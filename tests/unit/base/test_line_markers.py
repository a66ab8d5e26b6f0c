"""Which lines of a source a finding's file and line number mean."""

from __future__ import annotations

import pytest

from adreno_sim.base.text.line_markers import number_lines


def test_a_source_without_markers_has_its_own_numbers() -> None:
    assert number_lines("a\n  #if X\n#pragma unroll 4\nd") == {1: "a", 2: "  #if X", 3: "#pragma unroll 4", 4: "d"}


def test_included_files_have_their_own_numbers() -> None:
    source = '# 1 "<stdin>"\na\n# 1 "dir/u \\"x\\".h" 1\nin 1\nin 2\n# 3 "<stdin>" 2\nc'
    assert number_lines(source) == {1: "a", 3: "c"}
    assert number_lines(source, 'dir/u "x".h') == {1: "in 1", 2: "in 2"}


@pytest.mark.parametrize("directive", ["#line 70", "# 70", "  #  line   70  "])
def test_directives_number_the_lines_behind_them(directive: str) -> None:
    assert number_lines(f"a\n{directive}\nb\nc") == {1: "a", 70: "b", 71: "c"}


def test_a_directive_names_another_file() -> None:
    assert number_lines('a\n#line 9 "gen.py"\nb\n#line 3 ""\nc', "gen.py") == {9: "b"}
    assert number_lines('a\n#line 9 "gen.py"\nb\n#line 3 "-"\nc') == {1: "a", 3: "c"}
