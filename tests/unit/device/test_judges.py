"""A judge that is missing or unfit: another judges, a test with none left fails, and the end of a run tells all of it."""

from __future__ import annotations

from pathlib import Path

import oracle
import pytest

pytest_plugins = ["pytester"]

TESTS = """
import judges
import oracle
import pytest

class Fit:
    pass

@pytest.fixture(autouse=True)
def oracles(monkeypatch):
    def open_oracle(name):
        if name in {unfit!r}:
            raise oracle.OracleUnfit(f"{{name}} oracle unfit: gets sums wrong")
        return Fit()
    monkeypatch.setattr(oracle, "open_oracle", open_oracle)

@pytest.mark.parametrize("n", range(3))
def test_anyone_may_judge(judge, n):
    assert isinstance(judge, Fit)

@pytest.mark.parametrize("n", [2, 0, 5])
def test_many(judge, request, n):
    judges.leave_out(request.node, n, "of 10 kernels")

def test_halves(intel):
    assert isinstance(intel, Fit)

def test_a_second_opinion(pocl):
    assert isinstance(pocl, Fit)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """run(*unfit, args) is what a run of TESTS says where these oracles are unfit."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest(f"import sys\nsys.path.insert(0, {str(Path(oracle.__file__).parent)!r})\n{CONFTEST}")

    def call(*unfit, args=()):
        pytester.makepyfile(test_judged=TESTS.format(unfit=set(unfit)))
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    return call


LEFT = "left out: 7 of 10 kernels in test_judged.py (2)"

CONFTEST = """
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import judges
spec = spec_from_file_location("shared_conftest", Path(judges.__file__).with_name("conftest.py"))
shared = module_from_spec(spec)
spec.loader.exec_module(shared)
judge, intel, pocl, pytest_terminal_summary = shared.judge, shared.intel, shared.pocl, shared.pytest_terminal_summary
"""


def told(result) -> list[str]:
    lines = result.stdout.str().partition("= judges =")[2].splitlines()[1:]
    return [line for line in lines[: next(i for i, line in enumerate([*lines, "="]) if line.startswith("="))] if line]


@pytest.mark.parametrize("args", [(), ("-n2",)], ids=["alone", "workers"])
def test_an_unfit_judge_is_told_with_what_it_was_to_judge(run, args):
    result = run("pocl", args=args)
    result.assert_outcomes(passed=7, skipped=1)
    assert told(result) == [
        "judged by intel: 7 tests",
        "pocl oracle unfit: gets sums wrong",
        "  NOT judged: 1 test in test_judged.py (1)",
        "  judged by another: 6 tests in test_judged.py (6)",
        LEFT,
    ]


def test_where_all_are_fit_nothing_is_missing(run):
    result = run()
    result.assert_outcomes(passed=8)
    assert told(result) == ["judged by intel: 1 test", "judged by pocl: 7 tests", LEFT]


def test_a_test_that_has_no_judge_left_fails(run):
    result = run("pocl", "intel")
    result.assert_outcomes(errors=7, skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no judge is left: pocl oracle unfit: gets sums wrong; intel oracle unfit: gets sums wrong"])
    assert "  NOT judged: 7 tests in test_judged.py (7)" in told(result)
