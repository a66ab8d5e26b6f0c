"""Device memory: poison, the pools against hand-worked sequences, views that share bytes, separate images kept coherent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim import image
from adreno_sim.base import host_memory
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.memory.pool import PagedPool
from adreno_sim.memory.storage import (
    PAGE,
    DeviceMemory,
    MemoryBlock,
    Storage,
    StorageView,
    after_write,
    before_access,
    poison_word,
)


def memory(total=1 << 20, max_alloc=1 << 19):
    return DeviceMemory(total, max_alloc)


@given(st.integers(0, 2**20))
@settings(max_examples=50)
def test_poison_is_nan_at_every_width(seed):
    word = np.array([poison_word(seed)], np.uint64)
    assert np.isnan(word.view(np.float64)).all()
    assert np.isnan(word.view(np.float32)).all()
    assert np.isnan(word.view(np.float16)).all()


def test_poison_differs_by_seed():
    assert len({poison_word(seed) for seed in range(64)}) == 64


@pytest.mark.parametrize("nbytes", [1, 4095, 4096, 4097, 100_000])
def test_blocks_are_whole_poisoned_pages(nbytes):
    block = MemoryBlock(nbytes, poison_word(7))
    assert block.nbytes % PAGE == 0
    assert nbytes <= block.nbytes < nbytes + PAGE
    assert block.bytes.ctypes.data % PAGE == 0
    assert block.bytes.nbytes == block.nbytes
    assert (block.bytes.view(np.uint64) == poison_word(7)).all()


def test_limits_of_the_device():
    device = memory(total=3 * PAGE, max_alloc=2 * PAGE)
    for nbytes in (0, -1, 2 * PAGE + 1):
        with pytest.raises(DeviceError) as refused:
            device.take(nbytes)
        assert refused.value.code == "CL_INVALID_BUFFER_SIZE"
    block = device.take(2 * PAGE)
    with pytest.raises(DeviceError, match="4096 of GLOBAL_MEM_SIZE = 12288 are free") as full:
        device.take(PAGE + 1)
    assert full.value.code == "CL_MEM_OBJECT_ALLOCATION_FAILURE"
    device.give_back(block)
    assert (device.reserved, device.peak) == (0, 2 * PAGE)


def test_what_the_host_does_not_have_is_refused(monkeypatch):
    device = DeviceMemory(1 << 40, 1 << 40)
    with pytest.raises(DeviceError, match="the host has only") as refused:
        device.take(1 << 40)
    assert refused.value.code == "CL_MEM_OBJECT_ALLOCATION_FAILURE"
    assert device.reserved == 0
    monkeypatch.setattr("adreno_sim.memory.storage.available_bytes", lambda: 65 << 20)
    with pytest.raises(DeviceError, match="the host has only"):
        device.take(65 << 20)
    assert device.take(PAGE).nbytes == PAGE


def test_the_host_and_its_container_are_asked(tmp_path, monkeypatch):
    assert host_memory.available_bytes() > 1 << 20
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:    80 kB\n")
    monkeypatch.setattr(host_memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(host_memory, "_CGROUP", tmp_path)
    assert host_memory.available_bytes() == 80 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert host_memory.available_bytes() == 80 * 1024
    (tmp_path / "memory.max").write_text("5000\n")
    assert host_memory.available_bytes() == 4000
    (tmp_path / "meminfo").unlink()
    (tmp_path / "memory.max").unlink()
    assert host_memory.available_bytes() is None


def test_paged_pool_reuses_exact_sizes_last_freed_first():
    pool = PagedPool(memory(), PAGE)
    first, second, other = pool.allocate(100), pool.allocate(4096), pool.allocate(5000)
    first.bytes[:4] = 1
    for storage in (first, second, other):
        pool.free(storage)
    assert (pool.used, pool.kept) == (0, 4 * PAGE)
    assert pool.allocate(1).block is second.block
    again = pool.allocate(2)
    assert again.block is first.block
    assert again.bytes[:4].tolist() == [0xF8, 0x7F, 0xF8, 0x7F]
    assert pool.allocate(3).block not in (first.block, second.block, other.block)
    assert (pool.used, pool.kept, pool.memory.reserved) == (3 * PAGE, 2 * PAGE, 5 * PAGE)


def test_paged_pool_releases_everything_and_retries_once():
    pool = PagedPool(memory(total=4 * PAGE, max_alloc=4 * PAGE), PAGE)
    held = pool.allocate(PAGE)
    pool.free(pool.allocate(2 * PAGE))
    assert pool.allocate(3 * PAGE).nbytes == 3 * PAGE
    assert pool.kept == 0
    with pytest.raises(DeviceError) as refused:
        pool.allocate(PAGE)
    assert refused.value.code == "CL_MEM_OBJECT_ALLOCATION_FAILURE"
    assert held.live
    assert pool.used == 4 * PAGE


def test_without_a_pool_memory_returns_at_once():
    pool = PagedPool(memory(), PAGE, keep=False)
    pool.free(pool.allocate(PAGE))
    assert (pool.used, pool.kept, pool.memory.reserved) == (0, 0, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40_000)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_paged_pool_accounts_for_every_page(steps):
    pool, held = PagedPool(memory(total=1 << 19), PAGE), []
    for allocate, number in steps:
        try:
            if allocate or not held:
                held.append(pool.allocate(number))
            else:
                pool.free(held.pop(number % len(held)))
        except DeviceError:
            assert pool.kept == 0
        assert pool.used == sum(storage.block.nbytes for storage in held)
        assert pool.memory.reserved == pool.used + pool.kept <= pool.memory.total
        assert len({id(storage.block) for storage in held}) == len(held)


def buffer_view(storage, nbytes, offset=0, dtype="float32"):
    view = StorageView(BufferSpec(nbytes, dtype), storage, offset, nbytes)
    storage.views.append(view)
    return view


def separate_view(storage, width, height, offset=0):
    """An 8-byte-per-texel image with memory of its own and padded rows."""
    spec = ImageSpec("image2d", width, height, 1, "RG", "FLOAT", row_pitch=width * 8 + 24)
    layout = image.layout_of(spec)
    view = StorageView(
        spec, storage, offset, layout.dense_bytes, layout, image.format_of("RG", "FLOAT"), MemoryBlock(layout.nbytes, 0)
    )
    storage.views.append(view)
    return view


def write(view, value):
    before_access(view)
    view.array()[...] = value
    after_write(view)


def read(view):
    before_access(view)
    return view.array().copy()


def test_a_buffer_and_an_image_see_the_same_bytes():
    storage = Storage(PAGE, MemoryBlock(PAGE, 0))
    layout = image.layout_of(ImageSpec("image2d", 2, 2, row_pitch=64))
    picture = StorageView(ImageSpec("image2d", 2, 2), storage, 0, layout.nbytes, layout, image.Format("RGBA", "FLOAT"))
    write(buffer_view(storage, 128), np.arange(32))
    assert read(picture)[0].tolist() == [[[0, 1, 2, 3], [4, 5, 6, 7]], [[16, 17, 18, 19], [20, 21, 22, 23]]]


def test_separate_images_are_coherent_with_the_storage():
    storage = Storage(PAGE, MemoryBlock(PAGE, 0))
    buffer, picture = buffer_view(storage, 96), separate_view(storage, 3, 4)
    write(buffer, np.arange(24))
    assert read(picture).ravel().tolist() == list(range(24))
    write(picture, 5.0)
    assert storage.newest == [picture]
    assert (read(buffer) == 5.0).all()
    assert storage.newest == []
    write(picture, 6.0)
    picture.release()
    assert (read(buffer) == 6.0).all()
    assert not picture.live


def test_two_separate_images_over_the_same_bytes():
    storage = Storage(PAGE, MemoryBlock(PAGE, 0))
    one, two, apart = separate_view(storage, 3, 4), separate_view(storage, 4, 3), separate_view(storage, 2, 2, offset=512)
    write(one, np.arange(24, dtype=np.float32).reshape(1, 4, 3, 2))
    write(apart, 1.0)
    assert read(two).ravel().tolist() == list(range(24))
    write(two, 9.0)
    assert (read(one) == 9.0).all()
    assert apart in storage.newest


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 255)), max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_sequence_of_accesses_equals_plain_shared_bytes(steps):
    storage = Storage(PAGE, MemoryBlock(PAGE, 0))
    views = [buffer_view(storage, 96), separate_view(storage, 3, 4), separate_view(storage, 6, 2), buffer_view(storage, 48, 24)]
    model = np.zeros(24, np.float32)
    parts = [slice(0, 24), slice(0, 24), slice(0, 24), slice(6, 18)]
    write(views[0], 0.0)
    for which, value in steps:
        if value % 2:
            model[parts[which]] = value
            write(views[which], float(value))
        assert (read(views[which]).ravel() == model[parts[which]]).all()


def test_the_range_of_an_element():
    storage = Storage(PAGE, MemoryBlock(PAGE, 0))
    picture = separate_view(storage, 3, 4)
    low, high = picture.element_range(3 * 2 + 1 * 2 + 1)  # row 1, texel 1, second channel
    assert (low - picture.address, high - low) == (48 + 8 + 4, 4)
    with pytest.raises(IndexError):
        picture.element_range(24)
