"""Allocation problems: what is refused, lower bounds, and problems as files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.artifact.memory_plan import MemoryPlan, PlannedStorage, PlannedTensor
from adreno_sim.compiler.plan import trace
from adreno_sim.compiler.plan.extract import row_aligned_size
from adreno_sim.compiler.plan.problem import Item, Problem, from_lifetimes, from_plan
from adreno_sim.results.plan_summary import PlanSummary

TEXTURE = Item("t", 50176, 0, 2, "global.texture", "float32", (1, 4, 28, 28, 4), 50176)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 3, 3, 8)], r"tensor 'a': lifetime \[3, 3\): expected an end after the start"),
        ([("a", 5, 2, 8)], r"lifetime \[5, 2\)"),
        ([("a", 0, 2, 0)], "tensor 'a': size 0: expected 1 to 2.63 - 1 bytes"),
        ([("a", 0, 2, -8)], "size -8"),
        ([("a", 0, 2, 2**63)], "size 9223372036854775808"),
        ([("a", 0, 2, 2**62), ("b", 5, 6, 2**62)], "add up to"),
        ([("a", 0, 4, 8), ("b", 0, 1, 8), ("a", 2, 6, 8)], r"two overlapping lifetimes, \[0, 4\) and \[2, 6\)"),
        ([("a", 0, 1, 8), ("a", 2, 6, 8)], "two separate lifetimes"),
    ],
)
def test_refused(rows, message):
    with pytest.raises(AdrenoSimError, match=message):
        from_lifetimes(rows)


def test_alignment_must_be_a_power_of_two():
    with pytest.raises(AdrenoSimError, match="alignment 24: expected a power of two"):
        Item("a", 8, 0, 1, alignment=24)


def test_largest_allocation_must_be_positive():
    with pytest.raises(AdrenoSimError, match="largest allocation 0"):
        Problem((), max_allocation=0)


def test_lower_bound_is_the_fullest_moment():
    problem = from_lifetimes([("a", 0, 4, 10), ("b", 2, 6, 20), ("c", 4, 8, 30), ("d", 6, 7, 1)])
    assert problem.lower_bound() == 50  # b and c on [4, 6); a has gone
    assert problem.lower_bound(8) == 24 + 32
    assert from_lifetimes([]).lower_bound() == 0


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(1, 99)), max_size=20))
def test_lower_bound_equals_a_count_at_every_instant(rows):
    problem = from_lifetimes([(str(n), start, start + length, size) for n, (start, length, size) in enumerate(rows)])
    live = [sum(item.size for item in problem.items if item.start <= time < item.end) for time in range(40)]
    assert problem.lower_bound() == max(live)


def test_texture_extent_folds_layers_into_height():
    assert TEXTURE.extent == (28, 4 * 28)
    assert Item("w", 1, 0, 1, "global.texture-weight", "float16", (8, 16, 3, 3, 4)).extent == (16 * 9, 8)
    with pytest.raises(AdrenoSimError, match="not a texture"):
        _ = Item("b", 4, 0, 1).extent


def _plan() -> MemoryPlan:
    def tensor(key: str, storage: str, first: int, last: int) -> PlannedTensor:
        return PlannedTensor(key, storage, 0, (1, 1, 3, 5, 4), "float32", "global.texture", 240, 999, first, last)

    storages = (PlannedStorage("s0", "global", 999, 999, 0, 3), PlannedStorage("s1", "global", 240, 240, 3, 4, planned=False))
    return MemoryPlan("main", "", storages, (tensor("a", "s0", 0, 3), tensor("b", "s1", 3, 4)), PlanSummary(2, 2, 0, 0, 0, 0, 0))


def test_a_plan_becomes_a_problem():
    problem = from_plan(_plan(), alignment=64)
    assert [(item.id, item.size, item.start, item.end, item.alignment) for item in problem.items] == [
        ("a", 999, 0, 4, 64),
        ("b", 999, 3, 5, 64),
    ]
    assert [item.left_alone for item in problem.items] == ["", "left alone"]


def test_a_tensor_without_bytes_needs_no_place():
    plan = _plan()
    empty = replace(plan.tensors[0], id="e", shape=(0, 4), right_bytes=0, dense_bytes=0, scope="global")
    assert [item.id for item in from_plan(replace(plan, tensors=(*plan.tensors, empty))).items] == ["a", "b"]


def test_a_size_rule_goes_before_the_plans_own():
    problem = from_plan(_plan(), row_aligned_size)
    assert problem.items[0].size == 128 * 3  # rows of 5 texels * 16 bytes, rounded up to 128
    assert problem.items[0].dense == 240
    assert problem.slot_bytes(5, 3, "float32") == 128 * 3
    assert from_plan(_plan()).slot_bytes(5, 3, "float32") == 240


def test_csv_as_minimalloc_writes_it(tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("id,lower,upper,size\n0,0,7,4096\n1,3,9,8\n")
    problem = trace.read(path)
    assert problem == from_lifetimes([("0", 0, 7, 4096), ("1", 3, 9, 8)], "net")
    trace.write_csv(tmp_path / "again.csv", problem)
    assert (tmp_path / "again.csv").read_text() == path.read_text()


def test_csv_columns_by_name(tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("size, alignment,buffer,start,end,offset\n\n64,32,x,0,2,128\n")
    assert trace.read(path).items == (Item("x", 64, 0, 2, alignment=32),)


def test_json_keeps_everything(tmp_path):
    problem = Problem((TEXTURE, Item("b", 7, 1, 3, alignment=128)), "net")
    trace.write(tmp_path / "net.json", problem)
    assert trace.read(tmp_path / "net.json") == problem


ITEM = '{"schema": "adreno-sim/trace/1", "items": [{"id": "a", "size": 4, "start": 0, "end": 1, %s}]}'


def test_a_byte_order_mark_is_no_column(tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("id,lower,upper,size\nx,0,2,64\n", encoding="utf-8-sig")
    assert trace.read(path).items == (Item("x", 64, 0, 2),)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,lower,upper\n", "a.csv:1: no column for size"),
        ("a.csv", "id,lower,upper,size,colour\n", "unknown column 'colour'"),
        ("a.csv", "", "no column for end"),
        ("a.csv", "id,lower,upper,size\n1,2,3\n", "a.csv:2: 3 values: expected 4"),
        ("a.csv", "id,lower,upper,size\n1,0,9,1\n2,x,3,4\n", "a.csv:3: expected integers"),
        ("a.csv", "id,lower,upper,size\n1,4,3,4\n", r"a.csv:2: tensor '1': lifetime \[4, 3\)"),
        ("a.csv", "id,lower,upper,size\n1,0,3,4\n1,1,3,4\n", "a.csv: tensor '1' has two overlapping lifetimes"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", "[]", "expected an object with schema"),
        ("a.json", '{"schema": "adreno-sim/trace/1", "items": [{"id": 3}]}', "a.json"),
        ("a.json", '{"schema": "adreno-sim/trace/1", "items": [{"id": "a", "size": 0, "start": 0, "end": 1}]}', "size 0"),
        ("a.csv", "id,lower,upper,size\na,0,99999999999999999999,4\n", "a.csv:2: tensor 'a': lifetime or alignment beyond"),
        ("a.csv", "id,lower,upper,size\n" + "a" * 200_000 + ",0,3,4\n", "a.csv: cannot be read: field larger"),
        ("a.csv", "id,buffer,lower,upper,size\na,b,0,3,4\n", "a.csv:1: two columns mean the same"),
        ("a.json", ITEM % '"dtype": "nope", "shape": [2, 4]', "tensor 'a': unknown dtype 'nope': expected one of"),
        ("a.json", ITEM % '"shape": [-2, 4]', "tensor 'a': shape .-2, 4.: expected sizes of 0 or more"),
        ("a.json", ITEM % '"scope": "global.texture"', "tensor 'a'"),
        ("a.json", "[" * 100_000, "a.json: not valid JSON"),
        ("a.txt", "", "expected a file ending in .csv or .json"),
    ],
)
def test_a_bad_file_is_one_error(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(AdrenoSimError, match=message):
        trace.read(path)


def test_a_missing_file_is_one_error(tmp_path):
    with pytest.raises(AdrenoSimError, match=r"none\.csv: cannot be read"):
        trace.read(tmp_path / "none.csv")
