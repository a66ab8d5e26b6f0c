"""The fast set: what is chosen, in which order files are handed out, and that processes of xdist agree."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from selection.choice import choose, sort_files, split_files, take_share
from selection.durations import Durations, split_id
from selection.families import count_affordable, draw_combinations

TESTS = Path(__file__).parents[2]


def ids(file: str, function: str, count: int) -> list[str]:
    return [f"{file}::{function}[{index}]" for index in range(count)]


@pytest.mark.parametrize(
    "count, seconds, kept", [(4, 0.1, [0, 1, 2, 3]), (10, 0.1, [0, 2, 4, 6, 8]), (9, 3.0, [0]), (9, 0.0, range(9))]
)
def test_a_function_runs_what_its_share_pays_for(count, seconds, kept):
    nodes = ids("a.py", "f", count)
    assert take_share(nodes, seconds) == [nodes[index] for index in kept]


@pytest.mark.parametrize(
    "seconds, share, kept", [(0.5, 2.0, [0, 2, 4, 8]), (3.0, 2.0, [0]), (3.0, math.inf, range(9)), (0.0, 2.0, range(9))]
)
def test_a_family_runs_what_its_share_pays_for_spread_over_its_items(seconds, share, kept):
    combinations = [{"x": number} for number in range(9)]
    assert draw_combinations(combinations, count_affordable(9, seconds, share)) == set(kept)


def test_a_part_of_a_family_has_as_many_values_as_it_can():
    combinations = [{"name": name, "target": target} for name in range(6) for target in range(2)]
    kept = [combinations[number] for number in draw_combinations(combinations, 4)]
    assert len({one["name"] for one in kept}) == 4
    assert [one["target"] for one in kept].count(0) == 2


def test_the_budget_goes_to_what_is_fast_and_to_what_is_marked():
    durations = Durations({"a.py": {"slow": 4.0, "fast": 0.1, "marked": 3.0}})
    nodes = [*ids("a.py", "slow", 2), *ids("a.py", "fast", 9), *ids("a.py", "marked", 3), "a.py::new"]
    kept = choose(nodes, durations, {("a.py", "marked")}, budget=4.0)
    assert kept == {*take_share(ids("a.py", "fast", 9), 0.1), "a.py::marked[0]", "a.py::new"}
    assert choose(nodes, durations, set(), budget=1000.0) == kept | {"a.py::slow[0]"}


def test_what_is_marked_runs_beyond_the_budget():
    assert choose(["a.py::f"], Durations({"a.py": {"f": 9.0}}), {("a.py", "f")}, budget=1.0) == {"a.py::f"}


def test_parts_take_the_same_time_and_lose_nothing():
    durations = Durations({name: {"f": seconds} for name, seconds in zip("abcde", (5.0, 4.0, 3.0, 3.0, 3.0), strict=True)})
    nodes = [f"{name}::f" for name in "abcde"]
    assert list(sort_files(nodes, durations)) == ["a", "b", "c", "d", "e"]
    assert split_files(nodes, durations, 2) == [{"a", "d"}, {"b", "c", "e"}]
    assert set.union(*split_files(nodes, durations, 7)) == set("abcde")


def test_what_was_measured_replaces_what_was_known(tmp_path):
    (tmp_path / "a.py").touch()
    durations = Durations({"a.py": {"f": 9.0, "g": 1.0, "kept": 2.0}, "gone.py": {"f": 1.0}})
    durations.update([("a.py::f[x]", 1.0), ("a.py::f[y[0]]", 2.0), ("a.py::g", 0.001)])
    durations.write(tmp_path, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == {"a.py": {"f": 1.5, "kept": 2.0}}


def test_the_file_names_functions_that_there_are():
    """A function that was renamed runs as a new one would, and its row is of no use to anybody."""
    known = json.loads((TESTS / "selection/durations.json").read_text())
    lost = []
    for file, functions in known.items():
        source = (TESTS.parent / file).read_text() if (TESTS.parent / file).exists() else ""
        lost += [f"{file}::{name}" for name in functions if f"def {name}(" not in source]
    assert len(lost) <= len(known) // 4, f"run `bash ci/test.sh --complete --record-durations`: {lost[:9]}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with two files of tests, of which one function is slow by the measured durations."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nmarkers =\n    representative\n    share\n    slow\n")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n"
        "import selection.plugin\nfrom selection.durations import Durations\n"
        "Durations.read = lambda: Durations({'tests/test_a.py': {'test_slow': 400.0, 'test_many': 0.3, 'test_all': 3.0}})\n"
        "pytest_addoption = selection.plugin.add_options\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(selection.plugin.Selection(config))\n"
    )
    (tests / "test_a.py").write_text(
        "import pytest\ndef test_slow(): pass\n@pytest.mark.parametrize('n', range(10))\ndef test_many(n): pass\n"
        "@pytest.mark.share()\n@pytest.mark.parametrize('n', range(3))\ndef test_all(n): pass\n"
    )
    (tests / "test_b.py").write_text("def test_new(): pass\n")
    return tmp_path


@pytest.mark.parametrize("arguments, passed", [
    ([], 3),
    (["--complete", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"], 7),
    (["--complete", "--shard", "1/2"], 6),
    (["tests/test_a.py", "--complete"], 14),
    (["-k", "test_many"], 10),
])  # fmt: skip
def test_what_runs_by_the_command_line(project, arguments, passed):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:adreno_sim", *arguments]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{passed} passed" in run.stdout, run.stdout + run.stderr


def test_a_part_that_there_is_not_is_refused(project):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:adreno_sim", "--shard", "3/2"]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert run.returncode == 4, run.stderr
    assert "expected I/N with 1 <= I <= N, as 2/3, got '3/2'" in run.stderr, run.stderr


def test_an_id_may_hold_brackets():
    assert split_id("tests/a.py::C::f[x[1]::y]") == ("tests/a.py", "C::f")
