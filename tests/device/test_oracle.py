"""The oracles' processes answer, survive bad kernels, and say clearly what went wrong, whatever their answers are worth."""

from __future__ import annotations

import contextlib

import judges
import numpy as np
import oracle
import pytest

from adreno_sim.backends.opencl import drivers

ADD = "kernel void add(global float *a, constant float *b, float c) { int i = get_global_id(0); a[i] = a[i] + b[i] * c; }"


@pytest.fixture(params=oracle.NAMES)
def process(request) -> oracle.Oracle:
    judges.skip_without(request.node, request.param)
    return oracle.open_process(request.param)


def test_one_process_at_least_can_be_had():
    assert judges_there(), "no OpenCL driver: pip install -e '.[opencl,oracle]'"


def judges_there() -> list[str]:
    there = []
    for name in oracle.NAMES:
        with contextlib.suppress(oracle.OracleUnavailable):
            there.append(oracle.open_process(name).name)
    return there


def test_buffers_and_scalars(process):
    a, b = np.arange(8, dtype=np.float32), np.full(8, 2, np.float32)
    args = [oracle.Buffer(a), oracle.Buffer(b, output=False), oracle.Scalar(np.float32(0.5))]
    (result,) = process.run(ADD, "", "add", (8,), (4,), args)
    np.testing.assert_array_equal(result, a + 1)


def test_vector_scalar_local_memory_and_barrier(process):
    source = """
        kernel void reverse(global float *a, local float *t, float3 v) {
            int i = get_local_id(0);
            t[i] = a[i] + v.z;
            barrier(CLK_LOCAL_MEM_FENCE);
            a[i] = t[get_local_size(0) - 1 - i];
        }"""
    a = np.arange(8, dtype=np.float32)
    args = [oracle.Buffer(a), oracle.Local(32), oracle.Scalar(np.array([1, 2, 3], np.float32))]
    (result,) = process.run(source, "", "reverse", (8,), (8,), args)
    np.testing.assert_array_equal(result, a[::-1] + 3)


IMAGES = {
    "image1d": ("image1d_t", (1, 1, 8), "x"),
    "image1d_buffer": ("image1d_buffer_t", (1, 1, 8), "x"),
    "image1d_array": ("image1d_array_t", (3, 1, 8), "(int2)(x, z)"),
    "image2d": ("image2d_t", (1, 5, 8), "(int2)(x, y)"),
    "image2d_array": ("image2d_array_t", (3, 5, 8), "(int4)(x, y, z, 0)"),
    "image3d": ("image3d_t", (3, 5, 8), "(int4)(x, y, z, 0)"),
}


@pytest.mark.parametrize("kind", IMAGES)
def test_image_kinds(process, kind):
    spelled, shape, coordinate = IMAGES[kind]
    source = f"""
        kernel void read(read_only {spelled} image, global float4 *out) {{
            int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
            out[(z * get_global_size(1) + y) * get_global_size(0) + x] = read_imagef(image, {coordinate});
        }}"""
    data = np.arange(np.prod(shape) * 4, dtype=np.float32).reshape(*shape, 4)
    args = [oracle.Image(data, kind, output=False), oracle.Buffer(np.zeros_like(data))]
    (result,) = process.run(source, "-cl-std=CL2.0", "read", shape[::-1], None, args)
    np.testing.assert_array_equal(result, data)


def test_image_is_written_and_read_back(process):
    source = """
        kernel void mirror(read_only image2d_t from, write_only image2d_t to, sampler_t s) {
            int x = get_global_id(0), y = get_global_id(1);
            write_imagef(to, (int2)(x, y), read_imagef(from, s, (int2)(get_image_width(to) - x, y)));
        }"""
    data = np.arange(64, dtype=np.uint8).reshape(1, 4, 4, 4)
    args = [
        oracle.Image(data, channel_type="UNORM_INT8", output=False),
        oracle.Image(np.zeros_like(data), channel_type="UNORM_INT8"),
        oracle.Sampler(addressing="clamp"),
    ]
    (result,) = process.run(source, "-cl-std=CL2.0", "mirror", (4, 4), None, args)
    expected = np.zeros_like(data)
    expected[:, :, 1:] = data[:, :, :0:-1]
    np.testing.assert_array_equal(result, expected)


def test_half_on_intel(intel):
    source = """
        #pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void third(global half *a) { a[get_global_id(0)] /= 3.0h; }"""
    a = np.arange(16, dtype=np.float16)
    (result,) = intel.run(source, "-cl-std=CL3.0", "third", (16,), None, [oracle.Buffer(a)])
    np.testing.assert_array_equal(result, a / np.float16(3))


def test_batch_keeps_order_and_isolates_failures(process):
    good = oracle.Run(ADD, "add", (1,), [oracle.Buffer(np.ones(1, np.float32))] * 2 + [oracle.Scalar(np.float32(3))])
    bad = oracle.Run("kernel void add() { not_declared(); }", "add", (1,), [])
    first, second, third = process.run_many([good, bad, good])
    assert first[0][0] == third[0][0] == 4
    assert isinstance(second, oracle.OracleError)
    assert "not_declared" in str(second)


def test_build_error_carries_the_log(process):
    with pytest.raises(oracle.OracleError, match="undeclared_name"):
        process.run("kernel void k(global int *a) { *a = undeclared_name; }", "", "k", (1,), None, [])


def test_hang_is_stopped_and_the_oracle_lives_on(process):
    source = "kernel void hang(global volatile int *a) { while (*a == 0) ; }"
    with pytest.raises(oracle.OracleTimeout, match="no answer within"):
        process.run(source, "", "hang", (1,), None, [oracle.Buffer(np.zeros(1, np.int32))], timeout=1.5)
    test_buffers_and_scalars(process)


def test_crash_is_reported_and_the_oracle_lives_on(process):
    source = "kernel void wild(global int *a, ulong p) { *(global volatile int *)p = *a; }"
    args = [oracle.Buffer(np.zeros(1, np.int32)), oracle.Scalar(np.uint64(8))]
    with pytest.raises(oracle.OracleCrash, match=r"SIGSEGV|exit code"):
        process.run(source, "", "wild", (1,), None, args)
    test_buffers_and_scalars(process)


def test_an_oracle_that_is_not_installed_is_unavailable(monkeypatch):
    monkeypatch.setattr(drivers, "icd_texts", lambda driver: [])
    with pytest.raises(oracle.OracleUnavailable, match=r"pocl oracle unavailable: .* is not installed: apt install"):
        oracle.open_oracle("pocl")
