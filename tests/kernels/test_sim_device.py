"""Kernels on the simulated device against NumPy: every kind of argument, views, images under each pitch rule, watches."""

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler, TensorSpec
from adreno_sim.device.protocol import Watch
from adreno_sim.findings import Kind

RNG = np.random.default_rng(11)


def open_sim(text="adreno-740", **options):
    return adreno_sim.open_device(f"sim:{text}", **options)


def upload(device, array, spec=None):
    """A view holding `array`, as a buffer unless another spec is given."""
    spec = spec or BufferSpec(array.nbytes, array.dtype.name)
    view = device.view(device.allocate(device.view_nbytes(spec)), spec)
    device.write(view, array)
    return view


def empty(device, count, dtype="float32"):
    return upload(device, np.zeros(count, dtype))


def run(device, source, global_size, local_size, args, options="", **kwargs):
    program = device.build(source, options)
    (name,) = program.kernel_names()
    return device.launch(program[name], global_size, local_size, args, **kwargs)


def test_a_buffer_kernel():
    device = open_sim()
    a, b = (RNG.normal(size=1000).astype(np.float32) for _ in range(2))
    out = empty(device, 1000)
    source = """kernel void add(global const float *a, global const float *b, global float *c) {
        int i = get_global_id(0); c[i] = a[i] + b[i]; }"""
    result = run(device, source, (1000,), None, [upload(device, a), upload(device, b), out])
    np.testing.assert_array_equal(device.read(out), a + b)
    assert result.findings == []


def test_every_kind_of_argument():
    device = open_sim()
    source = """
    typedef struct { int a; float b; } Pair;
    kernel void mix(global float *out, float4 four, float3 three, Pair pair, char c, ulong n, local float *scratch) {
        int i = get_local_id(0);
        scratch[i] = four.w + three.z + pair.a + pair.b + c + (float)n;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = scratch[get_local_size(0) - 1 - i] + i;
    }"""
    pair = np.array([(5, 0.5)], dtype=[("a", "<i4"), ("b", "<f4")]).tobytes()
    out = empty(device, 32)
    args = [out, np.array([1, 2, 3, 4], np.float32), np.array([10, 20, 30], np.float32), pair, -3, np.uint64(100), Local(64)]
    run(device, source, (32,), (16,), args)
    expected = 4 + 30 + 5 + 0.5 - 3 + 100 + np.tile(np.arange(16), 2)
    np.testing.assert_array_equal(device.read(out), expected.astype(np.float32))


COPY_TEXTURE = """
constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void twice(read_only image2d_array_t in, write_only image2d_array_t out) {
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    write_imagef(out, at, 2.0f * read_imagef(in, s, at));
}"""


@pytest.mark.parametrize(
    "device",
    ["adreno-740", "adreno-740,pitch_rule=pixels", "adreno-740,pitch_rule=hardware", "adreno-650", "adreno-630,driver=mesa"],
)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_textures_whatever_the_layout(device, dtype):
    device = open_sim(device)
    spec = TensorSpec((2, 3, 5, 7, 4), dtype, "global.texture").lower()
    data = RNG.normal(size=(6, 5, 7, 4)).astype(dtype)
    source, target = upload(device, data, spec), upload(device, np.zeros_like(data), spec)
    result = run(device, COPY_TEXTURE, (7, 5, 6), (7, 1, 1), [source, target])
    np.testing.assert_array_equal(device.read(target), 2 * data)
    assert result.findings == []


def test_a_buffer_kernel_then_an_image_kernel_over_the_same_storage():
    for name in ("adreno-740", "adreno-650"):
        device = open_sim(name)
        spec = ImageSpec("image2d_array", 4, 2, 2)  # 64-byte rows: dense under the bytes rule, and dense as a separate image
        storage = device.allocate(device.view_nbytes(spec))
        buffer, image = device.view(storage, BufferSpec(256, "float32")), device.view(storage, spec)
        fill = "kernel void fill(global float *out) { out[get_global_id(0)] = get_global_id(0); }"
        run(device, fill, (64,), None, [buffer])
        out = upload(device, np.zeros((2, 2, 4, 4), np.float32), spec)
        run(device, COPY_TEXTURE, (4, 2, 2), None, [image, out])
        np.testing.assert_array_equal(device.read(out).ravel(), 2 * np.arange(64, dtype=np.float32))
        run(device, COPY_TEXTURE, (4, 2, 2), None, [out, image])
        np.testing.assert_array_equal(device.read(buffer), 4 * np.arange(64, dtype=np.float32))


def test_a_sampler_argument():
    device = open_sim()
    row = np.arange(4, dtype=np.float32)
    image = upload(device, row, ImageSpec("image1d", 4, order="R"))
    out = empty(device, 8)
    source = """kernel void read(read_only image1d_t image, sampler_t s, global float *out) {
        int i = get_global_id(0); out[i] = read_imagef(image, s, (i - 2) / 4.0f + 0.125f).x; }"""
    expected = {
        "clamp_to_edge": [0, 0, 0, 1, 2, 3, 3, 3],
        "clamp": [0, 0, 0, 1, 2, 3, 0, 0],
        "repeat": [2, 3, 0, 1, 2, 3, 0, 1],
        "mirrored_repeat": [1, 0, 0, 1, 2, 3, 3, 2],
    }
    for addressing, values in expected.items():
        run(device, source, (8,), None, [image, Sampler(True, addressing), out])
        assert device.read(out).tolist() == values, addressing


def test_a_write_past_the_row_is_found_and_goes_nowhere():
    device = open_sim()
    image = upload(device, np.zeros((1, 4, 8, 4), np.float32), ImageSpec("image2d", 8, 4))
    source = """kernel void put(write_only image2d_t out) {
    write_imagef(out, (int2)(get_global_id(0) + 6, 2), (float4)(1.0f));
}"""
    result = run(device, source, (4,), (4,), [image])
    (finding,) = result.findings
    assert finding.kind is Kind.IMAGE_WRITE_OUT_OF_RANGE
    assert (finding.kernel, finding.line, finding.count) == ("put", 2, 2)
    assert finding.access.view == "out"
    assert finding.access.coordinate[:2] == (8, 2)
    assert finding.work_item.global_id == (2, 0, 0)
    texels = device.read(image)
    assert (texels[0, 2, 6:] == 1).all()
    assert texels.sum() == 8


def test_a_read_past_the_buffer_is_found_and_gives_zero():
    device = open_sim()
    out, data = empty(device, 8), upload(device, np.ones(6, np.float32))
    source = "kernel void get(global float *out, global const float *data) { int i = get_global_id(0); out[i] = data[i]; }"
    (finding,) = run(device, source, (8,), None, [out, data]).findings
    assert finding.kind is Kind.OUT_OF_BOUNDS_READ
    assert finding.count == 2
    assert (finding.access.view, finding.access.offset, finding.work_item.global_id) == ("data", 24, (6, 0, 0))
    assert device.read(out).tolist() == [1] * 6 + [0] * 2


def test_a_watch_gives_every_store_to_one_element():
    device = open_sim()
    out = empty(device, 8)
    source = """kernel void twice(global float *out) {
    out[get_global_id(0)] = 1.0f;
    out[get_global_id(0)] = 2.0f + get_global_id(0);
}"""
    result = run(device, source, (8,), (4,), [out], watch=Watch(out, 5))
    stores = [(store.line, store.value, store.work_item.global_id) for store in sorted(result.stores, key=lambda s: s.order)]
    assert stores == [(2, 1.0, (5, 0, 0)), (3, 7.0, (5, 0, 0))]


def test_a_watch_on_an_image_element():
    device = open_sim("adreno-740,pitch_rule=hardware")
    spec = ImageSpec("image2d_array", 7, 5, 6)
    data = RNG.normal(size=(6, 5, 7, 4)).astype(np.float32)
    source, target = upload(device, data, spec), upload(device, np.zeros_like(data), spec)
    element = int(np.ravel_multi_index((3, 2, 4, 1), data.shape))
    result = run(device, COPY_TEXTURE, (7, 5, 6), (7, 1, 1), [source, target], watch=Watch(target, element))
    (store,) = result.stores
    assert store.work_item.global_id == (4, 2, 3)
    assert store.line == 5
    assert store.value == pytest.approx(2 * float(data[3, 2, 4, 1]))


@pytest.mark.parametrize("profile, flushed", [("adreno-740", True), ("reference", False)])
def test_denormals_are_flushed_where_the_device_flushes_them(profile, flushed):
    device = open_sim(profile)
    tiny = np.array([1e-40, 1e-39, 1.0], np.float32)
    data, out = upload(device, tiny), empty(device, 3)
    source = "kernel void scale(global float *out, global const float *in) { int i = get_global_id(0); out[i] = in[i] * 2.0f; }"
    run(device, source, (3,), None, [out, data])
    assert device.read(out).tolist() == ([0.0, 0.0, 2.0] if flushed else (2 * tiny).tolist())
    move = "kernel void move(global float *out, global const float *in) { int i = get_global_id(0); out[i] = in[i]; }"
    run(device, move, (3,), None, [out, data])
    np.testing.assert_array_equal(device.read(out).view(np.uint32), tiny.view(np.uint32))


def test_smaller_groups_at_the_edge():
    device = open_sim()
    out = empty(device, 10, "int32")
    source = "kernel void sizes(global int *out) { out[get_global_id(0)] = get_local_size(0) * 10 + get_enqueued_local_size(0); }"
    run(device, source, (10,), (4,), [out], "-cl-std=CL2.0")
    assert device.read(out).tolist() == [44] * 8 + [24] * 2


def test_the_sub_group_size_is_the_profiles_wave():
    for name, size in (("adreno-740", 128), ("adreno-530", 64), ("adreno-740,wave_size=32", 32)):
        device = open_sim(name)
        out = empty(device, 256, "int32")
        source = "kernel void wave(global int *out) { out[get_global_id(0)] = get_max_sub_group_size(); }"
        run(device, source, (256,), (256,), [out], "-cl-std=CL2.0")
        assert (device.read(out) == size).all(), name


def test_a_launch_that_is_refused_changes_nothing():
    device = open_sim()
    out = empty(device, 8)
    source = "kernel void one(global float *out) { out[get_global_id(0)] = 1.0f; }"
    with pytest.raises(adreno_sim.AdrenoSimError):
        run(device, source, (8,), (3,), [out])
    assert not device.read(out).any()


def test_device_and_host_see_the_same_macros():
    device = open_sim("adreno-650")
    source = """
    #if __OPENCL_VERSION__ != 200 || !defined(cl_khr_fp16) || !defined(cl_qcom_dot_product8) || defined(cl_khr_fp64)
    #error wrong
    #endif
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global half *out) { out[get_global_id(0)] = (half)1.5f; }"""
    out = empty(device, 4, "float16")
    run(device, source, (4,), None, [out])
    assert device.read(out).tolist() == [1.5] * 4


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_what_the_kernel_prints(checks):
    device = open_sim(threads=1, checks=checks, seed=3)
    source = """kernel void tell(global int *out) {
        int i = get_global_id(0);
        out[i] = i;
        printf("item %d of %d %s\\n", i, 2, "strings"); }"""
    result = run(device, source, (2,), (1,), [empty(device, 2, "int32")])
    assert sorted(result.printed.splitlines()) == ["item 0 of 2 strings", "item 1 of 2 strings"]
