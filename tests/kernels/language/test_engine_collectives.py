# ruff: noqa: E501 (kernel sources read better unbroken)
"""Sub-group and work-group functions, checked against plain Python over the lanes."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Scalar

WAVE = 8


def run(engine, body: str, count: int, group: int, type: str = "int", results: int = 1, **options):
    """Run `body` (assigning r[...]) for work-items with value v; the results by work-item."""
    dtype = {"int": np.int32, "uint": np.uint32, "float": np.float32}[type]
    source = f"""#pragma OPENCL EXTENSION cl_khr_subgroups : enable
    __kernel void k(__global const {type}* a, __global {type}* r, int n) {{ size_t i = get_global_id(0); {type} v = a[i]; r += i * {results}; {body} }}"""
    a = np.random.default_rng(3).integers(-50, 50, count).astype(dtype)
    out = engine.run(
        source,
        "k",
        [count],
        [group],
        [Buffer(a), Buffer(np.zeros(count * results, dtype)), Scalar(np.int32(5))],
        wave_size=WAVE,
        **options,
    )
    return a, out.outputs[1].reshape(count, results), out


def waves(a: np.ndarray, group: int, size: int) -> list[np.ndarray]:
    """The values of each sub-group (or group, with size = group)."""
    return [g[s : s + size] for g in np.split(a, range(group, len(a), group)) for s in range(0, len(g), size)]


@pytest.mark.each_value
@pytest.mark.parametrize("scope", ["sub_group", "work_group"])
@pytest.mark.parametrize("type", ["int", "uint", "float"])
@pytest.mark.parametrize("group", [16, 12])
def test_reductions_and_scans(engine, scope, type, group):
    names = [f"{scope}_{how}_{what}" for how in ("reduce", "scan_inclusive", "scan_exclusive") for what in ("add", "min", "max")]
    body = " ".join(f"r[{n}] = {name}(v);" for n, name in enumerate(names))
    a, out, result = run(engine, body, 48, group, type, 9)
    assert not result.findings
    size = WAVE if scope == "sub_group" else group
    limits = {"int": (2**31 - 1, -(2**31)), "uint": (2**32 - 1, 0), "float": (np.inf, -np.inf)}[type]
    start = [0, *limits]
    at = 0
    for wave in waves(a, group, size):
        for lane in range(len(wave)):
            with np.errstate(over="ignore"):
                whole = [wave.sum(dtype=a.dtype), wave.min(), wave.max()]
                here = wave[: lane + 1]
                inclusive = [here.sum(dtype=a.dtype), here.min(), here.max()]
                before = wave[:lane]
                single_writer = [before.sum(dtype=a.dtype), before.min(), before.max()] if lane else start
            assert out[at].tolist() == [*whole, *inclusive, *single_writer]
            at += 1


def test_any_all_broadcast_and_queries(engine):
    body = """r[0] = sub_group_any(v > 40); r[1] = sub_group_all(v > -51); r[2] = sub_group_broadcast(v, 3); r[3] = work_group_broadcast(v, 5);
      r[4] = work_group_any(v == 1000); r[5] = work_group_all(v < 1000); r[6] = get_sub_group_size(); r[7] = get_sub_group_id();
      r[8] = get_sub_group_local_id(); r[9] = get_num_sub_groups(); r[10] = get_max_sub_group_size();"""
    a, out, result = run(engine, body, 24, 12, results=11)
    assert not result.findings
    for i in range(24):
        group, local = a[i // 12 * 12 :][:12], i % 12
        wave = group[local // WAVE * WAVE :][:WAVE]
        want = [(wave > 40).any(), 1, wave[3], group[5], 0, 1, len(wave), local // WAVE, local % WAVE, 2, WAVE]
        assert out[i].tolist() == [int(v) for v in want]


def test_collectives_in_a_uniform_loop_with_barriers(engine):
    body = """__local int s[16]; int l = get_local_id(0);
      for (int j = 0; j < n; j++) { s[l] = sub_group_reduce_add(v); barrier(CLK_LOCAL_MEM_FENCE); v = s[15 - l] + j; barrier(CLK_LOCAL_MEM_FENCE); }
      r[0] = v;"""
    a, out, result = run(engine, body, 32, 16)
    for g in range(2):
        v = a[g * 16 :][:16].astype(np.int64)
        for j in range(5):
            sums = np.repeat([v[:8].sum(), v[8:].sum()], 8)
            v = sums[::-1] + j
        assert out[g * 16 : g * 16 + 16, 0].tolist() == v.astype(np.int32).tolist()
    assert not result.findings


def test_sub_groups_may_take_different_paths_but_not_within_one(engine):
    apart = "if (get_sub_group_id() == 1) v = sub_group_reduce_add(v); r[0] = v;"
    a, out, result = run(engine, apart, 16, 16)
    assert not result.findings
    assert out[8:, 0].tolist() == [int(a[8:].sum())] * 8
    assert out[:8, 0].tolist() == a[:8].tolist()
    within = "if (get_sub_group_local_id() < 3) v = sub_group_reduce_add(v); r[0] = v;"
    assert run(engine, within, 16, 16)[2].kinds() == ["divergent-barrier"]


def test_agrees_with_intel(engine, intel):
    source = """#pragma OPENCL EXTENSION cl_khr_subgroups : enable
    __kernel void k(__global const int* a, __global int* r) { size_t i = get_global_id(0), n = get_global_size(0); int v = a[i];
      r[i] = work_group_scan_inclusive_add(v); r[n+i] = work_group_reduce_max(v); r[2*n+i] = work_group_broadcast(v, 7); }"""
    args = [Buffer(np.random.default_rng(1).integers(-99, 99, 64).astype(np.int32)), Buffer(np.zeros(192, np.int32))]
    ours = engine.run(source, "k", [64], [16], args)
    np.testing.assert_array_equal(ours.outputs[1], intel.run(source, "-cl-std=CL2.0", "k", [64], [16], args)[1])
