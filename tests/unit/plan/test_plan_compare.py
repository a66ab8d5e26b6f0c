"""Plans side by side: figures, causes that add up, and what cannot be run."""

from __future__ import annotations

import sys
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.plan import compare as side_by_side
from adreno_sim.compiler.plan.allocation import Allocation, Slot
from adreno_sim.compiler.plan.compare import Causes, compare, row
from adreno_sim.compiler.plan.planners import names, places, plan
from adreno_sim.compiler.plan.problem import Item, Problem, from_lifetimes

FIGURES = ["naive", "tvm", "tvm-fixed", "unified", "tflite-arena", "arena"]


def image(key: str, start: int, end: int) -> Item:
    """5 x 3 texels of float32: 240 bytes, 384 with rows padded to 128."""
    return Item(key, 384, start, end, "global.texture", "float32", (3, 5, 4), 240)


def test_causes_of_each_kind():
    problem = Problem((image("a", 0, 2), image("b", 1, 3), Item("c", 100, 2, 4, dtype="float32", dense=100)))
    naive, tvm = (row(plan(name, problem)) for name in ("naive", "tvm"))
    # a and b are live together: 2 * 384, of which 2 * 144 is padding. naive: c's storage is empty then.
    assert naive.causes == Causes(480, 288, 0, 100, 0, 0, 3 * 4096 - 868)
    assert (naive.total, naive.bound, naive.ratio) == (868, 768, 868 / 768)
    # c takes the storage of a, which counts four times.
    assert tvm.causes == Causes(480, 288, 0, 0, 0, 3 * 768, 2 * 4096 - 4 * 768)
    assert (tvm.total, tvm.storages, tvm.largest) == (4 * 768, 2, 4 * 384)


def test_a_slot_larger_than_what_is_in_it_when_most_is_live():
    # c takes the 100 bytes of a and leaves 40 of them unused at time 2, when most is live.
    problem = from_lifetimes([("a", 0, 1, 100), ("c", 1, 3, 60), ("d", 2, 3, 90), ("e", 2, 3, 40)])
    assert row(plan("unified", problem)).causes == Causes(190, 0, 40, 0, 0, 0, 3 * 4096 - 230)


def test_gaps_between_the_tensors_of_an_arena():
    problem = from_lifetimes([("a", 0, 2, 30), ("b", 1, 3, 20)])
    found = row(Allocation("arena", problem, (60,), (0, 0), (0, 40)))
    assert found.causes == Causes(50, 0, 0, 0, 10, 0, 4096 - 60)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 9), st.integers(1, 6), st.booleans()), min_size=1, max_size=15),
    st.sampled_from(FIGURES),
)
def test_causes_add_up_and_none_is_negative(rows, name):
    items = (
        Item(str(n), -(-size // 64) * 64 if textures else size, at, at + long, dense=size, dtype="float32", alignment=64)
        for n, (size, at, long, textures) in enumerate(rows)
    )
    found = row(plan(name, Problem(tuple(items))))
    assert found.causes is not None
    *parts, page_rounding = astuple(found.causes)
    assert sum(parts) == found.total
    assert min(*parts, page_rounding) >= 0
    assert (found.total + page_rounding) % 4096 == 0


def test_what_cannot_be_run_is_a_row_that_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    big = Problem(from_lifetimes([("big", 0, 1, 200)]).items, max_allocation=100)
    rows = compare(big, ["naive", "arena", "optimal"])
    assert [row.planner for row in rows] == ["naive", "arena", "optimal"]
    assert not rows[0].fits
    assert rows[0].largest == 200
    assert "tensor 'big'" in rows[1].skipped
    assert "OR-tools" in rows[2].skipped


def test_an_unknown_planner_stops_before_any_runs(monkeypatch):
    monkeypatch.setattr(side_by_side, "row", lambda *_: pytest.fail("ran"))
    with pytest.raises(AdrenoSimError, match="planner 'nope' does not exist"):
        compare(from_lifetimes([("a", 0, 1, 8)]), ["naive", "nope"])


def test_rows_become_json():
    found = compare(from_lifetimes([("a", 0, 1, 8)]), ["arena"])[0].as_dict()
    assert found["ratio"] == 1.0
    assert found["causes"]["dense"] == 8


def test_nothing_to_plan_has_ratio_one():
    assert [
        found.ratio for found in compare(Problem(()), [name for name in names() if name != "optimal" and not places(name)])
    ] == [1.0] * 12


@pytest.mark.parametrize(
    ("allocation", "message"),
    [
        (lambda p: Allocation("x", p, (16,), (0, 0), (0, 0)), "a and b are live at one time in the same bytes"),
        (lambda p: Allocation("x", p, (15,), (0, 0), (0, 8)), "b: ends at byte 16 of storage 0, which has 15"),
        (lambda p: Allocation("x", p, (32,), (0, 0), (0, 12)), "b: offset 12 is not a multiple of 8"),
        (lambda p: Allocation("x", p, (32,), (0, 0), (0, -8)), "b: offset -8 is not a multiple of 8"),
        (lambda p: Allocation("x", p, (8,), (0, 1), (0, 0)), "b: storage 1 does not exist"),
    ],
)
def test_violations_name_the_tensors(allocation, message):
    problem = Problem((Item("a", 8, 0, 2, alignment=8), Item("b", 8, 1, 3, alignment=8)))
    assert message in allocation(problem).violations()


def test_two_live_textures_cannot_share_a_slot():
    problem = Problem((image("a", 0, 2), image("b", 1, 3)))
    found = Allocation("x", problem, (384,), (0, 0), (0, 0), {0: Slot(5, 3, "float32")}).violations()
    assert found == ["a and b are live at one time in the same bytes"]
