"""Which oracle judges a test, and what a missing or unfit one was to judge: told at the end of the run.

What is told travels as properties of the tests, so that it is the same under pytest-xdist.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import oracle
import pytest

from adreno_sim.backends.opencl import drivers

JUDGED, INSTEAD, WITHOUT, LEFT_OUT = "judge.judged", "judge.instead", "judge.without", "judge.left_out"
"""Properties: who judged; who could not and why, where another did; the same where nobody did; what else was left out."""


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
    """Skip a test of our side of a driver where that driver is not installed; it counts as not judged."""
    driver = drivers.named(name)
    if not drivers.found(driver):
        reason = f"{driver.platform} is not installed: {driver.install}"
        item.user_properties.append((WITHOUT, reason))
        pytest.skip(reason)


def told_lines(reports: Iterable[Any]) -> list[str]:
    """The end of a run: who judged how many tests, and what each oracle that could not judge was to judge."""
    told = {
        (key, value, report.nodeid)
        for report in reports
        for key, value in getattr(report, "user_properties", ())
        if str(key).startswith("judge.")
    }
    judged = Counter(value for key, value, _ in told if key == JUDGED)
    lines = [f"judged by {name}: {_tests(count)}" for name, count in sorted(judged.items())]
    missed: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for key, value, nodeid in told:
        if key in (INSTEAD, WITHOUT, LEFT_OUT):
            missed[value][key].add(nodeid)
    for reason, by_key in sorted(missed.items()):
        lines.append(reason)
        for key, what in ((WITHOUT, "NOT judged"), (INSTEAD, "judged by another"), (LEFT_OUT, "in part NOT judged")):
            if tests := by_key.get(key):
                lines.append(f"  {what}: {_tests(len(tests))} in {', '.join(_files(tests))}")
    return lines


def _tests(count: int) -> str:
    return f"{count} test{'s' if count != 1 else ''}"


def _files(nodeids: Iterable[str]) -> list[str]:
    return [f"{file} ({count})" for file, count in sorted(Counter(nodeid.partition("::")[0] for nodeid in nodeids).items())]
