"""Which arguments a kernel writes, and arguments that share memory."""

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.findings import Kind


@pytest.mark.parametrize(
    "body, written",
    [
        ("b[0] = a[0];", "b"),
        ("for (int i = 0; i < n; i++) { *b++ = a[i]; }", "b"),
        ("__global int *p = n > 0 ? a : b; p[1] = 2;", "ab"),
        ("__global int *p = a; for (int i = 0; i < n; i++) p = p + 1; *p = 1;", "a"),
        ("vstore4(vload4(0, a), 1, b);", "b"),
        ("atomic_add(a, 1); b[0] = 1;", "ab"),
        ("b[0] = a == b; prefetch(a, 4);", "b"),
        ("int x = a[0]; (void)x;", ""),
        ("struct S { int x[4]; }; *(__global struct S *)b = *(__global struct S *)a;", "b"),
        ("long at = (long)a; *(__global int *)at = 1;", "a"),
    ],
)
def test_the_arguments_a_kernel_writes(body, written):
    device = adreno_sim.open_device("sim:reference")
    kernel = device.build("__kernel void k(__global int *a, __global int *b, int n) { %s }" % body)["k"]  # noqa: UP031
    assert {"ab"[i] for i in range(2) if kernel.writes(i)} == set(written)


class Shared:
    """A storage, and the findings of a kernel over two views of it."""

    SOURCE = """
    __kernel void buffers(__global float *out, __global const float *in) {
        out[0] = in[get_global_id(0) + 32]; }
    __kernel void row(__global float *out, __global const float *in, int n) {
        int i = get_global_id(0); out[i] = in[i + n]; }
    __kernel void scattered(__global float *out, __global const float *in) { out[(int)in[0]] = in[40]; }
    __kernel void image(__global float *out, read_only image2d_t in) { out[0] = read_imagef(in, (int2)(0, 0)).x; }
    __kernel void reads(read_only image2d_t a, read_only image2d_t b, __global float *out) {
        out[0] = read_imagef(a, (int2)(0, 0)).x + read_imagef(b, (int2)(0, 0)).x; }
    __kernel void every_second(__global float *out, __global const float *in, int n) {
        int i = 2 * get_global_id(0); out[i] = in[i + n]; }"""

    def __init__(self):
        self.device = adreno_sim.open_device("sim:adreno-740")
        self.storage = self.device.allocate(4096)
        self.program = self.device.build(self.SOURCE)

    def findings(self, kernel, *places):
        views = [p if isinstance(p, np.generic) else self.device.view(self.storage, *p) for p in places]
        found = self.device.launch(self.program[kernel], (4,), (1,), views).findings
        return [finding for finding in found if finding.kind is Kind.STORAGE_REUSED_LIVE]


FLOATS, IMAGE = BufferSpec(256, "float32"), ImageSpec("image2d", 4, 4)


def test_an_output_over_an_input_is_found():
    shared = Shared()
    (finding,) = shared.findings("image", (FLOATS, 128), (IMAGE, 0))
    assert finding.kind is Kind.STORAGE_REUSED_LIVE
    assert finding.line == 7
    assert "out (bytes 128 to 132, written) and in (bytes 0 to 256, read)" in finding.message
    assert len(shared.findings("buffers", (FLOATS, 128), (FLOATS, 0))) == 1


def test_what_may_share_memory_does_so_silently():
    shared = Shared()
    assert shared.findings("buffers", (FLOATS, 0), (FLOATS, 0)) == []
    assert shared.findings("buffers", (FLOATS, 256), (FLOATS, 0)) == []
    assert shared.findings("reads", (IMAGE, 0), (IMAGE, 0), (FLOATS, 1024)) == []


def test_bytes_that_a_launch_does_not_access_may_be_shared():
    """Views of 64 floats that overlap by 32; the launch has 4 work-items."""
    shared = Shared()
    assert shared.findings("row", (FLOATS, 128), (FLOATS, 0), np.int32(28)) == []
    assert len(shared.findings("row", (FLOATS, 128), (FLOATS, 0), np.int32(29))) == 1
    assert shared.findings("row", (FLOATS, 0), (FLOATS, 128), np.int32(0)) == []
    assert shared.findings("every_second", (FLOATS, 128), (FLOATS, 0), np.int32(33)) == []
    assert len(shared.findings("every_second", (FLOATS, 128), (FLOATS, 0), np.int32(32))) == 1


def test_bytes_that_depend_on_memory_are_those_of_the_launch():
    shared = Shared()
    index = shared.device.view(shared.storage, BufferSpec(16, "float32"), 0)
    for value, found in ((7, 0), (8, 1), (9, 0)):  # it reads in[40], at byte 160, and writes out[value]
        shared.device.write(index, np.array([value, 0, 0, 0], np.float32))
        assert len(shared.findings("scattered", (FLOATS, 128), (FLOATS, 0))) == found
