"""Regions in which only the first work-items do anything: the loop over work-items ends early, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oracle import Buffer, Scalar

from adreno_sim.engine.analysis.active_items import ActiveItems, find_active_items
from adreno_sim.engine.analysis.parallel_regions import RegionPlan
from adreno_sim.engine.analysis.segments import Graph
from adreno_sim.engine.emit.sync_points import Scopes
from adreno_sim.frontend.program import FrontEndTarget, compile_source

SIZE = (32, 4)
"""Local size of a group; `l` and `m` are the ids along x and y."""

Rule = Callable[[int, int], bool]

GUARDED: dict[str, tuple[str, ActiveItems, Rule]] = {  # a condition, the guard it is, and where it holds
    "below": ("l < 5", ActiveItems(0, 5), lambda x, y: x < 5),
    "up to": ("l <= 5", ActiveItems(0, 6), lambda x, y: x <= 5),
    "equal": ("l == 5", ActiveItems(0, 6), lambda x, y: x == 5),
    "unsigned below": ("(uint)l < 5u", ActiveItems(0, 5), lambda x, y: x < 5),
    "unsigned up to": ("(uint)l <= 5u", ActiveItems(0, 6), lambda x, y: x <= 5),
    "the id itself": ("get_local_id(0) < 7", ActiveItems(0, 7), lambda x, y: x < 7),
    "converted": ("convert_int(get_local_id(0)) < 7", ActiveItems(0, 7), lambda x, y: x < 7),
    "second axis": ("m < 2", ActiveItems(1, 2), lambda x, y: y < 2),
    "conjunction": ("l < 5 && m < 2", ActiveItems(0, 5), lambda x, y: x < 5 and y < 2),
    "chosen": ("(l < 5 ? 1 : 0)", ActiveItems(0, 5), lambda x, y: x < 5),
    "conjunction of bits": ("(l < 5) & (m < 2)", None, lambda x, y: x < 5 and y < 2),  # type: ignore[dict-item]
    "second of two": ("(bool)(n > 0) && m < 3", None, lambda x, y: y < 3),  # type: ignore[dict-item]
}  # fmt: skip

OTHERS: dict[str, tuple[str, Rule]] = {  # what looks like a guard, and where it holds
    "disjunction": ("l < 5 || m == 3", lambda x, y: x < 5 or y == 3),
    "disjunction of bits": ("(l < 5) | (m == 3)", lambda x, y: x < 5 or y == 3),
    "not below": ("l >= 5", lambda x, y: x >= 5),
    "above": ("l > 5", lambda x, y: x > 5),
    "unequal": ("l != 5", lambda x, y: x != 5),
    "negated": ("!(l < 5)", lambda x, y: not x < 5),
    "from the left": ("5 < l", lambda x, y: x > 5),
    "unsigned bound that is negative": ("(uint)l < (uint)-3", lambda x, y: True),
    "bound that is negative": ("l < -3", lambda x, y: False),
    "nobody": ("l < 0", lambda x, y: False),
    "another number": ("l - 8 < 5", lambda x, y: x - 8 < 5),
    "a multiple": ("l * 0x10000000 < 5", lambda x, y: x % 16 >= 8 or x % 16 == 0),
    "variable bound": ("l < n", lambda x, y: x < 9),
    "signed byte": ("(char)(l * 8 + m) < 5", lambda x, y: (x * 8 + y) % 256 >= 128 or (x * 8 + y) % 256 < 5),
    "choice": ("(m > 1 ? l < 5 : l > 20)", lambda x, y: x < 5 if y > 1 else x > 20),
    "compared with one": ("((l < 5) != 1)", lambda x, y: x >= 5),
    "compared with two": ("((l < 5) != 2)", lambda x, y: True),
    "chosen for the others": ("(l < 5 ? 0 : 1)", lambda x, y: x >= 5),
    "chosen for all": ("(l < 5 ? 1 : 2)", lambda x, y: True),
    "the group's id": ("get_group_id(0) < 5", lambda x, y: True),
    "the group's size": ("get_local_size(0) < 40", lambda x, y: True),
    "compared with nothing": ("((l < 5) == 0)", lambda x, y: x >= 5),
}  # fmt: skip

HEAD = """__kernel void k(__global int *r, int n) {
  int l = get_local_id(0), m = get_local_id(1), at = l + 32 * m, x = 1;
  __local int t[1024]; t[at] = 1; barrier(CLK_LOCAL_MEM_FENCE);
"""
TAIL = " barrier(CLK_LOCAL_MEM_FENCE); r[at + 128 * get_group_id(0)] = t[at] + 100 * x; }"


def outcome(engine, body: str, size: tuple[int, int] = SIZE, total: int = 1) -> np.ndarray:
    """What the work-items of groups along x leave, by group, y and x."""
    args = [Buffer(np.zeros(total * 128, np.int32)), Scalar(np.int32(9))]
    result = engine.run(HEAD + body + TAIL, "k", (size[0] * total, size[1]), size, args)
    assert not result.findings
    return result.outputs[0].reshape(total, 4, 32)


def guards(body: str) -> list[ActiveItems | None]:
    """The guard of each region but the first."""
    kernel = compile_source(HEAD + body + TAIL, "", target=FrontEndTarget()).kernels["k"]
    plan = RegionPlan(Graph(kernel, Scopes()))
    return [find_active_items(plan, region) for region in plan.regions[1:]]


def expected(rule: Rule, yes: int = 7, no: int = 1) -> np.ndarray:
    return np.array([[[yes if rule(x, y) else no for x in range(32)] for y in range(4)]]) + 100


@pytest.mark.parametrize("name", GUARDED)
def test_a_guard_is_seen_and_keeps_what_it_lets_through(engine, name):
    condition, guard, rule = GUARDED[name]
    body = f"if ({condition}) t[at] = 7;"
    assert guard is None or guard in guards(body)
    np.testing.assert_array_equal(outcome(engine, body), expected(rule))


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_guard_lets_everybody_through(engine, name):
    condition, rule = OTHERS[name]
    np.testing.assert_array_equal(outcome(engine, f"if ({condition}) t[at] = 7;"), expected(rule))


BODIES: dict[str, tuple[str, Rule]] = {  # more than a store behind a guard; where 7 is left
    "something on the other way": ("if (l < 5) t[at] = 7; else t[at] = 2;", lambda x, y: x < 5),
    "something behind both ways": ("if (l < 5) t[at] = 2; t[at] += 6;", lambda x, y: x >= 5),
    "something before": ("t[at] = 7; if (l < 5) t[at] = 1;", lambda x, y: x >= 5),
    "a loop on the other way": ("if (l < 5) t[at] = 7; else for (int j = 0; j < 9; ++j) t[at] = j - 7;", lambda x, y: x < 5),
    "a store behind both ways": ("if (l < 5) t[at] = 2; t[at] = 7;", lambda x, y: True),
    "a branch on the other way": ("if (l < 5) t[at] = 1; else if (m != 0) ; else t[at] = 7;", lambda x, y: x >= 5 and y == 0),
    "choice": ("int p = l < 5, q = m < 2; if (p ? q : 0) t[at] = 7;", lambda x, y: x < 5 and y < 2),
    "choice for the others": ("int p = l < 5, q = m < 2; if (p ? q : 1) t[at] = 7;", lambda x, y: x >= 5 or y < 2),
    "guard in a guard": ("if (l < 20) { if (l > 10) t[at] = 7; }", lambda x, y: 10 < x < 20),
    "one guard after another": ("if (l < 5) t[at] = 1; if (l < 20) t[at] = 7;", lambda x, y: x < 20),
    "a barrier between guards": (
        "if (l < 5) t[at] = 1; barrier(CLK_LOCAL_MEM_FENCE); if (l < 20) t[at] = 7;", lambda x, y: x < 20,
    ),
    "a step that counts down": (
        "for (int s = 16; s > 0; s >>= 1) { if (l < s) t[at] = 7; barrier(CLK_LOCAL_MEM_FENCE); }", lambda x, y: x < 16,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies(engine, name):
    body, rule = BODIES[name]
    found = outcome(engine, body)[0] - 100
    np.testing.assert_array_equal(found == 7, expected(rule, True, False)[0] - 100 == 1)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("if (l < 5) x = 3;", lambda x, y: 3 if x < 5 else 1),
        ("x = l < 5 ? 4 : m; if (l < 5) t[at] = 1;", lambda x, y: 4 if x < 5 else y),
    ],
)
def test_what_lives_on_is_computed_by_everybody(engine, body, rule):
    wanted = np.array([[[1 + 100 * rule(x, y) for x in range(32)] for y in range(4)]])
    np.testing.assert_array_equal(outcome(engine, body), wanted)


def test_a_guard_does_not_hide_that_the_others_left(engine):
    args = [Buffer(np.zeros(128, np.int32)), Scalar(np.int32(9))]
    result = engine.run(HEAD + "if (l < 5) t[at] = 7; else return;" + TAIL, "k", SIZE, SIZE, args)
    assert result.kinds() == ["divergent-barrier"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("int s = 5 << l * 2; if (l < 5) t[at] = s;", "overwide-shift"),
        ("int s = 9 / (l - 20); if (l < 5) t[at] = s;", "division-by-zero"),
    ],
)
def test_a_guard_does_not_hide_what_the_others_compute(engine, body, kind):
    """The work-items that the guard leaves out have no effect, but something to report."""
    args = [Buffer(np.zeros(128, np.int32)), Scalar(np.int32(9))]
    (found,) = engine.run(HEAD + body + TAIL, "k", SIZE, SIZE, args).findings
    assert found.kind.label == kind
    assert found.work_item.local_id[0] > 5
    assert not engine.run(HEAD + body.replace("l * 2", "(l & 7)").replace("20", "40") + TAIL, "k", SIZE, SIZE, args).findings


def test_private_variables_are_zero_for_everybody(engine):
    """The first region may begin with a guard; a second group finds what the first left behind."""
    source = """__kernel void k(__global int *r) { int l = get_local_id(0), p[4]; __local int t[32];
      if (l < 5) t[l] = 1;
      barrier(CLK_LOCAL_MEM_FENCE);
      r[get_global_id(0)] = p[l & 3]; p[l & 3] = 9; r[(l ^ 1) + 64] = p[l & 3]; }"""
    found = engine.run(source, "k", (64,), (32,), [Buffer(np.ones(96, np.int32))], threads=1).outputs[0]
    assert not found[:64].any()
    assert (found[64:] == 9).all()


def test_groups_at_the_edge_are_smaller_than_the_guard(engine):
    args = [Buffer(np.zeros(256, np.int32)), Scalar(np.int32(9))]
    result = engine.run(HEAD + "if (l < 20) t[at] = 7;" + TAIL, "k", (44, 4), SIZE, args)
    assert not result.findings
    groups = result.outputs[0].reshape(2, 4, 32)
    np.testing.assert_array_equal(groups[0], expected(lambda x, y: x < 20)[0])
    assert (groups[1, :, :12] == 107).all()
    assert not groups[1, :, 12:].any()


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("(uchar)get_local_id(0) < 5", lambda x: x % 256 < 5),
        ("(char)get_local_id(0) < 5", lambda x: x % 256 < 5 or x % 256 > 127),
        ("(char)get_local_id(0) <= 4", lambda x: x % 256 < 5 or x % 256 > 127),
        ("convert_uchar(get_local_id(0)) == 3", lambda x: x % 256 == 3),
    ],
)
def test_a_guard_on_a_byte_of_the_id_is_none(engine, condition, rule):
    """Ids from 256 on, or from 128 on as signed bytes, come back to the small numbers."""
    source = f"""__kernel void k(__global int *r) {{
      int l = get_local_id(0); __local int t[320]; t[l] = 1; barrier(CLK_LOCAL_MEM_FENCE);
      if ({condition}) t[l] = 7;
      barrier(CLK_LOCAL_MEM_FENCE); r[l] = t[l]; }}"""
    found = engine.run(source, "k", (320,), (320,), [Buffer(np.zeros(320, np.int32))]).outputs[0]
    np.testing.assert_array_equal(found, [7 if rule(x) else 1 for x in range(320)])
