"""Run in a child process by test_opencl_backend.py: `opencl_checks.py DEVICE` prints one JSON line per check.

A driver may crash and brings its own LLVM, so none is loaded into the tests' process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import handmade
import numpy as np

from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import BuildError, DeviceError
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.run.observer import Observer
from adreno_sim.compiler.run.vm import run
from adreno_sim.device.protocol import Device

F32 = "float32"
SCALE = """
kernel void scale(global float *y, global const float *x, float a) { int i = get_global_id(0); y[i] = a * x[i]; }
kernel void fill(write_only image2d_array_t y, float a) {
  write_imagef(y, (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0), (float4)(a));
}
"""


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(F32)


def buffer(device: Device, array: np.ndarray, offset: int = 0):
    storage = device.allocate(array.nbytes + offset)
    view = device.view(storage, BufferSpec(array.nbytes, array.dtype.name), offset)
    device.write(view, array.reshape(-1))
    return view


def raises(code: str, call, *args, text: str = "") -> None:
    try:
        call(*args)
    except DeviceError as error:
        assert error.code == code, f"expected {code} ... {text}, found {error}"
        assert text in str(error), f"expected {code} ... {text}, found {error}"
        return
    raise AssertionError(f"expected {code}, nothing was raised")


def check_cl_info(device: Device) -> None:
    assert device.info.backend == "cl"
    assert device.info.name
    assert device.info.limits["MAX_WORK_GROUP_SIZE"] >= 256
    assert device.info.limits["IMAGE2D_MAX_WIDTH"] >= 8192
    assert any("does not check accesses" in sentence for sentence in device.info.lacks)
    pitch = device.info.limits["IMAGE_PITCH_ALIGNMENT"]
    assert pitch > 0 if "image2d" in device.info.image_views else pitch == 0
    assert device.info.pitch_rule == ("pixels" if pitch else "bytes")


def check_launch_with_buffers_and_scalars(device: Device) -> None:
    program = device.build(SCALE)
    assert set(program.kernel_names()) == {"scale", "fill"}
    x = numbers(64)
    source, target = buffer(device, x), buffer(device, x, offset=4096)
    result = device.launch(program["scale"], (64, 1, 1), (16, 1, 1), (target, source, np.float32(3)))
    assert result.device_seconds is None or result.device_seconds > 0
    np.testing.assert_array_equal(device.read(target), np.float32(3) * x)
    np.testing.assert_array_equal(device.read(source), x)
    device.launch(program["scale"], (64,), None, (target, source, 2))  # a Python number takes the parameter's type
    np.testing.assert_array_equal(device.read(target), 2 * x)


def check_parameters(device: Device) -> None:
    program = device.build(SCALE)
    assert [(p.kind, p.spelled) for p in program["scale"].params] == [
        ("buffer", "float*"),
        ("buffer", "float*"),
        ("scalar", "float"),
    ]
    assert [(p.kind, p.access) for p in program["fill"].params] == [("image", "write_only"), ("scalar", "none")]


def check_local_memory_and_samplers(device: Device) -> None:
    source = """
    kernel void f(global float4 *y, read_only image2d_t x, sampler_t s, local float *t) {
      int i = get_local_id(0);
      t[i] = i;
      barrier(CLK_LOCAL_MEM_FENCE);
      y[i] = read_imagef(x, s, (float2)(i - 0.5f, 0.5f)) + t[get_local_size(0) - 1 - i];
    }"""
    image = numbers(1, 1, 4, 4)
    spec = ImageSpec("image2d", 4)
    texture = device.view(device.allocate(device.view_nbytes(spec)), spec)
    device.write(texture, image)
    result = buffer(device, np.zeros((6, 4), F32))
    args = (result, texture, Sampler(addressing="clamp_to_edge"), Local(24))
    device.launch(device.build(source)["f"], (6, 1, 1), (6, 1, 1), args)
    expected = image[0, 0][[0, 0, 1, 2, 3, 3]] + np.arange(6, dtype=F32)[::-1, None]
    np.testing.assert_array_equal(device.read(result).reshape(6, 4), expected)


def launcher(device: Device):
    """(launch(name, *args), x, an image2d_array, an image2d)."""
    program = device.build(SCALE)
    array, flat = ImageSpec("image2d_array", 4, 4, 2), ImageSpec("image2d", 4, 4)
    views = [device.view(device.allocate(device.view_nbytes(spec)), spec) for spec in (array, flat)]

    def launch(name: str, *args):
        return device.launch(program[name], (4, 1, 1), (4, 1, 1), args)

    return launch, buffer(device, numbers(16)), *views


def check_wrong_arguments_never_reach_the_driver(device: Device) -> None:
    launch, x, array, flat = launcher(device)
    one = np.float32(1)
    raises("CL_INVALID_KERNEL_ARGS", launch, "scale", x, x, text="scale takes 3 arguments, 2 were given")
    raises("CL_INVALID_ARG_VALUE", launch, "scale", x, array, one)
    raises("CL_INVALID_ARG_VALUE", launch, "fill", x, one)
    raises("CL_INVALID_ARG_VALUE", launch, "fill", flat, one)
    raises("CL_INVALID_ARG_VALUE", launch, "scale", x, x, x)
    raises("CL_INVALID_ARG_VALUE", launch, "scale", x, one, one)
    raises("CL_INVALID_ARG_SIZE", launch, "scale", x, x, np.float16(1))
    raises("CL_INVALID_ARG_VALUE", launch, "scale", x, x, np.int32(1))
    kernel = device.build(SCALE)["scale"]
    for code, size in (("CL_INVALID_WORK_ITEM_SIZE", (2**20, 1, 1)), ("CL_INVALID_WORK_GROUP_SIZE", (256, 64, 1))):
        raises(code, device.launch, kernel, size, size, (x, x, 1.0))
    x.release()
    raises("CL_INVALID_MEM_OBJECT", launch, "scale", x, x, one)


def check_cl_messages_name_the_argument(device: Device) -> None:
    launch, x, array, flat = launcher(device)
    one = np.float32(1)
    raises(
        "CL_INVALID_ARG_VALUE",
        launch,
        "scale",
        x,
        array,
        one,
        text="argument 1 (x) of scale is float* (buffer), given an image2d_array",
    )
    raises("CL_INVALID_ARG_VALUE", launch, "fill", x, one, text="image2d_array_t (image), given a buffer")
    raises("CL_INVALID_ARG_VALUE", launch, "fill", flat, one, text="given an image2d view")
    raises("CL_INVALID_ARG_SIZE", launch, "scale", x, x, np.float64(1), text="is float, given float64 1.0")
    raises("CL_INVALID_KERNEL_NAME", device.build(SCALE).__getitem__, "nothing", text="the program has")


def check_views_share_their_bytes(device: Device) -> None:
    """A texture, a buffer over the same storage, and the texture again: writes through one show in the other."""
    program = device.build(SCALE)
    spec = ImageSpec("image2d_array", 16, 3, 2)
    storage = device.allocate(device.view_nbytes(spec))
    texture, flat = device.view(storage, spec), device.view(storage, BufferSpec(16 * 3 * 2 * 16, F32))
    data = numbers(2, 3, 16, 4)
    device.write(texture, data)
    np.testing.assert_array_equal(device.read(flat).reshape(data.shape), data)  # rows of 256 bytes need no padding
    device.launch(program["fill"], (16, 3, 1), None, (texture, np.float32(5)))  # layer 0 only
    data[0] = 5
    np.testing.assert_array_equal(device.read(flat).reshape(data.shape), data)
    ones = buffer(device, np.ones(384, F32))
    device.launch(program["scale"], (384, 1, 1), (64, 1, 1), (flat, ones, np.float32(7)))
    np.testing.assert_array_equal(device.read(texture), np.full((2, 3, 16, 4), 7, F32))
    device.launch(program["fill"], (1, 1, 1), None, (texture, np.float32(9)))
    texture.release()  # hands its texels over
    assert device.read(flat)[:5].tolist() == [9, 9, 9, 9, 7]


def check_rows_lie_at_the_pitch(device: Device) -> None:
    """A 5 x 3 image2d over a storage: the buffer over the same bytes shows each row at a multiple of the row pitch."""
    spec = ImageSpec("image2d", 5, 3)
    nbytes = device.view_nbytes(spec)
    assert nbytes % 3 == 0
    assert nbytes >= 3 * 80
    storage = device.allocate(nbytes)
    texture, flat = device.view(storage, spec), device.view(storage, BufferSpec(nbytes, F32))
    data = numbers(1, 3, 5, 4)
    device.write(texture, data)
    np.testing.assert_array_equal(device.read(texture), data)
    rows = device.read(flat).reshape(3, -1)
    np.testing.assert_array_equal(rows[:, :20], data.reshape(3, 20))
    rows[:, :20] += 1
    device.write(flat, rows)
    np.testing.assert_array_equal(device.read(texture), data + 1)


def check_copies_are_logical(device: Device) -> None:
    spec = ImageSpec("image2d_array", 5, 3, 2)
    texture = device.view(device.allocate(device.view_nbytes(spec)), spec)
    data = numbers(2, 3, 5, 4)
    source, back = buffer(device, data), buffer(device, np.zeros_like(data))
    device.copy(source, texture)
    np.testing.assert_array_equal(device.read(texture), data)
    device.copy(texture, back)
    np.testing.assert_array_equal(device.read(back), data.reshape(-1))
    raises(
        "CL_INVALID_VALUE",
        device.copy,
        buffer(device, numbers(3)),
        texture,
        text="copy of 3 float32 elements to a view of 120 float32 elements",
    )


def check_bad_sizes(device: Device) -> None:
    raises("CL_INVALID_BUFFER_SIZE", device.allocate, 0)
    raises("CL_INVALID_BUFFER_SIZE", device.allocate, 1 << 60, text="MAX_MEM_ALLOC_SIZE")
    storage = device.allocate(64)
    raises(
        "CL_INVALID_VALUE", device.view, storage, BufferSpec(65), text="buffer of 65 bytes at offset 0: the storage has 64 bytes"
    )
    raises("CL_INVALID_IMAGE_SIZE", device.view, storage, ImageSpec("image2d_array", 500, 10), text="the storage has 64")
    big = device.allocate(16 << 20)
    raises("CL_INVALID_IMAGE_SIZE", device.view, big, ImageSpec("image2d_array", 70000), text="IMAGE2D_MAX_WIDTH")
    raises("CL_INVALID_IMAGE_DESCRIPTOR", device.view, big, ImageSpec("image4d", 4), text="image kind 'image4d'")
    raises("CL_IMAGE_FORMAT_NOT_SUPPORTED", device.view, big, ImageSpec("image2d", 4, order="XYZ"))
    device.free(storage)
    raises("CL_INVALID_MEM_OBJECT", device.free, storage)
    view = buffer(device, numbers(4))
    raises(
        "CL_INVALID_VALUE",
        device.write,
        view,
        np.zeros(5, F32),
        text="write of 5 float32 elements to a view of 4 float32 elements",
    )


def check_build_errors_carry_the_log(device: Device) -> None:
    try:
        device.build("kernel void f(global float *x) { x[0] = nonsense; }")
    except BuildError as error:
        assert "nonsense" in str(error), str(error)
        return
    raise AssertionError("expected a BuildError")


def check_a_failed_build_leaves_no_file(device: Device) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            device.build("kernel void f(global float *x) { x[0] = nothing; }")
        except BuildError as error:
            assert folder not in str(error), str(error)
        finally:
            tempfile.tempdir = before
        left = [path for path in Path(folder).rglob("*.cl") if "nothing" in path.read_text()]
        assert not left, left


def check_pool_reuses_exact_sizes(device: Device) -> None:
    before = device.pool_stats()
    first = device.allocate(100_000)
    assert device.pool_stats().used - before.used == 102_400
    device.free(first)
    again = device.allocate(99_000)  # as many pages
    after = device.pool_stats()
    assert after.used - before.used == 102_400
    assert after.reserved - before.reserved in (0, 102_400)
    device.free(again)
    assert device.pool_stats().used == before.used


def check_separate_images_are_told_once(device: Device) -> None:
    device.take_warnings()
    lacks = any("separate images" in sentence for sentence in device.info.lacks)
    fresh = open_device(sys.argv[1])
    assert {w.kind.label for w in fresh.take_warnings()} <= {"unfit-device"}
    spec = ImageSpec("image2d_array", 4)
    for _ in range(2):
        fresh.view(fresh.allocate(fresh.view_nbytes(spec)), spec)
    assert [w.kind.label for w in fresh.take_warnings()] == ["no-image-from-buffer"] * lacks
    assert not fresh.take_warnings()


def check_models(device: Device) -> None:
    x = numbers(37, 4)
    flat, first = run(handmade.symbolic(), [x], device)
    np.testing.assert_array_equal(first, x + 1)
    np.testing.assert_array_equal(flat, (x + 1 + 1).reshape(-1))
    texture = numbers(2, 3, 5, 4)
    np.testing.assert_array_equal(run(handmade.texture(), [texture], device)[0], 8 * texture)
    pair = numbers(2, 4)
    np.testing.assert_array_equal(run(handmade.branch(), [np.array(True), pair], device)[0], pair + 1)
    np.testing.assert_array_equal(run(handmade.branch(), [np.array(False), pair], device)[0], np.full((2, 4), 7))


def check_models_free_what_they_use(device: Device) -> None:
    used = device.pool_stats().used
    for name in (handmade.symbolic, handmade.texture):
        model = name()
        shape = [4 if isinstance(dim, str) else dim for dim in model.inputs[0].shape]
        run(model, [numbers(*shape)], device)
    assert device.pool_stats().used == used


def check_half(device: Device) -> None:
    if "cl_khr_fp16" not in device.info.extensions:
        assert any("cl_khr_fp16" in sentence for sentence in device.info.lacks)
        return
    source = """
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void f(global half *y, global const half *x) { int i = get_global_id(0); y[i] = x[i] * x[i] + (half)1; }"""
    x = numbers(64).astype(np.float16)
    result = buffer(device, np.zeros(64, np.float16))
    device.launch(device.build(source)["f"], (64, 1, 1), None, (result, buffer(device, x)))
    np.testing.assert_allclose(device.read(result), x * x + np.float16(1), rtol=2e-3)


def check_what_a_kernel_prints_is_its_result(device: Device) -> None:
    program = device.build('kernel void say(int n) { printf("::error::%d\\n", n); }')
    descriptor, kept = os.memfd_create("stdout"), os.dup(1)
    os.dup2(descriptor, 1)
    try:
        result = device.launch(program["say"], (1,), None, [np.int32(7)])
        silent = device.launch(device.build("kernel void f(int n) {}")["f"], (1,), None, [np.int32(7)])
    finally:
        os.dup2(kept, 1)
    assert result.printed == "::error::7\n"
    assert not silent.printed
    assert os.fstat(descriptor).st_size == 0  # nothing went past us


def saved_models(device: Device) -> None:
    """`opencl_checks.py DEVICE BUNDLE INPUTS.npz OUTPUTS.npz`: run a bundle, with TVM out of reach."""
    sys.modules["tvm"] = None  # type: ignore[assignment]
    model = CompiledModel.load(sys.argv[2])
    with np.load(sys.argv[3]) as archive:
        inputs = {name: archive[name] for name in archive.files}

    class Count(Observer):
        launches = 0

        def before_launch(self, launch) -> None:
            Count.launches += 1

    outputs = run(model, inputs, device, Count())
    np.savez(sys.argv[4], launches=Count.launches, **{f"output_{i}": array for i, array in enumerate(outputs)})


def main() -> None:
    device = open_device(sys.argv[1])
    if len(sys.argv) > 2:
        saved_models(device)
        return
    for name, check in sorted(globals().items()):
        if name.startswith("check_"):
            try:
                check(device)
                failure = ""
            except Exception:
                failure = traceback.format_exc()
            print(json.dumps([name, failure]), flush=True)


if __name__ == "__main__":
    main()
