# ruff: noqa: E501 (kernel sources read better unbroken)
"""Work-groups: barriers in every position, divergence, local memory, work-item functions, non-uniform groups, watchdog."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Local, Scalar

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.findings import Kind

REDUCE = """__kernel void k(__global const float* a, __global float* r, __local float* s) {
  int l = get_local_id(0), n = get_local_size(0);
  s[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int w = n / 2; w > 0; w >>= 1) {
    if (l < w) s[l] += s[l + w];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) r[get_group_id(0)] = s[0];
}"""

SCAN = """__kernel void k(__global const int* a, __global int* r) {
  __local int s[2][64];
  int l = get_local_id(0), from = 0;
  s[0][l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 64; d *= 2) {
    s[1 - from][l] = l >= d ? s[from][l] + s[from][l - d] : s[from][l];
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  r[get_global_id(0)] = s[from][l];
}"""

MATMUL = """__kernel void k(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float ta[8][8], tb[8][8];
  int x = get_local_id(0), y = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
  float acc[2] = {0, 0};
  for (int t = 0; t < n / 8; t++) {
    ta[y][x] = a[gy * n + t * 8 + x]; tb[y][x] = b[(t * 8 + y) * n + gx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 8; i++) acc[i & 1] += ta[y][i] * tb[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[gy * n + gx] = acc[0] + acc[1];
}"""


def test_reduction_in_a_loop(engine):
    a = np.random.default_rng(1).normal(size=256).astype(np.float32)
    result = engine.run(REDUCE, "k", [256], [64], [Buffer(a), Buffer(np.zeros(4, np.float32)), Local(256)])
    expected = a.reshape(4, 64).copy()
    while expected.shape[1] > 1:
        expected = expected[:, : expected.shape[1] // 2] + expected[:, expected.shape[1] // 2 :]
    np.testing.assert_array_equal(result.outputs[1], expected[:, 0])
    assert not result.findings


def test_scan(engine):
    a = np.arange(128, dtype=np.int32) * 7 % 31
    out = engine.run(SCAN, "k", [128], [64], [Buffer(a), Buffer(np.zeros(128, np.int32))]).outputs[1]
    np.testing.assert_array_equal(out.reshape(2, 64), np.cumsum(a.reshape(2, 64), axis=1))


def test_tiled_matrix_product_with_private_accumulators(engine, judge):
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=(16, 16)).astype(np.float32) for _ in range(2))
    args = [Buffer(a), Buffer(b), Buffer(np.zeros((16, 16), np.float32)), Scalar(np.int32(16))]
    ours = engine.run(MATMUL, "k", [16, 16], [8, 8], args)
    np.testing.assert_array_equal(ours.outputs[2], judge.run(MATMUL, "-cl-std=CL2.0", "k", [16, 16], [8, 8], args)[2])
    assert not ours.findings


def test_barriers_under_uniform_branches_and_in_two_paths(engine):
    source = """__kernel void k(__global int* r, int n, int m) {
      __local int s[8]; int l = get_local_id(0), v = l * 3;
      if (n) { s[l] = v; barrier(CLK_LOCAL_MEM_FENCE); v += s[7 - l]; }
      else { s[7 - l] = v; barrier(CLK_LOCAL_MEM_FENCE); v -= s[l]; }
      for (int i = 0; i < m; i++) { barrier(CLK_LOCAL_MEM_FENCE); s[l] = v; barrier(CLK_LOCAL_MEM_FENCE); if (i == 2) break; v += s[(l + 1) & 7]; }
      r[get_global_id(0)] = v;
    }"""
    for n in (0, 1):
        for m in (0, 1, 5):
            v = [i * 3 for i in range(8)]
            v = [x + v[7 - i] for i, x in enumerate(v)] if n else [x - v[7 - i] for i, x in enumerate(v)]
            for i in range(m):
                if i == 2:
                    break
                v = [v[j] + v[(j + 1) & 7] for j in range(8)]
            out = engine.run(source, "k", [16], [8], [Buffer(np.zeros(16, np.int32)), Scalar(np.int32(n)), Scalar(np.int32(m))])
            assert out.outputs[0].tolist() == v * 2
            assert not out.findings


def test_pointers_and_vectors_live_across_barriers(engine):
    source = """__kernel void k(__global float4* a, __global float4* b, __global float4* r, int n) {
      int l = get_local_id(0); __global float4* p = (l & 1) ? a : b; float4 v = p[l]; float3 w = v.xyz; bool odd = l & 1;
      __private float4 mine[2] = {v, v + 1.0f}; __private float4* q = &mine[n];
      barrier(CLK_GLOBAL_MEM_FENCE);
      r[l] = p[l + 1] + *q + (float4)(w, odd ? 1.0f : 0.0f);
      barrier(CLK_GLOBAL_MEM_FENCE);
      r[l].x += q[0].w;
    }"""
    a, b = (np.random.default_rng(s).integers(0, 9, (5, 4)).astype(np.float32) for s in (1, 2))
    result = engine.run(source, "k", [4], [4], [Buffer(a), Buffer(b), Buffer(np.zeros((4, 4), np.float32)), Scalar(np.int32(1))])
    for item in range(4):
        p = a if item & 1 else b
        want = p[item + 1] + p[item] + 1 + np.array([*p[item, :3], item & 1])
        want[0] += p[item, 3] + 1
        assert result.outputs[2][item].tolist() == want.tolist()
    assert not result.findings


@pytest.mark.parametrize("body", ["if (l < 4) barrier(CLK_LOCAL_MEM_FENCE);", "if (l < 4) return; barrier(CLK_LOCAL_MEM_FENCE);",
                                  "if (l & 1) barrier(CLK_LOCAL_MEM_FENCE); else barrier(CLK_LOCAL_MEM_FENCE);"])  # fmt: skip
def test_divergent_barrier_is_found_and_the_launch_ends(engine, body):
    source = f"__kernel void k(__global int* r) {{ int l = get_local_id(0); r[get_global_id(0)] = 1;\n {body}\n r[get_global_id(0)] = 2; }}"
    result = engine.run(source, "k", [16], [8], [Buffer(np.zeros(16, np.int32))])
    assert result.kinds() == ["divergent-barrier"]
    assert result.findings[0].count == 2
    assert result.findings[0].line == 2
    assert set(result.outputs[0].tolist()) <= {0, 1, 2}


def test_uniform_barrier_counts_differ_between_groups(engine):
    source = """__kernel void k(__global int* r) {
      __local int s; int n = get_group_id(0);
      for (int i = 0; i < n; i++) { if (get_local_id(0) == 0) s = i; barrier(CLK_LOCAL_MEM_FENCE); r[get_global_id(0)] += s; barrier(CLK_LOCAL_MEM_FENCE); }
    }"""
    out = engine.run(source, "k", [32], [8], [Buffer(np.zeros(32, np.int32))])
    assert out.outputs[0].reshape(4, 8).tolist() == [[n * (n - 1) // 2] * 8 for n in range(4)]
    assert not out.findings


IDS = """__kernel void k(__global ulong* r) {
  size_t g = get_global_linear_id(); __global ulong* p = r + g * 20; uint d = get_work_dim();
  for (uint i = 0; i < 3; i++) { p[i] = get_global_id(i); p[3+i] = get_local_id(i); p[6+i] = get_group_id(i); p[9+i] = get_local_size(i); p[12+i] = get_num_groups(i); }
  p[15] = get_global_size(0) * 10000 + get_global_size(1) * 100 + get_global_size(2); p[16] = get_local_linear_id(); p[17] = d;
  p[18] = get_enqueued_local_size(1) + get_global_id(3) + get_local_size(7); p[19] = get_global_offset(1);
}"""


@pytest.mark.parametrize("sizes", [((6, 4, 2), (3, 2, 2)), ((7, 5, 3), (4, 2, 2)), ((5, 1, 1), (8, 1, 1))])
def test_work_item_functions(engine, sizes):
    total, group = sizes
    count = total[0] * total[1] * total[2]
    offset = (0, 3, 0)
    out = engine.run(IDS, "k", total, group, [Buffer(np.zeros((count, 20), np.uint64))], offset=offset).outputs[0]
    for z in range(total[2]):
        for y in range(total[1]):
            for x in range(total[0]):
                g = x + total[0] * (y + total[1] * z)
                ids = (x, y, z)
                groups = [i // s for i, s in zip(ids, group, strict=True)]
                local = [i % s for i, s in zip(ids, group, strict=True)]
                extent = [min(s, t - b * s) for s, t, b in zip(group, total, groups, strict=True)]
                linear = local[0] + extent[0] * (local[1] + extent[1] * local[2])
                want = [x, y + 3, z, *local, *groups, *extent, *(-(-t // s) for t, s in zip(total, group, strict=True))]
                want += [total[0] * 10000 + total[1] * 100 + total[2], linear, 3, group[1] + 1, 3]
                assert out[g].tolist() == want


def test_barriers_in_groups_cut_short(engine):
    source = """__kernel void k(__global int* r) { __local int s[4]; int l = get_local_id(0), n = get_local_size(0);
      s[l] = l; barrier(CLK_LOCAL_MEM_FENCE); r[get_global_id(0)] = s[n - 1 - l]; }"""
    out = engine.run(source, "k", [6], [4], [Buffer(np.zeros(6, np.int32))])
    assert out.outputs[0].tolist() == [3, 2, 1, 0, 1, 0]
    assert not out.findings


@pytest.mark.parametrize(
    "loop",
    ["while (n) r[1] += 1;", "for (int i = 0; i != n + 1; i += n) r[1] += i;", "for (;;) { barrier(CLK_LOCAL_MEM_FENCE); }"],
)
def test_watchdog_stops_an_endless_loop_and_names_it(engine, loop):
    source = f"__kernel void k(volatile __global int* r, int n) {{\n  r[0] = 7;\n  {loop}\n}}"
    result = engine.run(source, "k", [4], [2], [Buffer(np.zeros(2, np.int32)), Scalar(np.int32(2))], timeout=0.3, same=False)
    assert [f.kind for f in result.findings] == [Kind.WATCHDOG]
    assert result.outputs[0][0] == 7
    assert result.findings[0].line == 3


@pytest.mark.parametrize("body", ["r[0] += i;", "r[0] += i; barrier(CLK_LOCAL_MEM_FENCE);"])
def test_watchdog_stops_a_kernel_that_was_quick_before(body):
    device = adreno_sim.open_device("sim:reference", timeout=0.3)
    kernel = device.build(f"kernel void k(volatile global int *r, int n) {{ for (int i = 0; i != n; ++i) {{ {body} }} }}")["k"]
    view = device.view(device.allocate(64), BufferSpec(64, "int32"))
    device.write(view, np.zeros(16, np.int32))
    for _ in range(4):
        assert not device.launch(kernel, (64,), (16,), [view, 1]).findings
    assert [f.kind for f in device.launch(kernel, (64,), (16,), [view, -1]).findings] == [Kind.WATCHDOG]
    assert not device.launch(kernel, (64,), (16,), [view, 1]).findings


def test_a_launch_with_groups_left_when_its_time_is_over_does_not_pass_for_done(engine):
    source = "__kernel void k(__global int* r) {\n  r[get_local_id(0)] = 7;\n}"
    result = engine.run(source, "k", [1 << 40], [64], [Buffer(np.zeros(64, np.int32))], timeout=0.2, same=False)
    assert [(f.kind, f.line) for f in result.findings] == [(Kind.WATCHDOG, 1)]
    assert "not all" in result.findings[0].message


def test_atomics_on_local_and_global_memory(engine):
    source = """__kernel void k(__global int* a, __global uint* u, __global float* f, __global long* w) {
      __local int s; if (get_local_id(0) == 0) s = 0; barrier(CLK_LOCAL_MEM_FENCE);
      int i = get_global_id(0); atomic_inc(&s); atomic_add(&a[0], i); atomic_sub(&a[1], i); atomic_min(&a[2], -i); atomic_max(&a[3], i);
      atomic_max(&u[0], 0x80000000u + i); atomic_min(&u[1], 5u + i); atomic_or(&u[2], 1u << (i & 31)); atomic_and(&u[3], ~(1u << (i & 31))); atomic_xor(&u[4], i);
      int old; do { old = a[4]; } while (atomic_cmpxchg(&a[4], old, old + 2) != old);
      atom_add(&w[0], (long)i << 33);
      float seen; do { seen = f[0]; } while (atomic_cmpxchg((volatile __global int*)f, as_int(seen), as_int(seen + 0.5f)) != as_int(seen));
      barrier(CLK_LOCAL_MEM_FENCE); if (get_local_id(0) == 0) atomic_add(&a[5], s);
    }"""
    n = 128
    args = [
        Buffer(np.zeros(6, np.int32)),
        Buffer(np.array([0, 99, 0, 0xFFFFFFFF, 0], np.uint32)),
        Buffer(np.zeros(1, np.float32)),
        Buffer(np.zeros(1, np.int64)),
    ]
    a, u, f, w = engine.run(source, "k", [n], [16], args).outputs
    total = n * (n - 1) // 2
    assert a.tolist() == [total, -total, 1 - n, n - 1, 2 * n, n]
    assert u.tolist() == [0x80000000 + n - 1, 5, 0xFFFFFFFF, 0, 0]
    assert f[0] == n / 2
    assert w[0] == total << 33


def test_atomics_of_opencl_2(engine):
    source = """__kernel void k(__global atomic_int* a, __global atomic_uint* u, __global int* r) {
      int i = get_global_id(0);
      atomic_fetch_add(&a[0], i); atomic_fetch_max_explicit(&a[1], i, memory_order_relaxed, memory_scope_device); atomic_fetch_min(&u[0], 0x90000000u + i);
      int e = atomic_load(&a[2]); while (!atomic_compare_exchange_weak(&a[2], &e, e + 1)) {}
      if (i == 0) { atomic_store(&a[3], 5); r[0] = atomic_exchange(&a[4], 9); }
    }"""
    args = [Buffer(np.array([0, 0, 0, 0, 3], np.int32)), Buffer(np.array([0xFFFFFFFF], np.uint32)), Buffer(np.zeros(1, np.int32))]
    a, u, r = engine.run(source, "k", [64], [8], args).outputs
    assert a.tolist() == [2016, 63, 64, 5, 9]
    assert u[0] == 0x90000000
    assert r[0] == 3


def test_async_copies(engine):
    source = """__kernel void k(__global const float4* a, __global float4* r, __global const int* c, __global int* d) {
      __local float4 s[8]; __local int t[4];
      event_t e = async_work_group_copy(s, a + get_group_id(0) * 8, 8, 0);
      e = async_work_group_strided_copy(t, c, 4, 3, e);
      wait_group_events(1, &e);
      int l = get_local_id(0); s[l] *= 2.0f; if (l < 4) t[l] += 1;
      barrier(CLK_LOCAL_MEM_FENCE);
      e = async_work_group_copy(r + get_group_id(0) * 8, s, 8, 0);
      e = async_work_group_strided_copy(d, t, 4, 2, e);
      wait_group_events(1, &e);
    }"""
    a = np.arange(64, dtype=np.float32).reshape(16, 4)
    args = [Buffer(a), Buffer(np.zeros_like(a)), Buffer(np.arange(12, dtype=np.int32)), Buffer(np.zeros(8, np.int32))]
    result = engine.run(source, "k", [16], [8], args)
    np.testing.assert_array_equal(result.outputs[1], a * 2)
    assert result.outputs[3].tolist() == [1, 0, 4, 0, 7, 0, 10, 0]
    assert not result.findings


def test_printf_in_the_order_of_groups(engine):
    source = """__kernel void k(__global const float4* a) {
      int i = get_global_id(0); printf("%d: %v4.1f %s %5u|%-4x|%c %%\\n", i, a[i], "word", 7u + i, 255, 'q'); }"""
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    printed = engine.run(source, "k", [2], [1], [Buffer(a)], same=False).printed
    # The vector specifier stands between precision and letter in OpenCL C: %.1v4f. The other order prints as it is.
    assert printed.splitlines()[0].startswith("0: ")
    source = source.replace("%v4.1f", "%.1v4f")
    assert engine.run(source, "k", [2], [1], [Buffer(a)]).printed == (
        "0: 0.0,1.0,2.0,3.0 word     7|ff  |q %\n1: 4.0,5.0,6.0,7.0 word     8|ff  |q %\n"
    )


def test_watch_lists_every_store_to_an_element(engine):
    source = """__kernel void k(__global float* a) {
      int i = get_global_id(0);
      a[3] = i;
      if (i == 2) vstore4((float4)(8, 9, 10, 11), 0, a);
      a[i + 4] = 1;
    }"""
    result = engine.run(source, "k", [4], [2], [Buffer(np.zeros(8, np.float32))], watch=(0, 12, 4))
    values = [np.array([s.value], np.uint64).view(np.float32)[0] for s in result.stores]
    assert values == [0, 1, 2, 11, 3]
    assert [s.line for s in result.stores] == [3, 3, 3, 4, 3]
    assert [s.work_item.global_id[0] for s in result.stores] == [0, 1, 2, 2, 3]
    assert [s.order for s in result.stores] == list(range(5))


def test_steps_that_only_the_first_items_take(engine):
    steps = "\n".join(
        f"if (convert_int(get_local_id(0)) < {w} && convert_int(get_local_id(1)) < 3) s[y][l] += s[y][l + {w}];\n barrier(CLK_LOCAL_MEM_FENCE);"
        for w in (8, 4, 2, 1)
    )
    source = f"""__kernel void k(__global const int* a, __global int* r) {{
      __local int s[4][16]; int l = get_local_id(0), y = get_local_id(1), seen = 0;
      s[y][l] = a[get_global_linear_id()];
      barrier(CLK_LOCAL_MEM_FENCE);
      {steps}
      if (get_local_id(0) == 0) s[y][8] = s[y][0] * 2;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (l < 5) seen = s[y][8];
      barrier(CLK_LOCAL_MEM_FENCE);
      r[get_global_linear_id()] = seen + s[y][8];
    }}"""
    a = np.arange(128, dtype=np.int32).reshape(4, 32)
    result = engine.run(source, "k", [32, 4], [16, 4], [Buffer(a), Buffer(np.zeros_like(a))])
    for group in range(2):
        tile = a[:, group * 16 : group * 16 + 16]
        total = np.where(np.arange(4) < 3, tile.sum(axis=1), tile[:, 0]) * 2
        want = total[:, None] * np.where(np.arange(16) < 5, 2, 1)
        np.testing.assert_array_equal(result.outputs[1][:, group * 16 : group * 16 + 16], want)
    assert not result.findings
