"""What a page draws: which elements of arrays are kept, which are wrong, where a finding's element lies."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from adreno_sim.findings import Access, Finding, Kind
from adreno_sim.render.viewer.data import view_data
from adreno_sim.results.comparison import compare, find_wrong
from adreno_sim.results.evidence import MOST_ARRAYS, MOST_ELEMENTS, Evidence, find_element
from adreno_sim.results.expected import Expected


def at(**place) -> Finding:
    return Finding(Kind.DATA_RACE, "m", "k", access=Access("y", 4, **place))


@pytest.mark.parametrize(
    ("finding", "shape", "element"),
    [
        (at(offset=12), (8,), 3),
        (at(offset=32), (8,), -1),  # behind the end
        (at(coordinate=(2, 1)), (1, 3, 5, 4), (1 * 5 + 2) * 4),
        (at(coordinate=(2, 1, 1)), (2, 3, 5, 4), (15 + 1 * 5 + 2) * 4),
        (at(coordinate=(2,)), (1, 1, 5, 4), 8),
        (at(coordinate=(5, 0)), (1, 3, 5, 4), -1),
        (at(coordinate=(-1, 0)), (1, 3, 5, 4), -1),
        (Finding(Kind.WRONG_VALUE, "m", detail={"index": (1, 2)}), (3, 4), 6),
        (Finding(Kind.WRONG_VALUE, "m", detail={"index": (9,)}), (3, 4), 9),
        (Finding(Kind.WRONG_VALUE, "m"), (3, 4), -1),
    ],
)
def test_the_element_of_a_finding(finding, shape, element):
    assert find_element(finding, shape, 4) == element


def test_what_is_wrong_is_what_the_comparison_counts():
    rng = np.random.default_rng(3)
    right = rng.normal(size=(5, 40)).astype("f4")
    got = right * (1 + np.where(rng.random(right.shape) < 0.2, 0.01, 0.0)).astype("f4")
    got[0, :3] = np.nan, np.inf, 0
    for expected in (Expected(right), Expected(right, right.astype("f8"), np.full(right.shape, 0.05))):
        wrong = find_wrong(got, expected)
        assert wrong.sum() == compare(got, expected).wrong > 2
        assert wrong.shape == got.shape


def test_a_large_array_is_kept_around_its_element():
    evidence, big = Evidence(), np.arange(1 << 20, dtype="f4").reshape(1024, 1024)
    other = big.copy()
    other[700, 5] = 0
    evidence.add_array("y", "k", other, big, around=700 * 1024 + 5)
    kept = evidence.arrays[0]
    assert kept.got.size == MOST_ELEMENTS
    assert kept.first % kept.row == 0
    assert kept.holds(700 * 1024 + 5)
    assert np.flatnonzero(kept.wrong).tolist() == [700 * 1024 + 5 - kept.first]


def test_a_page_stays_small():
    wide, wrong = np.zeros(1 << 15), np.ones(1 << 15)
    evidence = Evidence()
    for n in range(9):
        evidence.add_array(f"y{n}", "k", wrong, wide)
    assert len(evidence.arrays) == 8
    assert list(evidence.cut) == ["arrays behind the first 8"]
    assert len(json.dumps(view_data(evidence, []))) < 4_000_000
    few = Evidence()
    for n in range(MOST_ARRAYS + 1):
        few.add_array(f"y{n}", "k", wrong[:9], wide[:9])
    assert len(few.arrays) == MOST_ARRAYS
    assert few.cut


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", "u8", "?"])
def test_values_are_exact(dtype):
    values = np.array([0, 1, 1, 0, 1]).astype(dtype) if dtype == "?" else np.array([3, 100, 7, 0, 1], dtype)
    evidence = Evidence()
    evidence.add_array("y", "k", values)
    code, packed = view_data(evidence, [])["arrays"][0]["got"]
    assert np.array_equal(np.frombuffer(base64.b64decode(packed), f"<{code}"), values)


def test_a_finding_points_at_its_array_and_its_stores():
    evidence, race = Evidence(), at(offset=8)
    evidence.add_array("x", "", np.zeros(4, "f4"))
    evidence.add_array("y", "k", np.zeros(4, "f4"))
    store = {
        "order": 0,
        "value": 2.5,
        "global_id": (1, 0, 0),
        "local_id": (1, 0, 0),
        "kernel": "k",
        "line": 3,
        "column": 1,
        "source": "s",
    }
    evidence.stores.append((race, [store]))
    found, other = view_data(evidence, [race, at(offset=4)])["findings"]
    assert (found["array"], found["at"]) == (1, 2)
    assert found["stores"] == [["2.5", "1, 0, 0", "1, 0, 0", "k", 3, "s"]]
    assert other["stores"] is None
    evidence.launch = "n = 4"  # of several launches, of which the second finding is another's
    of_it, of_other = (replace(race, detail={"launch": words}) for words in ("n = 4", "n = 5"))
    found, other = view_data(evidence, [of_it, of_other])["findings"]
    assert found["array"] == 1
    assert found["stores"]
    assert (other["array"], other["stores"]) == (-1, None)
