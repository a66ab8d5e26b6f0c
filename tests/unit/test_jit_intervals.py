"""Proofs about integers must hold: what is called exact never wraps, and what never ends is never called short."""

from __future__ import annotations

import pytest

from adreno_sim.clc import ir
from adreno_sim.clc.program import FrontEndTarget, compile_source
from adreno_sim.jit.barriers import Scopes
from adreno_sim.jit.cfg import Graph
from adreno_sim.jit.intervals import Grid, Intervals
from adreno_sim.jit.regions import RegionPlan

HEAD = "__kernel void k(__global int* a, int n) { int l = get_local_id(0), g = get_group_id(0), x = get_global_id(0); "


def analysed(body: str, groups: int | None = 1024) -> tuple[RegionPlan, Intervals]:
    module = compile_source(HEAD + body + " }", "", target=FrontEndTarget())
    plan = RegionPlan(Graph(module.kernels["k"], Scopes()))
    grid = Grid((16, 1, 1), (groups, 1, 1) if groups else None)
    return plan, Intervals(plan.regions[0].order, grid)


def stored(plan: RegionPlan) -> ir.Value:
    """The value of the only store to global memory."""
    return next(i.operands[0] for s in plan.regions[0].order for i in s.instrs if i.op == "store")


@pytest.mark.parametrize(
    ("expression", "interval"),
    [
        ("l * 4 + 3", (3, 63)),
        ("g * 16 + l", (0, 16383)),
        ("x - 1", (-1, 16382)),
        ("(x % 7) * 100", (0, 600)),
        ("x / 13 + (l & 3)", (0, 1263)),
        ("(l << 2) | 1", (0, 63)),
        ("l < 5 ? l : 1000", (0, 1000)),
        ("g * 4000000", (-(2**31), 2**31 - 1)),
        ("n + 1", (-(2**31), 2**31 - 1)),
        ("-l / 2", (-7, 0)),
        ("(l - 8) % 5", (-4, 4)),
        ("(l - 8) >> 1", (-4, 3)),
    ],
)
def test_interval_of_an_expression(expression, interval):
    plan, intervals = analysed(f"a[0] = {expression};")
    value = stored(plan)
    assert intervals.of(value) == interval
    if isinstance(value, ir.Instr) and value.op in ("add", "sub", "mul"):
        assert intervals.exact(value) == (interval != (-(2**31), 2**31 - 1))


def test_group_ids_are_unbounded_without_a_grid():
    plan, intervals = analysed("a[0] = g + 1;", groups=None)
    assert not intervals.exact(stored(plan))  # type: ignore[arg-type]


def test_counters_are_bounded_by_their_test():
    plan, intervals = analysed("for (int i = 0; i < 10; ++i) for (int j = 20; j > i; j -= 3) a[0] = i * 100 + j;")
    assert intervals.of(stored(plan)) == (-2, 1020)
    plan, intervals = analysed("for (int i = 0; i < n; ++i) a[0] = i;")
    step = next(i for s in plan.regions[0].order for i in s.instrs if i.op == "add" and i.type == ir.Int(32))
    assert intervals.of(stored(plan)) == (0, 2**31 - 1) and intervals.of(step) == (1, 2**31 - 1) and intervals.exact(step)


def test_a_counter_that_could_wrap_proves_nothing():
    plan, intervals = analysed("for (int i = 0; i < n; i += 3) a[0] = i + 1;")
    assert not intervals.exact(stored(plan))  # type: ignore[arg-type]
    plan, intervals = analysed("int i = 0; do { i += n; a[0] = i + 1; } while (i < 10);")
    assert not intervals.exact(stored(plan))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loop", "polled"),
    [
        ("for (int i = 0; i < 100; ++i) a[i] = i;", 0),
        ("for (int i = 100; i > 0; i -= 7) a[i] = i;", 0),
        ("for (int i = 0; i < 1000; ++i) for (int j = 0; j < 1000; ++j) a[i] = j;", 0),
        ("for (int i = 0; i < 10000; ++i) for (int j = 0; j < 10000; ++j) a[i] = j;", 1),
        ("for (int i = 0; i < n; ++i) a[i] = i;", 1),
        ("for (uint i = 0; i < 0xfffffff0u; i += 16) a[i] = i;", 1),
        ("for (int i = 0; i != 9; i += 2) a[i] = i;", 1),
        ("for (int i = 0; i < 10; ) { a[i] = i; if (a[n]) ++i; }", 2),
        ("while (a[0]) ;", 1),
        ("for (int i = 0; i < n; ++i) for (int j = 0; j < 100; ++j) a[i] = j;", 1),
    ],
)
def test_loops_that_are_proven_short_are_not_watched(loop, polled):
    plan, _ = analysed(loop)
    assert len(plan.regions[0].polled) == polled
