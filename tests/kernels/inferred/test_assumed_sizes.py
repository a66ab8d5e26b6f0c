"""Sizes that the code of a kernel does not say: what leaves them alone is no error, and what the code does say still is one.

`pytest --slow tests/kernels/inferred` runs every case.
"""

from __future__ import annotations

import pytest

from adreno_sim.launch_spec.inferred import infer
from adreno_sim.launch_spec.inferred.run import Wanted, run_inferred

EXCHANGE = """kernel void k(global int* data, local int* box) {
  int l = get_local_id(0);
  box[l] = data[l];
  %s
  data[l] = box[l ^ 1];
}"""
PADDED = """float at(global const float* p, int y, int x, int h, int w) { return %s ? 0 : p[y * w + x]; }
kernel void k(global const float* in, global float* out, int h, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  out[y * (w + 2) + x] = at(in, y - 1, x - 1, h, w);
}"""
TAPS = """constant float taps[3] = {1, 2, 1};
kernel void k(global const float* in, global float* out) {
  int x = get_global_id(0);
  float s = 0;
  for (int t = 0; t %s 3; t++) s += taps[t] * in[x + t];
  out[x] = s;
}"""
POOLS = """kernel void k(global const float* a, global const float* b, global const int* which, global float* out) {
  int i = get_global_id(0);
  global const float* from = which[i] ? a + 4 : b;
  out[i%s] = from[i];
}"""
BATCH = """kernel void k(write_only image2d_array_t to, global const float* x) {
  int i = get_global_id(0), n = get_global_id(1);
  write_imagef(to, (int4)(i, 0, %s, 0), (float4)(x[n]));
}"""
CARVED = """kernel void k(global float* out, local float* scratch, int first) {
  int l = get_local_id(0);
  local float* part = scratch + first;
  part[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = part[%s];
}"""
SCALED = """kernel void k(global float* x, int columns, int stride) {
  int r = get_global_id(0);
  for (int c = 0; c < columns; c++) x[r * stride + c] = 2 * x[%s * stride + c];
}"""
SPACED = """kernel void k(global float* x) {
  local float tile[8000];
  int l = get_local_id(0);
  tile[l * 1000] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[l] = tile[(l ^ 1) * 1000%s];
}"""
BEFORE = """kernel void k(global int* data, int count) {
  int i = get_global_id(0);
  if (i %s 0) data[i - 1] = i;
}"""
TASK = """kernel void k(global const float* x, global float* sum, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += x[%s];
  sum[0] = s;
}"""

CASES = {
    "a kernel of one group": (EXCHANGE, "barrier(CLK_LOCAL_MEM_FENCE);", "", "data-race", "several groups: no id of all"),
    "a kernel of one work-item": (TASK, "i", "i - 1", "out-of-bounds-read", "several work-items: no id of all"),
    "branches that clamp": (
        PADDED, "y < 0 || x < 0 || y >= h || x >= w", "y < 0 || y >= h || x >= w", "out-of-bounds-read",
        "bounds of out: the code does not say how large",
    ),
    "a halo": (TAPS, "<", "<=", "out-of-bounds-read", "bounds of in: the code does not say how large"),
    "one of two pools": (POOLS, "", " + 1", "out-of-bounds-write", "bounds of a: the code does not say how large"),
    "as many layers as work-items": (BATCH, "n", "n + 1", "image-write-out-of-range", ""),
    "a part of local memory": (CARVED, "l", "l - 9", "out-of-bounds-read", ""),
    "rows in place": (SCALED, "r", "(r + 1)", "data-race", ""),
    "a number that nothing looks at": (BEFORE, ">", ">=", "out-of-bounds-write", ""),
    "a few work-items": (SPACED, "", " + 8000", "out-of-bounds-read", ""),
}  # fmt: skip


FAST = ("a kernel of one group", "branches that clamp", "a halo", "rows in place")


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in CASES])
def test_only_the_defect_is_an_error(tmp_path, monkeypatch, name):
    monkeypatch.setattr(infer, "SECONDS", 1)
    source, right, wrong, kind, told = CASES[name]
    path = tmp_path / "k.cl"
    found = []
    for code in (right, wrong):
        path.write_text(source % code)
        report, _ = run_inferred(path, tmp_path / "failing.toml", Wanted(sizes=(33, 65)))
        found.append({finding.kind.label for finding in report.counting})
        assert any(line.startswith(told) for line in report.unchecked)
    assert found[0] == set()
    assert kind in found[1]
