"""Limits and baselines of predicted times."""

from __future__ import annotations

import json

import pytest

from adreno_sim import AdrenoSimError
from adreno_sim.findings import Kind
from adreno_sim.results.time_limits import NOISE, TimeWish, find_beyond, parse_duration, read_baseline, show_duration
from adreno_sim.results.time_report import TimeReport, time_to_json
from adreno_sim.timing.launches import TimeEstimate


def make_report(**seconds):
    report = TimeReport("adreno-640", "scaled", 1e12, 3e10)
    for name, some in seconds.items():
        report.add(name, TimeEstimate(some, {"latency": some, "launch": 0.0}, "latency", (), 1e6, 1e6))
    return report


@pytest.mark.parametrize(("text", "seconds"), [("15ms", 0.015), ("1.5s", 1.5), ("200us", 2e-4), ("7ns", 7e-9)])
def test_a_duration(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)
    assert parse_duration(show_duration(seconds).replace(" ", "")) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "15", "ms", "-1ms", "0ms", "1e3ms", "1 ms", "15 m", "1.ms", "9" * 30 + "s"])
def test_no_duration(text):
    with pytest.raises(ValueError, match="expected a time above 0"):
        parse_duration(text)


def test_a_limit_counts_from_the_lower_end():
    report = make_report(one=0.010, two=0.005)
    assert report.low < report.seconds < report.high
    assert find_beyond(report, TimeWish(report.low * 1.01)) == []
    (found,) = find_beyond(report, TimeWish(report.low * 0.99))
    assert found.kind is Kind.TOO_SLOW


def test_what_became_slower_by_more_than_noise(tmp_path):
    before, file = make_report(same=0.010, noise=0.010, slow=0.010, gone=0.010), tmp_path / "before.json"
    file.write_text(json.dumps({"schema": "adreno-sim/report/1", "time": time_to_json(before)}))
    now = make_report(same=0.010, noise=0.010 * NOISE * 0.99, slow=0.010 * NOISE * 1.01, new=0.003)
    (found,) = find_beyond(now, TimeWish(None, str(file)))
    assert (found.kind, found.kernel) == (Kind.SLOWER, "slow")
    assert [row.before for row in now.rows] == [0.010, 0.010, 0.010, None]
    assert now.before == pytest.approx(0.040)
    assert find_beyond(before, TimeWish(None, str(file))) == []


def test_the_sum_may_be_slower_though_no_kernel_is(tmp_path):
    file = tmp_path / "before.json"
    file.write_text(json.dumps(time_to_json(make_report(one=0.010))))
    (found,) = find_beyond(make_report(one=0.010, more=0.010), TimeWish(None, file))
    assert found.kind is Kind.SLOWER
    assert not found.kernel


GOOD = time_to_json(make_report(one=0.010))


@pytest.mark.parametrize(("data", "reason"), [
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("[1]", "holds no predicted times"),
    (json.dumps({"time": None}), "holds no predicted times"),
    (json.dumps({**GOOD, "schema": "adreno-sim/time/2"}), "holds no predicted times"),
    (json.dumps({**GOOD, "device": "adreno-740"}), "compare runs on one device"),
    (json.dumps({**GOOD, "kernels": None}), "without a name or a time"),
    (json.dumps({**GOOD, "kernels": [1]}), "without a name or a time"),
    (json.dumps({**GOOD, "kernels": [{"name": "one", "seconds": "1"}]}), "without a name or a time"),
    (json.dumps({**GOOD, "kernels": [{"name": "one", "seconds": float("inf")}]}), "without a name or a time"),
    (json.dumps({**GOOD, "seconds": True}), "without a name or a time"),
])  # fmt: skip
def test_what_is_no_baseline(data, reason, tmp_path):
    (tmp_path / "before.json").write_text(data)
    with pytest.raises(AdrenoSimError, match=reason):
        read_baseline(tmp_path / "before.json", "adreno-640")


def test_a_baseline_that_is_not_there(tmp_path):
    with pytest.raises(AdrenoSimError, match="cannot be read"):
        read_baseline(tmp_path / "none.json", "adreno-640")
