"""The heap of a device: ranges are apart, come back, join, and give their pages back to the system."""

import mmap
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.backends.sim.open import open_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.memory.heap import PAGE, Heap


def free_ranges(heap: Heap) -> list[tuple[int, int]]:
    """(start, bytes) of each free range."""
    return list(zip(heap._starts, heap._sizes, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5 * PAGE)), max_size=60))
def test_ranges_are_apart_and_come_back(steps):
    heap = Heap(64 * PAGE)
    taken = []
    for take, amount in steps:
        if take or not taken:
            try:
                piece = heap.take(amount)
            except MemoryError:
                assert all(size < amount for _, size in free_ranges(heap))
                continue
            assert piece.nbytes >= amount
            assert piece.nbytes % PAGE == 0
            assert not piece.any()
            piece[:] = 1
            taken.append(piece)
        else:
            heap.give_back(taken.pop(amount % len(taken)))
        ranges = sorted([*((heap.place_of(p.ctypes.data), p.nbytes) for p in taken), *free_ranges(heap)])
        assert [start for start, _ in ranges] == [0, *np.cumsum([size for _, size in ranges])[:-1]]
    for piece in taken:
        heap.give_back(piece)
    assert free_ranges(heap) == [(0, 64 * PAGE)]


def test_other_processes_see_the_bytes_and_cannot_cut_them_off():
    heap = Heap(16 * PAGE)
    piece = heap.take(3)
    piece[:3] = 1, 2, 3
    seen = mmap.mmap(heap.descriptor, 16 * PAGE)
    assert seen[:3] == b"\1\2\3"
    with pytest.raises(PermissionError):
        os.ftruncate(heap.descriptor, PAGE)


def test_freed_memory_takes_no_room():
    heap = Heap(64 << 20)
    piece = heap.take(32 << 20)
    piece[:] = 1
    used = os.fstat(heap.descriptor).st_blocks
    heap.give_back(piece)
    assert os.fstat(heap.descriptor).st_blocks < used // 100


def test_all_memory_of_a_device_lies_in_its_heap():
    heaps = []

    def make(nbytes):
        heaps.append(Heap(2 * nbytes))
        return heaps[0]

    device = open_sim("adreno-740", make_heap=make, pool="none", checks="full")
    views = [device.view(device.allocate(count), BufferSpec(count)) for count in (100, 5000, 12)]
    device.write(views[1], np.full(5000, 7, np.uint8))
    for view in views:
        assert 0 <= heaps[0].place_of(view.address) < heaps[0].nbytes
    assert (device.read(views[1]) == 7).all()
    for view in views:
        device.free(view.storage)
    assert free_ranges(heaps[0]) == [(0, heaps[0].nbytes)]
