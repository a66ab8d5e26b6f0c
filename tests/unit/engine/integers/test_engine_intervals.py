"""Proofs about integers must hold: what is called exact never wraps, and what never ends is never called short."""

from __future__ import annotations

import itertools

import pytest

from adreno_sim.engine.analysis.intervals import Grid, Intervals
from adreno_sim.engine.analysis.loop_bounds import _iterations, needs_no_watchdog
from adreno_sim.engine.analysis.parallel_regions import RegionPlan
from adreno_sim.engine.analysis.segments import Graph
from adreno_sim.engine.emit.sync_points import Scopes
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.induction_variables import signed

ANY = (-(2**31), 2**31 - 1)
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
        ("(l << 2) | 1", (1, 63)),
        ("l < 5 ? l : 1000", (0, 1000)),
        ("g * 4000000", (-(2**31), 2**31 - 1)),
        ("n + 1", (-(2**31), 2**31 - 1)),
        ("-l / 2", (-7, 0)),
        ("(l - 8) % 5", (-4, 4)),
        ("(l - 8) >> 1", (-4, 3)),
        ("l - g", (-1023, 15)),
        ("(l - 8) * (g - 512)", (-4088, 4096)),
        ("(l - 8) / ((l & 3) + 2)", (-4, 3)),
        ("(l + 8) / ((l & 3) + 2)", (1, 11)),
        ("(l - 24) / ((l & 3) + 2)", (-12, -1)),
        ("(l - 24) % 5", (-4, 0)),
        ("(l - 3) % 100", (-3, 12)),
        ("(l - 8) % ((l & 3) + 4)", (-6, 6)),
        ("l / (g % 3)", ANY),
        ("l % (g % 3)", ANY),
        ("l / (g - 1)", ANY),
        ("(uint)l / 3u", (0, 5)),
        ("(uint)(l - 1) / 3u", (0, 1431655765)),
        ("(uint)l / (uint)(g - 1)", ANY),
        ("(uint)(l - 1) % 3u", (0, 2)),
        ("(l - 8) & 6", (0, 6)),
        ("l & (g - 1)", (0, 15)),
        ("(l - 1) & (g - 1)", (-1, 1022)),
        ("l | g", (0, 1023)),
        ("g | l", (0, 1023)),
        ("l | (g - 1)", (-1, 1023)),
        ("(l - 1) | g", (-1, 1023)),
        ("(l - 1) ^ g", (-1024, 1023)),
        ("(l - 8) >> (l & 1)", (-8, 7)),
        ("(l - 8) >> ((l & 1) + 1)", (-8, 7)),
        ("l >> (l - 1)", (0, 15)),
        ("(uint)l >> 1", (0, 7)),
        ("(uint)(l - 1) >> 1", (0, 2**31 - 1)),
        ("l << (l & 3)", (0, 120)),
        ("l << (l - 1)", ANY),
        ("(l - 8) << 2", (-32, 28)),
        ("(l - 8) << 28", (-(2**31), 7 << 28)),
        ("(l - 9) << 28", ANY),
        ("l * 0x10000000", ANY),
        ("l + 0x7ffffff0", (2**31 - 16, 2**31 - 1)),
        ("l + 0x7ffffff1", ANY),
        ("-2147483633 - l", (-(2**31), -2147483633)),
        ("-2147483634 - l", ANY),
        ("l < 5 ? l - 20 : l + 3", (-20, 18)),
        ("(short)(l * 1000)", (0, 15000)),
        ("(char)(l * 100)", (-128, 127)),
        ("(uchar)(l * 100)", (0, 255)),
        ("(uchar)(l * 8)", (0, 120)),
        ("convert_int(get_local_id(0)) + 1", (1, 16)),
        ("convert_int((char)(l - 8))", (-8, 7)),
        ("(int)get_local_size(0)", (1, 16)),
        ("(int)get_num_groups(0)", (1, 1024)),
        ("(int)get_global_size(0)", (1, 16384)),
        ("(int)get_local_id(l)", ANY),
        ("a[l]", ANY),
        ("(l + 8) % 5", (0, 4)),
        ("l < 5 ? l : g", (0, 1023)),
        ("l < 5 ? g : l", (0, 1023)),
        ("(uchar)(l - 1)", (0, 255)),
        ("convert_int((uchar)(l - 1))", (0, 255)),
        ("(int)get_local_id(3)", (0, 1)),
        ("(int)get_group_id(2)", (0, 0)),
        ("(l > 3) + 1", (1, 2)),
        ("min(l, n)", (-(2**31), 15)),
        ("min(l, 5) + max(g, 7)", (7, 1028)),
        ("clamp(n, 2, l + 3)", (2, 18)),
        ("(int)abs(l - 9)", (0, 9)),
        ("(int)min((uint)(l - 1), 5u)", (0, 5)),
        ("mul24(l - 8, g)", (-8184, 7161)),
        ("mad24(l, 3, g)", (0, 1068)),
        ("mul24(l, n)", ANY),
    ],
)
def test_interval_of_an_expression(expression, interval):
    plan, intervals = analysed(f"a[0] = {expression};")
    value = stored(plan)
    assert intervals.of(value) == interval
    if isinstance(value, ir.Instr) and value.op in ("add", "sub", "mul"):
        assert intervals.is_nsw(value) == (interval != (-(2**31), 2**31 - 1))


def test_group_ids_are_unbounded_without_a_grid():
    plan, intervals = analysed("a[0] = g + 1;", groups=None)
    assert not intervals.is_nsw(stored(plan))  # type: ignore[arg-type]


def test_counters_are_bounded_by_their_test():
    plan, intervals = analysed("for (int i = 0; i < 10; ++i) for (int j = 20; j > i; j -= 3) a[0] = i * 100 + j;")
    assert intervals.of(stored(plan)) == (-2, 1020)
    plan, intervals = analysed("for (int i = 0; i < n; ++i) a[0] = i;")
    step = next(i for s in plan.regions[0].order for i in s.instrs if i.op == "add" and i.type == ir.Int(32))
    assert intervals.of(stored(plan)) == (0, 2**31 - 1)
    assert intervals.of(step) == (1, 2**31 - 1)
    assert intervals.is_nsw(step)


@pytest.mark.parametrize(
    ("loop", "interval"),
    [
        ("for (int i = 0; i <= 10; ++i)", (0, 11)),
        ("for (int i = 0; i < 10; i += 4)", (0, 13)),
        ("for (int i = 0; 10 > i; ++i)", ANY),
        ("for (int i = 20; i > 3; i -= 3)", (1, 20)),
        ("for (int i = 20; i >= 3; i -= 3)", (0, 20)),
        ("for (int i = 0; i < 10; --i)", ANY),
        ("for (int i = l; i < g; ++i)", (0, 1023)),
        ("for (int i = l + 9; i < 20; ++i)", (9, 24)),
        ("for (int i = 40 - l; i > 30; --i)", (25, 40)),
        ("for (int i = l; i < n; i += 1)", (0, 2**31 - 1)),
        ("for (int i = l; i <= n; i += 1)", ANY),
        ("for (int i = 2147483640; i <= 2147483646; i += 4)", ANY),
        ("for (int i = -2147483640; i >= -2147483646; i -= 4)", ANY),
        ("for (uint i = 0; i < 10u; ++i)", (0, 10)),
        ("for (uint i = l; i < (uint)n; ++i)", ANY),
        ("for (uint i = l - 1; i < 10u; ++i)", ANY),
        ("for (uint i = 0; i < (uint)(l - 1); ++i)", ANY),
        ("for (uint i = 20; i >= 2u; i -= 3)", ANY),
        ("for (uint i = 20; i > 3u; i -= 3)", (1, 20)),
        ("for (uint i = 20; i >= 1u; i -= 3)", ANY),
        ("for (uint i = 20; i >= 3u; i -= 3)", (0, 20)),
        ("for (int i = 0; i < n; n = a[i], ++i)", ANY),
        ("for (int i = 0; i != 10; i += 3)", ANY),
        ("for (int i = 5; i > 3; ++i)", ANY),
        ("int i = 0; for (;; ++i) { if (i >= 10) break; STORE }", (0, 10)),
        ("int i = 20; for (;; ++i) { if (i < 10) break; STORE }", ANY),
        ("int i = 20; for (;; --i) { if (i < 10) break; STORE }", (9, 20)),
        ("int i = 0; for (;; ++i) { if (i < 10) g += l; else g -= l; STORE if (a[1]) break; }", ANY),
        ("int i = 0; while (++i < 10) { STORE }", ANY),
        ("int i = 0; for (;; ++i) { if (l < 10) break; STORE }", ANY),
    ],
)
def test_counters(loop, interval):
    """What is stored is the counter where the loop goes on: at most its test and its step away from where it stops."""
    plan, intervals = analysed(loop.replace("STORE", "a[0] = i;") if "STORE" in loop else f"{loop} a[0] = i;")
    assert intervals.of(stored(plan)) == interval


def steps_of(start: int, step: int, bound: int, stays: str, bits: int) -> int | None:
    """Rounds of a loop over numbers of `bits`; None if it never ends."""
    compare = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "ne": int.__ne__, "eq": int.__eq__}
    value, rounds = start, 0
    while rounds <= 1 << bits:
        a, b = (v % (1 << bits) if stays[0] == "u" else signed(v, bits) for v in (value, bound))
        if not compare[stays[-2:]](a, b):
            return rounds
        value, rounds = value + step, rounds + 1
    return None


@pytest.mark.parametrize("stays", ["slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "ne", "eq"])
def test_no_loop_has_more_rounds_than_are_claimed(stays):
    """All loops over numbers of five bits."""
    claimed = 0
    for start, step, bound in itertools.product(range(32), range(-16, 16), range(32)):
        most = _iterations(start, step, bound, stays, 5)
        if most is not None:
            rounds = steps_of(start, step, bound, stays, 5)
            assert rounds is not None, (start, step, bound)
            assert rounds <= most, (start, step, bound)
            claimed += 1
    assert bool(claimed) == (stays != "eq")


def test_a_counter_that_could_wrap_proves_nothing():
    plan, intervals = analysed("for (int i = 0; i < n; i += 3) a[0] = i + 1;")
    assert not intervals.is_nsw(stored(plan))  # type: ignore[arg-type]
    plan, intervals = analysed("int i = 0; do { i += n; a[0] = i + 1; } while (i < 10);")
    assert not intervals.is_nsw(stored(plan))  # type: ignore[arg-type]


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
        ("for (int i = 0; i <= 100; ++i) a[i] = i;", 0),
        ("for (uint i = 10; i >= 0u; --i) a[i] = i;", 1),
        ("for (int i = 0; i < 100; --i) a[i & 7] = i;", 1),
        ("for (int i = 0; i != 9; i += 3) a[i] = i;", 0),
        ("for (int i = 0; i != 9; i -= 3) a[i & 7] = i;", 1),
        ("int i = 0; do a[i] = i; while (++i < 100);", 0),
        ("int i = 0; do a[i] = i; while (++i > 0);", 1),
        ("int i = 0; do { if (a[i]) a[i] = 1; } while (++i < 100);", 0),
        ("int i = 0; for (;;) { if (a[i]) continue; ++i; if (i >= 100) break; }", 2),
        ("int i = 0; for (;; ++i) { if (a[i]) { if (i >= 100) break; } a[i] = 1; }", 1),
        ("int i = 0; for (;; ++i) { if (i < 100) a[i] = 1; else a[0] = 2; if (a[1]) break; }", 1),
        ("for (int i = 0; i < 100; i |= 1) a[i] = i;", 1),
        ("for (int i = 0; i < 100; i %= 50) a[i] = i;", 1),
        ("int i = 0; while (i < 100) { if (a[i]) { ++i; continue; } a[i] = 1; i = 0; }", 2),
        ("int i = 200; for (;; ++i) { if (i < 100) break; a[i] = 1; }", 1),
        ("int i = 0; for (;; ++i) { if (i >= 100) break; a[i] = 1; }", 0),
        ("int i = 0, j = 0; for (;; ++i) { if (j < 100) a[i] = 1; else break; j = a[i]; }", 1),
        ("for (int i = 0; i < 3000; ++i) for (int j = 0; j < 1400; ++j) a[i] = j;", 1),
        ("for (int i = 0; i < 3000; ++i) { for (int j = 0; j < 1300; ++j) a[i] = j; }", 0),
        ("for (int i = 0; i < 1000000; ++i) for (int j = 0; j < 10; ++j) a[i] = j;", 1),
        ("for (int i = 0; i < 5000000; ++i) a[i] = i;", 1),
        ("for (int i = 0; ; ) { if (a[i]) { if (i >= 100) break; ++i; } }", 2),
        ("int m = 10; for (int i = 0; i < m; ++i) if (a[i]) m = 20;", 1),
        ("for (int i = 0; i < 100; i += a[i] & 1) a[i] = i;", 1),
        ("for (int i = 0; i < 100; ++i) if (a[i]) i = 0;", 1),
        ("for (int i = a[0]; i < 100; ++i) a[1] = i;", 1),
        ("int m = 0; for (int i = 0; m < 100; ++i) m = a[i];", 1),
        ("for (int i = 0; i < 100; ++i) while (a[i]) ;", 1),
        ("for (int s = 128; s > 0; s >>= 1) a[s] = 1;", 0),
        ("for (uint s = n; s; s >>= 3) a[s] = 1;", 0),
        ("for (int s = n; s > 0; s >>= 1) a[s] = 1;", 0),
        ("for (int s = n; s >= 1; s /= 2) a[s] = 1;", 0),
        ("for (int s = n; s != 0; s /= 3) a[s] = 1;", 0),
        ("int s = n; do a[s] = 1; while ((s >>= 1) > 0);", 0),
        ("for (int s = n; s != 0; s >>= 1) a[0] = s;", 1),
        ("for (int s = n; s < 5; s >>= 1) a[0] = s;", 1),
        ("for (int s = n; s >= 0; s >>= 1) a[s] = 1;", 1),
        ("for (int s = n; s > -1; s /= 2) a[s] = 1;", 1),
        ("for (int s = n; s != 1; s /= -2) a[0] = s;", 1),
        ("for (int s = n; s > 0; s >>= a[0]) a[s] = 1;", 1),
        ("for (int s = n; s > 0; s = 128 >> s) a[s] = 1;", 1),
        ("for (uint s = n; s > 0; s /= 1u) a[s] = 1;", 1),
        ("for (int i = l; i < 1000; i += 256) a[i] = i;", 0),
        ("for (int i = max(n, 0); i < min(n, 500); ++i) a[i] = i;", 0),
        ("for (int i = max(min(n, 7), 0); i < min(max(n, 2), 500); ++i) a[i] = i;", 0),
        ("for (int i = min(n, 100); i > max(n, 0); --i) a[i] = i;", 0),
        ("for (int i = n; i < 1000; i += 256) a[0] = i;", 1),
        ("for (int i = min(n, 0); i < 1000; ++i) a[0] = i;", 1),
        ("for (int i = max(n, 0); i < max(n, 5); ++i) a[i] = i;", 1),
        ("for (int i = max(n, 0); i > min(n, 5); --i) a[i] = i;", 1),
        ("for (uint i = max((uint)n, 0u); i < min((uint)n, 0xfffffff0u); ++i) a[i] = i;", 1),
        ("int i = max(n, 0); do a[i & 7] = i; while ((i += 256) < 1000);", 1),
        ("for (int i = 0; i < 0x7fffffff - l; ++i) a[i] = i;", 1),
        ("for (int i = 0; i < (n & 15); ++i) a[i] = i;", 0),
        ("for (int i = 0; i < (n | 15); ++i) a[i] = i;", 1),
        ("for (int i = n % 100; i < (uchar)a[i]; ++i) a[1] = i;", 0),
        ("for (uint i = 0; i < (uint)n % 100u; ++i) a[i] = i;", 0),
        ("for (uint i = 0; i < ((uint)n >> 20); ++i) a[i] = i;", 0),
        ("for (int i = n >> 8; i != (n & 15); ++i) a[0] = i;", 1),
    ],
)
def test_loops_that_are_proven_short_are_not_watched(loop, polled):
    plan, _ = analysed(loop)
    assert len(plan.regions[0].polled) == polled


@pytest.mark.parametrize(
    ("body", "short"),
    [
        ("a[l] = 1; barrier(1); a[15 - l] += 1;", True),
        ("for (int s = 8; s > 0; s >>= 1) { if (l < s) a[l] += a[l + s]; barrier(1); }", True),
        ("for (int i = 0; i < 100; ++i) { barrier(1); for (int j = 0; j < 100; ++j) { a[j] = i; barrier(1); } }", True),
        ("for (int i = 0; i < 10000; ++i) { barrier(1); for (int j = 0; j < 10000; ++j) { a[j] = i; barrier(1); } }", False),
        ("for (int i = 0; i < n; ++i) { a[i] = i; barrier(1); }", False),
        ("for (;;) barrier(1);", False),
        ("barrier(1); while (a[0]) ;", False),
    ],
)
def test_loops_in_which_work_items_meet_may_be_short(body, short):
    module = compile_source(HEAD + body + " }", "", target=FrontEndTarget())
    assert needs_no_watchdog(module.kernels["k"]) == short
