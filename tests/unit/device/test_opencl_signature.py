"""Kernel parameters read from source text."""

import pytest

from adreno_sim.backends.opencl.signature import parse
from adreno_sim.device.protocol import KernelParam

SOURCE = """
// kernel void f(int not_this);
__kernel void g(__global float* restrict only_declared);
/* __kernel void f(int nor, int this); */
__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void f(
    __global const float* restrict x,   // read only
    global half4 *y, __constant unsigned int *c, local float* scratch,
    __write_only image2d_array_t out, read_only image2d_t in, __read_write image3d_t both, image1d_t plain,
    sampler_t s, const unsigned int n, float4 v, struct box b) {
  g(x);
}
kernel void nothing(void) {}
"""


def test_every_kind_of_parameter():
    found = parse(SOURCE, "f")
    assert found == [
        (KernelParam("x", "buffer", "float*"), False),
        (KernelParam("y", "buffer", "half4*"), True),
        (KernelParam("c", "buffer", "unsigned int*"), False),
        (KernelParam("scratch", "local", "float*"), False),
        (KernelParam("out", "image", "image2d_array_t", "write_only"), True),
        (KernelParam("in", "image", "image2d_t", "read_only"), False),
        (KernelParam("both", "image", "image3d_t", "read_write"), True),
        (KernelParam("plain", "image", "image1d_t", "read_only"), False),
        (KernelParam("s", "sampler", "sampler_t"), False),
        (KernelParam("n", "scalar", "unsigned int"), False),
        (KernelParam("v", "scalar", "float4"), False),
        (KernelParam("b", "scalar", "box"), False),
    ]


def test_declarations_and_empty_lists():
    assert parse(SOURCE, "g") == [(KernelParam("only_declared", "buffer", "float*"), True)]
    assert parse(SOURCE, "nothing") == []


@pytest.mark.parametrize("name", ["h", "ff", "not_this"])
def test_no_such_kernel(name):
    assert parse(SOURCE, name) is None
