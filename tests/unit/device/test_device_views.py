"""Storages, views and data of the simulated device: pitch rules, error codes, coherence, statistics."""

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.specs import BufferSpec, ImageSpec, TensorSpec
from adreno_sim.findings import Kind

TEXTURE = TensorSpec((1, 4, 28, 28, 4), "float32", "global.texture")


def open_sim(text="adreno-740"):
    return adreno_sim.open_device(f"sim:{text}")


def fails(code, call, *args):
    with pytest.raises(DeviceError) as refused:
        call(*args)
    assert refused.value.code == code
    return str(refused.value)


@pytest.mark.parametrize("rule, nbytes", [("bytes", 50176), ("pixels", 64 * 16 * 28 * 4), ("hardware", 28672 * 4)])
def test_bytes_of_a_view_follow_the_pitch_rule(rule, nbytes):
    device = open_sim(f"adreno-740,pitch_rule={rule}")
    assert device.view_nbytes(TEXTURE.lower()) == nbytes
    assert device.view_nbytes(BufferSpec(50176, "float32")) == 50176


@pytest.mark.parametrize(
    "profile", ["adreno-740", "adreno-740,pitch_rule=hardware", "adreno-650", "adreno-630,driver=mesa", "reference"]
)
def test_a_texture_gives_back_what_was_written_whatever_the_layout(profile):
    device = open_sim(profile)
    spec = TensorSpec((2, 3, 5, 7, 4), "float16", "global.texture").lower()
    view = device.view(device.allocate(device.view_nbytes(spec)), spec)
    data = np.random.default_rng(1).normal(size=(6, 5, 7, 4)).astype(np.float16)
    device.write(view, data)
    np.testing.assert_array_equal(device.read(view), data)


def test_a_buffer_view_shows_the_pitch_of_the_texture():
    device = open_sim("adreno-740,pitch_rule=pixels")
    spec = ImageSpec("image2d", 3, 2)
    storage = device.allocate(4096)
    device.write(device.view(storage, spec), np.arange(24, dtype=np.float32))
    floats = device.read(device.view(storage, BufferSpec(4096, "float32")))
    assert floats[:12].tolist() == list(range(12))
    assert floats[256:268].tolist() == list(range(12, 24))
    assert np.isnan(floats[12:256]).all()


@pytest.mark.parametrize("profile, warned", [("adreno-740", False), ("adreno-650", True), ("adreno-630,driver=mesa", True)])
def test_an_array_over_a_buffer_warns_once_where_the_device_has_none(profile, warned):
    device = open_sim(profile)
    for _ in range(2):
        device.view(device.allocate(50176), TEXTURE.lower())
    assert [finding.kind for finding in device.take_warnings()] == [Kind.NO_IMAGE_FROM_BUFFER] * warned
    assert device.take_warnings() == []


def test_a_separate_image_is_coherent_and_counts_as_memory():
    device = open_sim("adreno-650")
    storage = device.allocate(4096)
    before = device.pool_stats().used
    view = device.view(storage, ImageSpec("image2d_array", 3, 2, 2))
    assert device.pool_stats().used == before + 2 * 4096  # a page for each layer
    buffer = device.view(storage, BufferSpec(192, "float32"))
    device.write(buffer, np.arange(48, dtype=np.float32))
    assert device.read(view).ravel().tolist() == list(range(48))
    device.write(view, np.zeros(48, np.float32))
    assert not device.read(buffer).any()
    view.release()
    assert device.pool_stats().used == before


def test_a_640_has_images_over_buffers_but_no_arrays_of_them():
    device = open_sim("adreno-640")
    device.view(device.allocate(4096), ImageSpec("image2d", 4, 4))
    device.view(device.allocate(4096), ImageSpec("image1d_buffer", 16))
    assert device.take_warnings() == []


def test_copy_keeps_the_logical_order_between_any_two_views():
    device = open_sim("adreno-740,pitch_rule=hardware")
    data = np.arange(2 * 3 * 5 * 4, dtype=np.float32)
    image = ImageSpec("image2d_array", 5, 3, 2)
    texture = device.view(device.allocate(device.view_nbytes(image)), image)
    source, target = (device.view(device.allocate(480), BufferSpec(480, "float32")) for _ in range(2))
    device.write(source, data)
    device.copy(source, texture)
    device.copy(texture, target)
    np.testing.assert_array_equal(device.read(target), data)
    assert "expected" not in fails(
        "CL_INVALID_VALUE", device.copy, source, device.view(device.allocate(4), BufferSpec(4, "float32"))
    )


def test_writes_of_the_wrong_size_or_dtype_are_refused():
    device = open_sim()
    view = device.view(device.allocate(64), BufferSpec(64, "float32"))
    fails("CL_INVALID_VALUE", device.write, view, np.zeros(15, np.float32))
    fails("CL_INVALID_VALUE", device.write, view, np.zeros(16, np.int32))
    device.write(view, np.zeros((4, 4), np.float32))


def test_fresh_memory_is_nan_and_so_is_reused_memory():
    device = open_sim()
    storage = device.allocate(4096)
    view = device.view(storage, BufferSpec(4096, "float32"))
    assert np.isnan(device.read(view)).all()
    device.write(view, np.zeros(1024, np.float32))
    device.free(storage)
    again = device.allocate(4096)
    assert again.block is storage.block
    assert np.isnan(device.read(device.view(again, BufferSpec(4096, "float16")))).all()


@pytest.mark.parametrize(
    "spec, offset, code",
    [
        (BufferSpec(4097, "uint8"), 0, "CL_INVALID_VALUE"),
        (BufferSpec(4096, "uint8"), 128, "CL_INVALID_VALUE"),
        (BufferSpec(4, "uint8"), -128, "CL_INVALID_VALUE"),
        (BufferSpec(4, "uint8"), 64, "CL_MISALIGNED_SUB_BUFFER_OFFSET"),
        (BufferSpec(6, "float32"), 0, "CL_INVALID_BUFFER_SIZE"),
        (BufferSpec(4, "float33"), 0, "CL_INVALID_VALUE"),
        (ImageSpec("image2d", 16385, 1), 0, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d", 1, 16385), 0, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d_array", 1, 1, 2049), 0, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image3d", 1, 1, 2049), 0, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d", 16, 17), 0, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d", 4, 4), 4096, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d", 4, 4), -128, "CL_INVALID_IMAGE_SIZE"),
        (ImageSpec("image2d", 4, 4), 64, "CL_MISALIGNED_SUB_BUFFER_OFFSET"),
        (ImageSpec("image2d", 4, 4, row_pitch=96), 0, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"),
        (ImageSpec("image2d", 4, 4, order="NV12"), 0, "CL_IMAGE_FORMAT_NOT_SUPPORTED"),
    ],
)
def test_impossible_views_are_refused_with_opencls_code(spec, offset, code):
    device = open_sim()
    fails(code, device.view, device.allocate(4096), spec, offset)


def test_the_base_of_an_image_is_aligned_in_the_unit_of_the_rule():
    spec = ImageSpec("image2d", 4, 4)
    device = open_sim("adreno-740,pitch_rule=bytes")
    device.view(device.allocate(8192), spec, 128)
    device = open_sim("adreno-740,pitch_rule=pixels")
    fails("CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", device.view, device.allocate(8192), spec, 128)
    device.view(device.allocate(8192), spec, 1024)


def test_an_image_that_fits_only_by_page_rounding_warns():
    device = open_sim("adreno-740,pitch_rule=pixels")
    device.view(device.allocate(1000), ImageSpec("image2d", 4, 4))
    (warning,) = device.take_warnings()
    assert warning.kind is Kind.PITCH_DIFFERS
    assert "4096 bytes" in warning.message
    assert "1000" in warning.message


def test_what_was_freed_or_released_cannot_be_used():
    device, other = open_sim(), open_sim()
    storage = device.allocate(4096)
    view, released = (device.view(storage, BufferSpec(64, "float32")) for _ in range(2))
    released.release()
    fails("CL_INVALID_MEM_OBJECT", released.release)
    fails("CL_INVALID_MEM_OBJECT", device.read, released)
    fails("CL_INVALID_MEM_OBJECT", other.read, view)
    fails("CL_INVALID_MEM_OBJECT", other.view, storage, BufferSpec(4, "float32"))
    fails("CL_INVALID_MEM_OBJECT", other.free, storage)
    device.free(storage)
    view.release()
    fails("CL_INVALID_MEM_OBJECT", view.release)
    for call in (lambda: device.free(storage), lambda: device.read(view), lambda: device.view(storage, BufferSpec(4, "float32"))):
        fails("CL_INVALID_MEM_OBJECT", call)
    reused = device.allocate(4096)
    assert reused.block is storage.block
    fails("CL_INVALID_MEM_OBJECT", device.write, view, np.zeros(16, np.float32))


def test_allocation_limits():
    device = open_sim("adreno-740,GLOBAL_MEM_SIZE=16384,MAX_MEM_ALLOC_SIZE=8192")
    fails("CL_INVALID_BUFFER_SIZE", device.allocate, 0)
    fails("CL_INVALID_BUFFER_SIZE", device.allocate, 8193)
    held = device.allocate(8192)
    device.free(device.allocate(4096))
    assert device.allocate(8192)
    assert "0 of GLOBAL_MEM_SIZE" in fails("CL_MEM_OBJECT_ALLOCATION_FAILURE", device.allocate, 1)
    device.free(held)
    stats = device.pool_stats()
    assert (stats.used, stats.reserved, stats.peak_used, stats.peak_reserved) == (8192, 16384, 16384, 16384)


def test_separate_images_take_what_the_pool_keeps_free():
    device = open_sim("adreno-630,driver=mesa,GLOBAL_MEM_SIZE=12288,MAX_MEM_ALLOC_SIZE=8192")
    storage = device.allocate(4096)
    device.free(device.allocate(8192))
    device.view(storage, ImageSpec("image2d", 8, 4))
    device.view(storage, ImageSpec("image2d", 4, 4))
    fails("CL_MEM_OBJECT_ALLOCATION_FAILURE", device.view, storage, ImageSpec("image2d", 2, 2))


def test_without_a_pool_nothing_is_kept():
    device = open_sim("adreno-740,pool=none")
    device.free(device.allocate(4096))
    assert device.pool_stats().reserved == 0
