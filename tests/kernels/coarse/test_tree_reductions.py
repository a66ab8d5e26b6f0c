"""Work-items of a tree reduction that do the work of several: the same bits as one work-item after the other."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim.findings import Kind

from .coarse_runs import Run, run_both

GROUPS = 40
HEAD = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define B barrier(CLK_LOCAL_MEM_FENCE);
kernel void k(global const T *restrict in, global T *restrict out, int n) {
  local T sums[N]; local T whole[1]; int l = get_local_id(0), g = get_group_id(0);
"""
FIRST = "  T s = in[(g * 3 + l * 7) % 512]; B sums[l] = s; B\n"
LAST = "  if (l == 0) whole[0] = sums[0]; B if (l < 1) out[g] = whole[0];\n"
TYPES = {"float": np.float32, "half": np.float16, "int": np.int32, "uchar": np.uint8, "long": np.int64}


def steps(items: int, combine: str = "{own} + {other}", own: str = "sums[l]") -> str:
    """A tree over `items` work-items, a barrier behind each step."""
    bounds = [items >> step for step in range(1, items.bit_length())]
    taken = (f"  if (l < {h}) {own} = {combine.format(own='sums[l]', other=f'sums[l + {h}]')}; B\n" for h in bounds)
    return "".join(taken)


def run_tree(body: str, items: int = 64, type: str = "float", groups: int = GROUPS, data: np.ndarray | None = None) -> Run:
    if data is None:
        data = (np.random.default_rng(5).normal(0, 9, 512) ** 2).astype(TYPES[type])
    out = np.zeros(2 * groups * items, data.dtype)
    args = [data, out, np.int32(2)]
    ran, _ = run_both(
        HEAD + body + "}", (groups * items, 1, 1), (items, 1, 1), args, options=f"-cl-std=CL2.0 -DT={type} -DN={items}"
    )
    return ran


@pytest.mark.each_value
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("items", [8, 16, 64, 256])
def test_sums_keep_the_order_of_the_tree(type, items, wherever_allowed):
    ran = run_tree(FIRST + steps(items) + LAST, items, type)
    sums_in_int = type == "uchar"  # C converts both values to int, and the sum back
    assert ran.copies(items) == (1 if sums_in_int else min(16, items // 4)), ran.code
    assert ran.buffers[1][:GROUPS].any()
    assert not ran.buffers[1][GROUPS:].any()


@pytest.mark.parametrize(
    "combine", ["max({own}, {other})", "fmin({own}, {other})", "{own} * {other}", "{other} + {own}", "fmax({other}, {own})"]
)
def test_other_operations(combine, wherever_allowed):
    data = np.random.default_rng(6).choice(np.array([1.5, -2, 0.25, np.nan, np.inf, -0.0], np.float32), 512)
    assert run_tree(FIRST + steps(64, combine) + LAST, data=data).copies(64) > 1


LOOPS = "  T s = 0; for (int i = 0; i < 5; i++) { if (i * l % 3) s += in[g * 3 + i * 64 + l]; else s -= i; } B sums[l] = s; B\n"
BRANCHES = "  T s = 0; if (l < 37) { T v = 1; if (g < l * 3) v = in[g + l]; s = s + v * in[l]; } B sums[l] = s; B\n"
ARRAYS = "  T a[4]; for (int i = 0; i < 4; i++) a[i] = in[g + l + i]; T s = a[l % 4] * a[3]; B sums[l] = s; B\n"
SIZES = "  T s = in[l] + get_local_size(0) + get_num_groups(0) + get_local_id(1) + get_local_size(1); sums[l] = s; B\n"
IDS = "  T s = in[get_global_id(0) % 512] + get_global_size(0) + get_local_linear_id() * get_global_id(1); sums[l] = s; B\n"
BEHIND = "  if (l == 3) out[g] = sums[0] + s + l + get_local_size(0); if (l < 4) out[N + g * 4 + l] = in[l] * s;\n"
MERGED = {
    "a loop": LOOPS + steps(64) + LAST,
    "branches": BRANCHES + steps(64) + LAST,
    "private arrays": ARRAYS + steps(64) + LAST,
    "sizes": SIZES + steps(64) + LAST,
    "global ids": IDS + steps(64) + LAST,
    "no barrier in front": FIRST.replace("; B sums", "; sums") + steps(64) + LAST,
    "two barriers": FIRST + "B " + steps(64) + LAST,
    "more behind it": FIRST + steps(64) + BEHIND,
    "volatile": "  volatile local T *v = sums;" + FIRST.replace("sums[", "v[") + steps(64, own="v[l]") + LAST,
    "a quotient of an id": FIRST + steps(64) + "  int q = l / 5 + l % 3; if (l == 0) out[g] = sums[0] + q;\n",
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", MERGED)
def test_what_is_merged(name, wherever_allowed):
    assert run_tree(MERGED[name]).copies(64) == 16


TREE = steps(64)
KEPT = {
    "a barrier that some may skip": FIRST + TREE + "  if (n > 5) return; B if (l < 1) out[g] = sums[0];\n",
    "a barrier in a loop": FIRST + TREE + "  for (int i = 0; i < n; i++) { B } if (l < 1) out[g] = sums[0];\n",
    "a value of all work-items behind it": FIRST + TREE + "  out[g * N + l] = sums[0] * s;\n",
    "a value of some that are gone": FIRST + TREE + "  if (l == 40) out[g] = sums[0] * s;\n",
    "another's sum": FIRST + TREE + "  if (l == 0) out[g] = sums[0] + sums[40];\n",
    "a sum at a place that is not known": FIRST + TREE + "  if (l == 0) out[g] = sums[0] + sums[(int)in[0] & 63];\n",
    "a difference": FIRST + steps(64, "{own} - {other}") + LAST,
    "three values": FIRST + steps(64, "{own} + {other} + 1") + LAST,
    "the same value twice": FIRST + steps(64, "{own} + {own}") + LAST,
    "another neighbour": FIRST + TREE.replace("l + 32", "63 - l") + LAST,
    "a step of fewer": FIRST + TREE.replace("l < 32", "l < 31") + LAST,
    "a step of more": FIRST
    + TREE.replace("(l < 32)", "(l <= 32 && l < 40)").replace("sums[l + 32]", "sums[(l + 32) & 63]")
    + LAST,
    "a step at times": FIRST + TREE.replace("if (l < 32)", "if (g % 3) if (l < 32)") + LAST,
    "a step of some": FIRST + TREE.replace("if (l < 32)", "if (l < 32 && in[l] > 3)") + LAST,
    "a step taken twice": FIRST + TREE.replace("if (l < 32)", "for (int i = 0; i < 2; i++) if (l < 32)") + LAST,
    "a step of two sums": FIRST + TREE.replace("  if (l < 32)", "  if (l == 1) whole[0] = s; if (l < 32)") + LAST,
    "some that hand nothing over": FIRST.replace("sums[l] = s;", "sums[l] = 1; if (l < 50) sums[l] = s;") + TREE + LAST,
    "another place": FIRST.replace("sums[l] = s", "sums[63 - l] = s") + TREE + LAST,
    "values handed over before": FIRST.replace("B sums", "B whole[0] = 5; sums") + TREE + LAST,
    "a store in front": FIRST.replace("B sums", "out[(40 + g) * N + l] = s; sums") + TREE + LAST,
    "a tree over part of them": FIRST + steps(32) + LAST,
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", KEPT)
def test_what_is_not_merged(name, wherever_allowed):
    assert run_tree(KEPT[name]).copies(64) <= 1


def test_as_many_steps_as_those_that_are_left_allow(wherever_allowed):
    """Behind the tree sixteen work-items have an effect: four may be one then, and not more."""
    assert run_tree(FIRST + TREE + "  if (l < 16) out[g * 16 + l] = sums[0] * s;\n").copies(64) == 4


def test_what_a_work_item_that_is_gone_would_report(wherever_allowed):
    """Its division by zero, behind the tree, has no effect but the finding."""
    body = "  T s = in[l]; sums[l] = s; B\n" + TREE + "  int q = 10 / (l - 40); if (l == 0) out[g] = sums[0] + q;\n"
    ran = run_tree(body, type="int")
    (finding,) = ran.findings
    assert finding.kind == Kind.DIVISION_BY_ZERO
    assert finding.work_item.local_id == (40, 0, 0)
    assert not run_tree(body.replace("l - 40", "l - 64"), type="int").findings


def test_a_barrier_that_a_work_item_that_is_gone_would_not_reach(wherever_allowed):
    body = FIRST + TREE + "  if (l >= 50) return; B if (l == 0) out[g] = sums[0];\n"
    ran = run_tree(body)
    assert [finding.kind for finding in ran.findings] == [Kind.DIVERGENT_BARRIER]
    assert not run_tree(body.replace("return; B", "return;")).findings


def test_a_merged_work_item_reports_as_itself(wherever_allowed):
    body = "  T s = 100 / (in[0] - l); sums[l] = s; B\n" + TREE + LAST
    data = np.full(512, 70, np.int32)
    right = run_tree(body, type="int", data=data)
    assert right.copies(64) == 16
    assert not right.findings
    data[0] = 45
    (finding,) = run_tree(body, type="int", data=data).findings
    assert finding.work_item.local_id == (45, 0, 0)
    assert finding.count == GROUPS
