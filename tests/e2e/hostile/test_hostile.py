"""Hostile programs and files: some of them in every run, all of them with --slow."""

from __future__ import annotations

from functools import cache

import pytest
from hostile.campaign import describe, make_cases, run_cases
from hostile.case import MOST_MEMORY, Case, Outcome, complaints
from hostile.files import FILES, KERNEL, SHARES, TRACE, files
from hostile.programs import PROGRAMS, programs

pytestmark = pytest.mark.e2e

SEED = 1
EVERY = {"programs": 40, "files": 125}
"""One case of so many runs each time."""
PART = 250

_cases = cache(make_cases)


def check(cases: list[Case]) -> None:
    report = run_cases(cases)
    print(report.summary())
    assert report.cases == len(cases)
    assert not report.failures, "\n\n".join(describe(*failure) for failure in report.failures)


def test_some_programs():
    check(_cases(SEED)[: PROGRAMS : EVERY["programs"]])


def test_some_files():
    check(_cases(SEED)[PROGRAMS :: EVERY["files"]])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, PROGRAMS + FILES, PART))
def test_all(start):
    check(_cases(SEED)[start : start + PART])


def test_the_cases_are_as_many_as_they_should_be_and_the_same_each_time():
    cases = _cases(SEED)
    assert len(cases) == PROGRAMS + FILES == len({case.name for case in cases}) == 2500
    again = programs(SEED) + [case for kind in SHARES if kind != "cache" for case in files(SEED, kind)]
    assert again == cases[: len(again)]
    assert files(SEED + 1, "trace") != files(SEED, "trace")


def test_files_outside_of_the_folder_are_seen():
    """The watch itself: a report that a run was told to write elsewhere, and one in the folder that no run should leave there."""
    given = {"t.csv": TRACE.encode(), "k.cl": KERNEL}
    cases = [Case(name, ("footprint", "t.csv", *more), given) for name, more in (
        ("good", ()), ("outside", ("--json", "../../../seen.json")), ("inside", ("--json", "seen.json"))
    )]  # fmt: skip
    report = run_cases(cases)
    assert [case.name for case, _, _ in report.failures] == ["outside", "inside"]
    assert all("seen.json" in str(found) for _, _, found in report.failures)


GOOD = Outcome(2, "", "error: x.toml: global_size: expected a list\n", 0.1, 1 << 20)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"code": 4}, "exit code 4"),
        ({"code": -11}, "ended by signal 11"),
        ({"err": GOOD.err + "Traceback (most recent call last):"}, "Traceback"),
        ({"seconds": 90.0}, "90.0 s of CPU time"),
        ({"peak": MOST_MEMORY + (1 << 20)}, "2049 MiB of memory"),
        ({"err": GOOD.err * 2 + "more\n" * 50}, "52 lines for 2 messages"),
        ({"err": ""}, "0 lines for 0 messages"),
        ({"err": "error: " + "x" * 5000}, "a line of 5007 characters"),
        ({"code": 0, "out": "x" * 1_000_000}, "characters"),
        ({"written": ("/home/x",)}, "wrote /home/x"),
    ],
)
def test_the_judge(changes, said):
    found = complaints(Case("x", ()), Outcome(**{**vars(GOOD), **changes}))
    assert (said in found[0] and len(found) == 1) if said else not found


def test_the_judge_knows_what_a_run_over_a_damaged_cache_should_say():
    case = Case("x", (), expected=(0, "ok\n"))
    good = Outcome(0, "ok\n", "", 0.1, 1 << 20)
    assert not complaints(case, good)
    assert complaints(case, Outcome(1, "ok\n", "", 0.1, 1 << 20))
    assert complaints(case, Outcome(0, "other\n", "", 0.1, 1 << 20))
