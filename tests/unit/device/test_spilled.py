"""Large arrays in files: the same elements, in no memory while nobody looks, and a device that borrows them."""

from __future__ import annotations

import gc
import io
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from fresh_process import call_in_fresh_process

from adreno_sim.backends.open import open_device
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.memory import spilled

LARGE = np.arange(3 << 20, dtype=np.float32).reshape(3, 1 << 10, 1 << 10)


def resident() -> int:
    """Bytes of files in this process's memory."""
    return int(Path("/proc/self/status").read_text().partition("RssFile:")[2].split()[0]) * 1024


@pytest.mark.parametrize("array", [LARGE, LARGE.transpose(2, 0, 1), LARGE[:, ::2], LARGE[:1, :2], LARGE.reshape(1, -1)])
def test_the_same_elements(array: np.ndarray) -> None:
    found = spilled.spill(array)
    assert found.flags.c_contiguous
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    assert (spilled.pages_of(found) is not None) == (array.nbytes >= spilled.LEAST)


def test_what_lies_in_a_file_stays_there() -> None:
    found = spilled.spill(LARGE)
    again = spilled.spill(found.reshape(-1))
    assert again.ctypes.data == found.ctypes.data


def measure_looking() -> tuple[int, int]:
    """Bytes that an array in a file takes while somebody looks at it, and after it was let go."""
    found = spilled.spill(LARGE)
    before = resident()
    total = float(found.sum(dtype=np.float64))
    looking = resident() - before
    spilled.drop_resident_pages()
    drop_resident_pages = resident() - before
    assert float(found.sum(dtype=np.float64)) == total
    return looking, drop_resident_pages


def test_it_takes_memory_while_somebody_looks() -> None:
    looking, drop_resident_pages = call_in_fresh_process(measure_looking)
    assert looking > LARGE.nbytes // 2
    assert drop_resident_pages < LARGE.nbytes // 4


def count_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def count_files_of_arrays() -> tuple[int, int]:
    """How many more files are open while three arrays in files are there, and after they went."""
    before = count_files()
    held = [spilled.spill(LARGE) for _ in range(3)]
    there = count_files() - before
    held.clear()
    gc.collect()
    spilled.drop_resident_pages()
    return there, count_files() - before


def test_a_file_goes_with_its_array() -> None:
    there, gone = call_in_fresh_process(count_files_of_arrays)
    assert there >= 3
    assert gone == 0


def test_without_room_for_files_it_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    found = spilled.spill(LARGE)
    np.testing.assert_array_equal(found, LARGE)
    assert spilled.pages_of(found) is None
    read = spilled.read_array(io.BytesIO(LARGE.tobytes()), 0, LARGE.nbytes)
    assert read.tobytes() == LARGE.tobytes()
    assert read.ctypes.data % spilled.ALIGNMENT == 0


@pytest.mark.parametrize("nbytes", [100, spilled.LEAST])
def test_a_part_of_a_file(nbytes: int) -> None:
    source = io.BytesIO(LARGE.tobytes())
    assert spilled.read_array(source, 8, nbytes).tobytes() == LARGE.tobytes()[8 : 8 + nbytes]
    with pytest.raises(EOFError, match=f"expected {nbytes} bytes from byte {LARGE.nbytes - 8} on, and there are 8"):
        spilled.read_array(source, LARGE.nbytes - 8, nbytes)


KERNEL = "kernel void f(global const float *x, global float *y) { int i = get_global_id(0); y[i] = 2 * x[i]; }"


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_a_device_borrows_what_lies_in_a_file(checks: str) -> None:
    device = open_device("sim:adreno-740", checks=checks)
    array = spilled.spill(LARGE).reshape(-1)
    storage = device.borrow(array)
    assert storage is not None
    assert device.pool_stats().used == array.nbytes
    x = device.view(storage, BufferSpec(array.nbytes, "float32"))
    y = device.view(device.allocate(4096), BufferSpec(4096, "float32"))
    result = device.launch(device.build(KERNEL)["f"], [1024], [64], [x, y])
    assert not result.findings
    np.testing.assert_array_equal(device.read(y), 2 * array[:1024])
    x.release()
    device.free(storage)
    assert device.pool_stats().used == 4096
    np.testing.assert_array_equal(array[:8], np.arange(8))  # no poison in it


def test_a_device_does_not_borrow_more_than_it_has_or_what_lies_in_memory() -> None:
    device = open_device("sim:adreno-740")
    assert device.borrow(LARGE) is None
    device.memory._memory.total = 1 << 20
    with pytest.raises(DeviceError, match="CL_MEM_OBJECT_ALLOCATION_FAILURE"):
        device.borrow(spilled.spill(LARGE))
