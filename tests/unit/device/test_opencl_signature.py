"""Kernel parameters read from source text."""

import time

import pytest

from adreno_sim.backends.opencl.signature import parse
from adreno_sim.device.protocol import KernelParam, may_write

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
        KernelParam("x", "buffer", "float*", space="global", qualifiers=("const",)),
        KernelParam("y", "buffer", "half4*", space="global"),
        KernelParam("c", "buffer", "unsigned int*", space="constant"),
        KernelParam("scratch", "local", "float*"),
        KernelParam("out", "image", "image2d_array_t", "write_only"),
        KernelParam("in", "image", "image2d_t", "read_only"),
        KernelParam("both", "image", "image3d_t", "read_write"),
        KernelParam("plain", "image", "image1d_t", "read_only"),
        KernelParam("s", "sampler", "sampler_t"),
        KernelParam("n", "scalar", "unsigned int"),
        KernelParam("v", "scalar", "float4"),
        KernelParam("b", "scalar", "box"),
    ]
    assert {param.name for param in found if may_write(param)} == {"y", "out", "both"}


def test_declarations_and_empty_lists():
    assert parse(SOURCE, "g") == [KernelParam("only_declared", "buffer", "float*", space="global")]
    assert parse(SOURCE, "nothing") == []


ENDLESS = ("kernel ", "/* ", "__attribute__((a ", "kernel f", "kernel void f", "kernel void f(", "__attribute__ ")


@pytest.mark.parametrize("text", ENDLESS)
def test_the_time_grows_with_the_text(text):
    """100,000 of each took minutes: every beginning was looked for its end."""
    began = time.process_time()
    parse(text * 100_000, "f")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", ["h", "ff", "not_this"])
def test_no_such_kernel(name):
    assert parse(SOURCE, name) is None
