"""Several work-groups run as one, a group in each lane: the same bits as one work-item after the other, and what must not."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim.base.specs import Local
from adreno_sim.findings import Kind

from .coarse_runs import COARSE, run, run_both

TREE = """
  barrier(CLK_LOCAL_MEM_FENCE); sums[l] = s; barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = N / 2; step > 0; step /= 2) { if (l < step) sums[l] += sums[l + step]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (l == 0) out[get_group_id(0)] = sums[0];"""
CONVOLUTION = (
    """
kernel void k(global const T *restrict image, global const T *restrict weights, global T *restrict out) {
  local T sums[N]; int l = get_local_id(0), g = get_group_id(0); T s = 0;
  if (l < 36) {
    int y = g % (W * H) / W + l % 9 / 3, x = g % W + l % 3; T v = 0;
    if (1 <= y && y <= H && 1 <= x && x <= W) v = image[l / 9 * (W * H) + (y - 1) * W + x - 1];
    s += v * weights[g / (W * H) * 36 + l];
  }"""
    + TREE
    + "}"
)
TYPES = {"float": np.float32, "half": np.float16, "int": np.int32, "uchar": np.uint8, "long": np.int64}


def convolution(type: str, width: int, height: int, channels: int, checks: str, size: int = 64):
    """A 3x3 convolution of 4 channels, of which each group computes one pixel, and what it gives."""
    random = np.random.default_rng(3)
    image = random.integers(-4, 5, (4, height, width)).astype(TYPES[type])
    weights = random.integers(-4, 5, (channels, 4, 3, 3)).astype(TYPES[type])
    out = np.zeros(channels * height * width, image.dtype)
    options = f"-DT={type} -DN={size} -DW={width} -DH={height}"
    source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" + CONVOLUTION
    ran, _ = run_both(source, (out.size * size, 1, 1), (size, 1, 1), [image, weights, out], checks=checks, options=options)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1))).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    expected = np.einsum("cyxij,kcij->kyx", windows, weights.astype(np.int64)).ravel().astype(image.dtype)
    return ran, expected


@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(("width", "height"), [(55, 3), (13, 5), (16, 4), (33, 2)])
def test_pixels_side_by_side_are_lanes(type, width, height, checks, wherever_allowed):
    """Rows that vectors fill, and rows whose last vector begins before the one in front of it ends."""
    ran, expected = convolution(type, width, height, 3, checks)
    assert ran.is_coarse, ran.code
    np.testing.assert_array_equal(ran.buffers[2], expected)


def test_it_is_chosen_where_it_pays():
    ran, expected = convolution("float", 55, 12, 4, "bounds")
    assert ran.is_coarse, ran.code
    np.testing.assert_array_equal(ran.buffers[2], expected)


def test_a_sum_of_neighbours_stays_with_the_work_items_of_a_group():
    """Work-items read side by side there, and groups far apart."""
    source = "kernel void k(global const float *a, global float *out) { local float sums[N]; int l = get_local_id(0);"
    source += "float s = 0; for (int i = 0; i < 8; i++) s += a[(get_group_id(0) * 8 + i) * N + l];" + TREE + "}"
    data = np.random.default_rng(1).integers(0, 9, 1024 * 512).astype(np.float32)
    ran, _ = run_both(source, (1024 * 64, 1, 1), (64, 1, 1), [data, np.zeros(1024, np.float32)], options="-DN=64")
    assert not ran.is_coarse
    np.testing.assert_array_equal(ran.buffers[1], data.reshape(-1, 512).sum(axis=1))


IDS = """
kernel void k(global ulong *out) {
  local ulong kept[LX * LY]; uint l = get_local_linear_id();
  kept[l] = get_global_id(0) * 1000003 + get_global_id(1) * 10007 + get_global_id(2);
  barrier(CLK_LOCAL_MEM_FENCE);
  ulong v = kept[LX * LY - 1 - l] ^ get_local_id(0) * 3 ^ get_local_id(1) * 5 ^ get_local_id(2);
  v = v * 31 + get_local_size(0) + get_local_size(1) * 7 + get_local_size(2) * 11 + get_enqueued_local_size(0);
  v = v * 31 + get_num_groups(0) + get_num_groups(1) * 13 + get_num_groups(2) * 17 + get_work_dim();
  v = v * 31 + get_global_size(0) + get_global_size(1) * 19 + get_global_size(2) * 23 + get_global_offset(0) + SPLIT;
  out[(get_group_id(0) + get_group_id(1) * get_num_groups(0)) * (LX * LY) + l] = v * 31 + get_group_id(0) + get_group_id(1) * 3;
}"""


@pytest.mark.each_value
@pytest.mark.parametrize("split", ["0", "get_group_id(0) % 20", "get_group_id(0) / 40 + get_group_id(0) % 40 / 20"])
@pytest.mark.parametrize(("groups", "local"), [((40, 1), (8, 1)), ((80, 3), (4, 2)), ((120, 2), (3, 5)), ((40, 5), (1, 7))])
def test_ids_and_sizes_are_those_of_the_launch(groups, local, split, wherever_allowed):
    (gx, gy), (x, y) = groups, local
    out = np.zeros(gx * gy * x * y, np.uint64)
    options = f"-cl-std=CL2.0 -DLX={x} -DLY={y} -DSPLIT='({split})'".replace("'", "")
    options = options.replace(" ", "\0").replace("\0-", " -").replace("\0", "")
    ran, _ = run_both(IDS, (gx * x, gy * y, 1), (x, y, 1), [out], options=options)
    assert ran.is_coarse, ran.code


@pytest.mark.parametrize("groups", [9, 16, 31, 100])
def test_any_number_of_groups(groups, wherever_allowed):
    source = "kernel void k(global const int *a, global int *out) { local int sums[N]; int l = get_local_id(0);"
    source += "int s = a[get_group_id(0)] * (l + 1);" + TREE + "}"
    data = np.arange(groups, dtype=np.int32) - 5
    ran, _ = run_both(source, (groups * 8, 1, 1), (8, 1, 1), [data, np.zeros(groups, np.int32)], options="-DN=8")
    assert ran.is_coarse
    np.testing.assert_array_equal(ran.buffers[1], data * 36)


LOCALS = {
    "an argument": ("", ", local float *a", "a[l] = v; B; r = a[7 - l];"),
    "of vectors": ("local float4 a[8];", "", "a[l] = (float4)(v, l, g, 1); B; float4 q = a[7 - l]; r = q.x + q.y + q.z + q.w;"),
    "of three": ("local float3 a[8];", "", "a[l] = (float3)(v, l, g); B; float3 q = a[7 - l]; r = q.x + q.y + q.z;"),
    "of two dimensions": ("local float a[8][3];", "", "a[l][1] = v; a[l][2] = l; B; r = a[7 - l][1] + a[7 - l][2];"),
    "by a pointer": ("local float a[16];", "", "local float *p = a + l; p[8] = v; B; p = a + 15 - l; r = *p;"),
    "of bytes": ("local uchar a[8];", "", "a[l] = (int)v + l; B; r = a[7 - l];"),
    "two of them": ("local float a[8]; local short b[8];", "", "a[l] = v; b[7 - l] = l; B; r = a[7 - l] + b[l];"),
    "volatile": ("local float a[8];", "", "((volatile local float *)a)[l] = v; B; r = ((volatile local float *)a)[7 - l];"),
    "parts of vectors": ("local float4 a[8];", "", "a[l] = v; B; a[7 - l].y = l; B; r = a[l].y;"),
}
TWO_SIZES = {
    "of two sizes": ("local float a[8];", "", "a[l] = v; B; r = ((local uchar *)a)[7 - l];"),
    "of structs": ("local struct { float f; int i; } a[8];", "", "a[l].f = v; a[l].i = l; B; r = a[7 - l].f + a[7 - l].i;"),
    "vload": ("local float a[8];", "", "a[l] = v; B; float4 q = vload4(0, a); r = q.x + q.w;"),
    "atomic": ("local int a[8];", "", "a[l] = v; B; atomic_add(&a[7 - l], l); B; r = a[l];"),
}


def local_kernel(case: tuple[str, str, str]) -> str:
    variables, parameter, body = case
    return f"""#define B barrier(CLK_LOCAL_MEM_FENCE)
kernel void k(global const float *in, global float *out{parameter}) {{
  {variables} int l = get_local_id(0), g = get_group_id(0); float v = in[g] + l, r = 0; {body} out[g * 8 + l] = r; }}"""


def run_locals(case: tuple[str, str, str]):
    data = np.random.default_rng(2).integers(0, 20, 40).astype(np.float32)
    args = [data, np.zeros(320, np.float32)] + ([Local(32)] if case[1] else [])
    return run_both(local_kernel(case), (320, 1, 1), (8, 1, 1), args)[0]


@pytest.mark.parametrize("name", LOCALS)
def test_local_memory_has_a_place_for_each_group(name, wherever_allowed):
    ran = run_locals(LOCALS[name])
    assert ran.is_coarse, ran.code


@pytest.mark.parametrize("name", TWO_SIZES)
def test_local_memory_that_cannot_be_laid_out_in_rows(name, wherever_allowed):
    assert not run_locals(TWO_SIZES[name]).is_coarse


OTHERS = {
    "an argument that is read and written": "out[g * 8 + l] += r;",
    "an atomic": "atomic_add((global int *)out + g, 1);",
    "a volatile access": "((volatile global float *)out)[g * 8 + l] = r;",
    "a sub-group": "out[g * 8 + l] = r + get_sub_group_local_id();",
    "printf": 'if (g == 3 && l == 0) printf("%d\\n", g); out[g * 8 + l] = r;',
    "a place in the grid": "out[g * 8 + l] = r + get_global_linear_id();",
    "a barrier of some groups": "if (g % 3 == 1) barrier(CLK_LOCAL_MEM_FENCE); out[g * 8 + l] = r;",
    "no end that is known": "for (int i = 0; i < in[g]; i++) r += i; out[g * 8 + l] = r;",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_runs_group_by_group(name, wherever_allowed):
    source = f"""kernel void k(global const float *in, global float *out) {{
  local float a[8]; int l = get_local_id(0), g = get_group_id(0); float r;
  a[l] = in[g] + l; barrier(CLK_LOCAL_MEM_FENCE); r = a[7 - l]; {OTHERS[name]} }}"""
    data = np.random.default_rng(2).integers(0, 20, 40).astype(np.float32)
    ran, _ = run_both(source, (320, 1, 1), (8, 1, 1), [data, np.zeros(320, np.float32)], options="-cl-std=CL2.0")
    assert not ran.is_coarse, ran.code


LOOPS = {
    "that an argument bounds": "for (int i = 0; i < n; i++) r += a[(l + i) & 7] * i;",
    "with a barrier": "for (int i = 0; i < n; i++) { B; a[7 - l] = r + i; B; r += a[l] * i; }",
}
OF_EACH_GROUP = {
    "without a barrier": "for (int i = 0; i < n + (g & 3); i++) r += a[(l + i) & 7] * i;",
    "as many as its number says": "for (int i = 0; i < n + (g & 3); i++) { B; a[7 - l] = r + i; B; r += a[l] * i; }",
    "more in the last group": "for (int i = 0; i < (g == 39 ? n * 2 : n); i++) { B; a[7 - l] = r + i; B; r += a[l] * i; }",
    "that some leave early": "for (int i = 0; i < n; i++) { B; if (i > g) break; a[7 - l] = r + i; B; r += a[l] * i; }",
}


def run_loop(body: str, checks: str, bound: int = 5):
    source = f"""#define B barrier(CLK_LOCAL_MEM_FENCE)
kernel void k(global const float *in, global float *out, int n) {{
  local float a[8]; int l = get_local_id(0), g = get_group_id(0); float r;
  a[l] = in[g] + l; B; r = a[7 - l]; {body} out[g * 8 + l] = r; }}"""
    data = np.random.default_rng(2).integers(0, 20, 40).astype(np.float32)
    args = [data, np.zeros(320, np.float32), np.int32(bound)]
    ran, _ = run_both(source, (320, 1, 1), (8, 1, 1), args, checks=checks)
    return ran


@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_the_launch_bounds(name, checks, wherever_allowed):
    assert run_loop(LOOPS[name], checks).is_coarse


@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("name", OF_EACH_GROUP)
def test_loops_of_each_groups_own_length(name, checks, wherever_allowed):
    """As one group, they would meet at different barriers."""
    run_loop(OF_EACH_GROUP[name], checks)


def test_a_launch_with_an_offset_or_layers_or_odd_groups(wherever_allowed):
    source = local_kernel(LOCALS["of bytes"])
    data, out = np.zeros(40, np.float32), np.zeros(2000, np.float32)
    for grid, local in (((320, 1, 2), (8, 1, 1)), ((316, 1, 1), (8, 1, 1)), ((56, 1, 1), (8, 1, 1))):
        ran, _ = run_both(source, grid, local, [data, out], options="-cl-std=CL2.0")
        assert not ran.is_coarse, ran.code


# What is wrong is reported by the kernel itself


def test_a_division_by_zero_names_its_own_work_item(wherever_allowed):
    source = """kernel void k(global const int *in, global int *out) {
  local int a[8]; int l = get_local_id(0), g = get_group_id(0);
  a[l] = in[g] - l; barrier(CLK_LOCAL_MEM_FENCE); out[g * 8 + l] = 100 / a[7 - l]; }"""
    data = np.full(40, 50, np.int32)
    right, _ = run_both(source, (320, 1, 1), (8, 1, 1), [data, np.zeros(320, np.int32)])
    assert right.is_coarse
    assert not right.findings
    data[29] = 3
    wrong, _ = run_both(source, (320, 1, 1), (8, 1, 1), [data, np.zeros(320, np.int32)])
    assert not wrong.is_coarse
    (finding,) = wrong.findings
    assert finding.work_item.group_id == (29, 0, 0)
    assert finding.work_item.local_id == (4, 0, 0)


def test_an_access_out_of_range_names_its_own_work_item(wherever_allowed):
    source = """kernel void k(global const float *in, global float *out) {
  local float a[8]; int l = get_local_id(0), g = get_group_id(0);
  a[l] = in[g + (g == 17 && l == 2 ? 4000 : 0)]; barrier(CLK_LOCAL_MEM_FENCE); out[g * 8 + l] = a[7 - l]; }"""
    wrong, _ = run_both(source, (320, 1, 1), (8, 1, 1), [np.ones(40, np.float32), np.zeros(320, np.float32)])
    (finding,) = wrong.findings
    assert finding.work_item.group_id == (17, 0, 0)
    assert finding.work_item.local_id == (2, 0, 0)


def test_a_divergent_barrier_is_found(wherever_allowed):
    source = """kernel void k(global const float *in, global float *out) {
  local float a[8]; int l = get_local_id(0), g = get_group_id(0);
  a[l] = in[g]; if (l < 5) barrier(CLK_LOCAL_MEM_FENCE); out[g * 8 + l] = a[7 - l]; }"""
    ours, theirs = (
        run(source, (320, 1, 1), (8, 1, 1), [np.ones(40, np.float32), np.zeros(320, np.float32)], emitter=emitter)
        for emitter in ("spmd", "scalar")
    )
    assert ours.findings == theirs.findings
    assert ours.findings[0].kind == Kind.DIVERGENT_BARRIER


def test_an_element_that_nobody_wrote_is_no_number(wherever_allowed):
    """As at level bounds anyhow: local memory begins as NaNs in each group."""
    source = """kernel void k(global const float *in, global float *out) {
  local float a[8]; int l = get_local_id(0), g = get_group_id(0);
  if (l != 3) a[l] = in[g]; barrier(CLK_LOCAL_MEM_FENCE); out[g * 8 + l] = a[7 - l]; }"""
    ran, _ = run_both(source, (320, 1, 1), (8, 1, 1), [np.ones(40, np.float32), np.zeros(320, np.float32)])
    assert ran.is_coarse
    np.testing.assert_array_equal(np.isnan(ran.buffers[1]).reshape(40, 8).sum(axis=0), [0, 0, 0, 0, 40, 0, 0, 0])


def test_arguments_that_share_memory_run_group_by_group(wherever_allowed):
    """Groups that compute twice would read what they have written."""
    from adreno_sim import open_device
    from adreno_sim.base.specs import BufferSpec

    source = """kernel void k(global const float *in, global float *out) {
  local float a[8]; int l = get_local_id(0), g = get_group_id(0);
  a[l] = in[g * 8 + l]; barrier(CLK_LOCAL_MEM_FENCE); out[g * 8 + l] = a[7 - l] + 1; }"""
    device = open_device("sim:adreno-740", checks="bounds", cache=False)
    kernel = device.build(source)["k"]
    data = np.arange(304, dtype=np.float32)
    apart = [device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, "float32")) for _ in range(2)]
    for view in apart:
        device.write(view, data)
    expected = data.reshape(-1, 8)[:, ::-1].ravel() + 1
    first = device.launch(kernel, (304, 1, 1), (8, 1, 1), apart)
    np.testing.assert_array_equal(device.read(apart[1]), expected)
    device.launch(kernel, (304, 1, 1), (8, 1, 1), [apart[0], apart[0]])
    np.testing.assert_array_equal(device.read(apart[0]), expected)
    again = device.launch(kernel, (304, 1, 1), (8, 1, 1), apart)
    assert COARSE in first.code[-1].description
    np.testing.assert_array_equal(device.read(apart[1]), expected.reshape(-1, 8)[:, ::-1].ravel() + 1)
    assert again.findings == []
