"""What the simulated device refuses before a launch, each with the code an OpenCL driver gives. Nothing runs here."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.backends.sim.limits import choose_local
from adreno_sim.base.errors import AdrenoSimError, BuildError, DeviceError
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.profiles.profile import load

SOURCE = """
typedef struct { int a; char b; } Pair;
__kernel void all(__global float *out, read_only image2d_t image, float4 f, float3 g, Pair pair, __local int *local_, int n,
                  char c, sampler_t s) {
    __local float shared[64];
    shared[get_local_id(0)] = f.x + g.y + pair.a + local_[0] + n + c;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[0] + read_imagef(image, s, (int2)(0, 0)).x;
}
__kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(__global int *out) { out[0] = 1; }
__kernel void constants(__constant int *a, __global int *out) { out[0] = a[0]; }
"""


def fails(code, call, *args):
    with pytest.raises(DeviceError) as refused:
        call(*args)
    assert refused.value.code == code, str(refused.value)
    return str(refused.value)


class Setup:
    """A device, the program above and good arguments for its kernel `all`."""

    def __init__(self, text="adreno-740", options=""):
        self.device = adreno_sim.open_device(f"sim:{text}")
        self.program = self.device.build(SOURCE, options)
        self.buffer = self.view(BufferSpec(256, "float32"))
        self.image = self.view(ImageSpec("image2d", 4, 4))
        four, three = np.zeros(4, np.float32), np.zeros(3, np.float32)
        self.args = [self.buffer, self.image, four, three, bytes(8), Local(16), 3, np.int8(1), Sampler()]

    def view(self, spec):
        return self.device.view(self.device.allocate(self.device.view_nbytes(spec)), spec)

    def launch(self, global_size, local_size, kernel="all", args=None):
        return self.device.launch(self.program[kernel], global_size, local_size, self.args if args is None else args)

    def with_arg(self, index, value):
        return self.launch((64,), (64,), args=[*self.args[:index], value, *self.args[index + 1 :]])


@pytest.fixture(scope="module")
def setup():
    return Setup()


def test_a_program_lists_its_kernels_and_parameters(setup):
    assert setup.program.kernel_names() == ["all", "fixed", "constants"]
    kinds = [(param.name, param.kind, param.access) for param in setup.program["all"].params]
    assert kinds[:3] == [("out", "buffer", "none"), ("image", "image", "read_only"), ("f", "scalar", "none")]
    assert [kind for _, kind, _ in kinds[3:]] == ["scalar", "scalar", "local", "scalar", "scalar", "sampler"]
    with pytest.raises(AdrenoSimError, match="there are: all, fixed, constants"):
        setup.program["none"]


def test_a_program_that_does_not_compile(setup):
    with pytest.raises(BuildError, match="undeclared"):
        setup.device.build("__kernel void k(__global int *o) { o[0] = nothing; }")


@pytest.mark.parametrize(
    "global_size, local_size, code",
    [
        ((), None, "CL_INVALID_WORK_DIMENSION"),
        ((1, 1, 1, 1), None, "CL_INVALID_WORK_DIMENSION"),
        ((-1,), None, "CL_INVALID_GLOBAL_WORK_SIZE"),
        ((1.5,), None, "CL_INVALID_GLOBAL_WORK_SIZE"),
        ((1 << 62,), None, "CL_INVALID_GLOBAL_WORK_SIZE"),
        ((64,), (0,), "CL_INVALID_WORK_GROUP_SIZE"),
        ((64,), (8, 8), "CL_INVALID_WORK_GROUP_SIZE"),
        ((64,), (48,), "CL_INVALID_WORK_GROUP_SIZE"),
        ((2048,), (2048,), "CL_INVALID_WORK_ITEM_SIZE"),
        ((64, 64), (64, 32), "CL_INVALID_WORK_GROUP_SIZE"),
    ],
)
def test_work_sizes(setup, global_size, local_size, code):
    assert "kernel all" in fails(code, setup.launch, global_size, local_size)


def test_a_required_work_group_size(setup):
    text = fails("CL_INVALID_WORK_GROUP_SIZE", setup.launch, (16, 2), (16, 1), "fixed", [setup.buffer])
    assert "(8, 2, 1)" in text


def test_an_empty_launch_is_an_error_only_before_opencl_2_1(setup):
    assert setup.launch((0,), None).findings == []
    fails("CL_INVALID_GLOBAL_WORK_SIZE", Setup("adreno-650").launch, (0,), None)


def test_smaller_groups_at_the_edge_need_opencl_c_2_and_a_device_that_has_them():
    fails("CL_INVALID_WORK_GROUP_SIZE", Setup().launch, (65,), (64,))
    fails("CL_INVALID_WORK_GROUP_SIZE", Setup(options="-cl-std=CL2.0 -cl-uniform-work-group-size").launch, (65,), (64,))
    uneven = Setup("adreno-740,non_uniform_work_groups=false", "-cl-std=CL3.0")
    assert "the device has no" in fails("CL_INVALID_WORK_GROUP_SIZE", uneven.launch, (65,), (64,))


@pytest.mark.parametrize(
    "total, local",
    [
        ((64, 1, 1), (64, 1, 1)),
        ((1000, 10, 1), (125, 1, 1)),
        ((7, 30, 5), (7, 15, 1)),
        ((97 * 3, 4, 4), (97, 1, 1)),
        ((131, 2, 1), (1, 2, 1)),
        ((0, 5, 1), (1, 5, 1)),
    ],
)
def test_the_local_size_chosen_by_the_device(total, local):
    assert choose_local(total, load("adreno-740")) == local


@given(st.tuples(*[st.integers(1, 5000)] * 3), st.sampled_from(["adreno-740", "adreno-530", "reference"]))
def test_the_chosen_local_size_divides_and_fits_one_wave(total, name):
    profile = load(name)
    local = choose_local(total, profile)
    assert all(whole % part == 0 for whole, part in zip(total, local, strict=True))
    assert np.prod(local) <= profile["wave_sizes"][0]


@pytest.mark.parametrize(
    "index, value, code",
    [
        (0, "image", "CL_INVALID_ARG_VALUE"),
        (1, "buffer", "CL_INVALID_ARG_VALUE"),
        (0, 1, "CL_INVALID_ARG_VALUE"),
        (0, None, "CL_INVALID_ARG_VALUE"),
        (5, "buffer", "CL_INVALID_ARG_VALUE"),
        (6, "buffer", "CL_INVALID_ARG_VALUE"),
        (6, Local(4), "CL_INVALID_ARG_VALUE"),
        (6, Sampler(), "CL_INVALID_ARG_VALUE"),
        (6, 1.5, "CL_INVALID_ARG_VALUE"),
        (6, float("inf"), "CL_INVALID_ARG_VALUE"),
        (6, 1 << 32, "CL_INVALID_ARG_VALUE"),
        (6, -(1 << 31) - 1, "CL_INVALID_ARG_VALUE"),
        (6, np.float32(1), "CL_INVALID_ARG_VALUE"),
        (6, np.int64(1), "CL_INVALID_ARG_SIZE"),
        (6, "three", "CL_INVALID_ARG_VALUE"),
        (2, np.float32(1), "CL_INVALID_ARG_SIZE"),
        (2, 1.0, "CL_INVALID_ARG_VALUE"),
        (4, bytes(7), "CL_INVALID_ARG_SIZE"),
        (5, Local(0), "CL_INVALID_ARG_SIZE"),
        (5, Local(32768), "CL_OUT_OF_RESOURCES"),
        (8, Sampler(addressing="wrap"), "CL_INVALID_SAMPLER"),
        (8, Sampler(addressing="repeat"), "CL_INVALID_SAMPLER"),
        (8, 0, "CL_INVALID_ARG_VALUE"),
    ],
)
def test_arguments(setup, index, value, code):
    value = {"image": setup.image, "buffer": setup.buffer}.get(value, value) if isinstance(value, str) else value
    text = fails(code, setup.with_arg, index, value)
    assert "kernel all" in text
    assert code == "CL_OUT_OF_RESOURCES" or f"argument {index}" in text


def test_argument_errors_say_what_was_expected_and_what_came(setup):
    assert "(float* out): expected a buffer, got an image2d" in fails("CL_INVALID_ARG_VALUE", setup.with_arg, 0, setup.image)
    array = setup.view(ImageSpec("image2d_array", 4, 4, 2))
    assert "expected an image2d, got an image2d_array" in fails("CL_INVALID_ARG_VALUE", setup.with_arg, 1, array)


def test_the_number_of_arguments(setup):
    assert "takes 9 arguments, 8" in fails("CL_INVALID_KERNEL_ARGS", setup.launch, (64,), None, "all", setup.args[:-1])


def test_views_of_another_device_and_kernels_of_another_device(setup):
    other = Setup()
    fails("CL_INVALID_MEM_OBJECT", setup.with_arg, 0, other.buffer)
    fails("CL_INVALID_KERNEL", other.device.launch, setup.program["fixed"], (8, 2), None, [other.buffer])


@pytest.mark.parametrize(
    "limit, says",
    [
        ("LOCAL_MEM_SIZE=256", "272 bytes of local memory"),
        ("MAX_READ_IMAGE_ARGS=0", "1 read-only image arguments"),
        ("MAX_SAMPLERS=0", "1 sampler arguments"),
        ("MAX_PARAMETER_SIZE=64", "bytes of arguments"),
    ],
)
def test_resources_of_a_launch(limit, says):
    small = Setup(f"adreno-740,{limit}")
    assert says in fails("CL_OUT_OF_RESOURCES", small.launch, (64,), (64,))


@pytest.mark.parametrize("limit", ["MAX_CONSTANT_ARGS=0", "MAX_CONSTANT_BUFFER_SIZE=128"])
def test_constant_arguments(limit):
    small = Setup(f"adreno-740,{limit}")
    text = fails("CL_OUT_OF_RESOURCES", small.launch, (1,), (1,), "constants", [small.buffer, small.buffer])
    assert limit.partition("=")[0] in text


def test_constant_data_of_the_program():
    device = adreno_sim.open_device("sim:adreno-740,MAX_CONSTANT_BUFFER_SIZE=128")
    table = "__constant int table[] = {" + ", ".join(map(str, range(64))) + "};"
    look = device.build(table + "__kernel void look(__global int *out, int i) { out[0] = table[i]; }")["look"]
    out = device.view(device.allocate(4), BufferSpec(4, "int32"))
    assert "256 bytes of __constant data" in fails("CL_OUT_OF_RESOURCES", device.launch, look, (1,), None, [out, 3])
