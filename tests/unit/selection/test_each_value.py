"""Of all combinations of a test's parameters, few are chosen, in which each value occurs."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from selection.each_value import choose_combinations

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("sizes", [(1,), (7,), (3, 3), (9, 2), (2, 9), (5, 4, 3), (6, 1, 2, 2)], ids=str)
def test_each_value_occurs_and_no_more_run_than_the_longest_parameter_has(sizes):
    combinations = [dict(zip("abcd", each, strict=False)) for each in itertools.product(*map(range, sizes))]
    kept = [combinations[number] for number in choose_combinations(combinations)]
    assert [len({one[name] for one in kept}) for name in combinations[0]] == list(sizes)
    assert len(kept) == max(sizes)


def test_values_of_two_parameters_take_turns():
    combinations = [{"name": name, "target": target} for name in range(6) for target in range(2)]
    kept = sorted(choose_combinations(combinations))
    assert [tuple(combinations[number].values()) for number in kept] == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0), (5, 1)]


def test_where_combinations_are_missing_the_others_are_enough():
    combinations = [{"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 0, "b": 2}, {"a": 1, "b": 0}]
    assert choose_combinations(combinations) >= {1, 2, 3}
    assert choose_combinations(combinations[1:]) == {0, 1, 2}


@pytest.mark.parametrize("arguments, passed", [([], 10), (["--slow"], 21), (["-k", "test_f"], 2)], ids=str)
def test_the_others_are_slow(tmp_path, arguments, passed):
    """Those that are slow anyway are not chosen."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    each_value\n")
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n"
        "import pytest\nfrom selection.each_value import mark_others_slow\n"
        "def pytest_addoption(parser):\n    parser.addoption('--slow', action='store_true')\n"
        "def pytest_collection_modifyitems(config, items):\n"
        "    mark_others_slow(items)\n"
        "    if not config.getoption('slow'):\n"
        "        items[:] = [item for item in items if not item.get_closest_marker('slow')]\n"
    )
    (tmp_path / "test_a.py").write_text(
        "import pytest\n@pytest.mark.each_value\n@pytest.mark.parametrize('n', [1, 2])\n"
        "@pytest.mark.parametrize('x', ['a', 'b', pytest.param('c', marks=pytest.mark.slow)])\ndef test_f(x, n): pass\n"
        "@pytest.mark.each_value\n@pytest.mark.parametrize('n', [[1], [2]])\n"
        "@pytest.mark.parametrize(('x', 'y'), [(1, 1), (1, 2), (2, 1), (2, 2)])\ndef test_g(x, y, n): pass\n"
        "def test_h(): pass\n"
        "@pytest.fixture(params=['p', 'q', 'r'])\ndef made(request): return request.param\n"
        "@pytest.mark.each_value\n@pytest.mark.parametrize('n', [1, 2])\ndef test_i(made, n): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:adreno_sim", *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert f"{passed} passed" in run.stdout, run.stdout + run.stderr
