"""Which oracle judges a test, and what a missing or unfit one was to judge: told at the end of the run.

What is told travels as properties of the tests, so that it is the same under pytest-xdist.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import oracle
import pytest

JUDGED, INSTEAD, WITHOUT, LEFT_OUT = "judge.judged", "judge.instead", "judge.without", "judge.left_out"
"""Properties: who judged; who could not and why, where another did; the same where nobody did; what a test left out."""

MEANING = {WITHOUT: "NOT judged", INSTEAD: "judged by another"}


def require(item: pytest.Item, *names: str) -> oracle.Oracle:
    """The first of these oracles that is fit; a test that has none left fails."""
    reasons = []
    for name in names:
        try:
            opened = oracle.open_oracle(name)
        except oracle.OracleUnavailable as error:
            reasons.append(str(error))
            continue
        item.user_properties += [(INSTEAD, reason) for reason in reasons]
        item.user_properties.append((JUDGED, name))
        return opened
    item.user_properties += [(WITHOUT, reason) for reason in reasons]
    pytest.fail(f"no judge is left: {'; '.join(reasons)}", pytrace=False)


def ask_also(item: pytest.Item, name: str) -> oracle.Oracle:
    """A second opinion, on what another test has judged already: where it is not to be had, the test counts as not judged."""
    try:
        opened = oracle.open_oracle(name)
    except oracle.OracleUnavailable as error:
        item.user_properties.append((WITHOUT, str(error)))
        pytest.skip(str(error))
    item.user_properties.append((JUDGED, name))
    return opened


def skip_without(item: pytest.Item, name: str) -> None:
    """Skip a test of our side of a driver where that driver is not installed or runs nothing; it counts as not judged."""
    if reason := oracle.why_absent(name):
        item.user_properties.append((WITHOUT, reason))
        pytest.skip(reason)


def leave_out(item: pytest.Item, count: int, what: str) -> None:
    """Say that a test left out so many of what nobody who is fit can judge."""
    if count:
        item.user_properties.append((LEFT_OUT, [count, what]))


def told_lines(reports: Iterable[Any]) -> list[str]:
    """The end of a run: who judged how many tests, and what each oracle that could not judge was to judge."""
    judged: dict[str, set[str]] = defaultdict(set)
    missed: dict[tuple[str, str], set[str]] = defaultdict(set)
    left_out: dict[str, dict[str, int]] = defaultdict(dict)
    for report in reports:
        for key, value in getattr(report, "user_properties", ()):
            if key == JUDGED:
                judged[value].add(report.nodeid)
            elif key in MEANING:
                missed[value, MEANING[key]].add(report.nodeid)
            elif key == LEFT_OUT:
                left_out[value[1]][report.nodeid] = value[0]
    lines = [f"judged by {name}: {_tests(tests)}" for name, tests in sorted(judged.items())]
    reason = ""
    for (why, what), tests in sorted(missed.items()):
        lines += [why] * (why != reason)
        lines.append(f"  {what}: {_tests(tests)} in {_files(tests)}")
        reason = why
    return lines + [f"left out: {sum(counts.values())} {what} in {_files(counts)}" for what, counts in sorted(left_out.items())]


def _tests(found: Collection[str]) -> str:
    return f"{len(found)} test{'s' if len(found) != 1 else ''}"


def _files(nodeids: Iterable[str]) -> str:
    counts = Counter(nodeid.partition("::")[0] for nodeid in nodeids)
    return ", ".join(f"{file} ({count})" for file, count in sorted(counts.items()))
