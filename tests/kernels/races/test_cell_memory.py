"""Race cells take the memory that launches touch, and a launch stops before the host has none left."""

import itertools

import numpy as np
import pytest
from fresh_process import call_in_fresh_process

from adreno_sim import open_device
from adreno_sim.backends.sim.launches import cell_memory
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.base.specs import BufferSpec

COUNT = 64 << 20
"""Floats of a buffer of 256 MiB, which has 2 GiB of cells."""
SPARSE = "kernel void k(global float *p, int step) { ulong i = get_global_id(0); p[i * step] = p[i * step + 1] + 1.0f; }"
MEETING = "kernel void k(global float *p, int step) { ulong i = get_global_id(0); p[i * step] = p[(i + 1) * step] + 1.0f; }"
ADDING = "kernel void k(global int *p, int n) { for (int i = 0; i < n; i++) p[get_global_id(0)] += p[i & 63]; }"


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def launch_over_a_large_buffer(source, backed):
    """The bytes that a launch makes resident, and the kinds of findings. backed: what the host is said to have."""
    if backed:
        cell_memory.available_bytes = lambda: backed
    device = open_device("sim:adreno-740", checks="full", cache=False)
    view = device.view(device.allocate(4 * COUNT), BufferSpec(4 * COUNT, "float32"))
    device.write(view, np.zeros(COUNT, np.float32))
    kernel = device.build(source)["k"]
    device.launch(kernel, (16,), (16,), [view, 1])  # what comes with a first launch
    before = resident()
    result = device.launch(kernel, (1024,), (64,), [view, COUNT // 1025])
    return [resident() - before, sorted({finding.kind.name for finding in result.findings})]


@pytest.mark.parametrize("backed", [0, 3 << 30], ids=["host", "host with little"])
def test_a_launch_that_touches_little_of_a_large_buffer_takes_little(backed):
    """`backed`: three GiB do not hold two GiB of cells besides what a launch must leave."""
    taken, found = call_in_fresh_process(launch_over_a_large_buffer, SPARSE, backed)
    assert found == []
    assert taken < 100 << 20


def test_what_is_that_far_apart_still_races():
    _, found = call_in_fresh_process(launch_over_a_large_buffer, MEETING, 3 << 30)
    assert found == ["DATA_RACE"]


@pytest.fixture
def device(monkeypatch):
    """Its cells are mapped, as those that are larger than half of what the host has."""
    monkeypatch.setattr(cell_memory, "_LARGE", 0)
    monkeypatch.setattr(cell_memory, "available_bytes", lambda: 1 << 11)
    monkeypatch.setattr(cell_memory, "_RESERVE", 0)
    return open_device("sim:adreno-740", checks="full", cache=False)


def make_numbers(device):
    view = device.view(device.allocate(4096), BufferSpec(4096, "int32"))
    device.write(view, np.ones(1024, np.int32))
    return view


def test_a_launch_ends_before_the_host_has_nothing_left(device, monkeypatch):
    view, kernel = make_numbers(device), device.build(ADDING)["k"]
    device.launch(kernel, (1,), (1,), [view, 10])
    monkeypatch.setattr(cell_memory, "_RESERVE", 1 << 12)  # more than there is: half of that has to stay
    assert device.launch(kernel, (1,), (1,), [view, 10]).findings == []
    asked = itertools.count()
    monkeypatch.setattr(cell_memory, "available_bytes", lambda: 1 << 11 if next(asked) < 2 else 1 << 9)
    with pytest.raises(UnsupportedError, match=r"level full needs up to \d+ bytes .* the host has 512; see --checks"):
        device.launch(kernel, (1,), (1,), [view, 1 << 30])
    monkeypatch.setattr(cell_memory, "available_bytes", lambda: 1 << 11)
    monkeypatch.setattr(cell_memory, "_RESERVE", 0)
    assert device.launch(kernel, (1,), (1,), [view, 10]).findings == []  # the device goes on


def test_cells_of_earlier_launches_do_not_count(device):
    """Also where the numbers of launches begin again."""
    view, kernel = make_numbers(device), device.build(ADDING)["k"]
    shadows = device._launcher._shadows
    for _ in range(3):
        assert device.launch(kernel, (1,), (1,), [view, 10]).findings == []
        shadows.epoch = (1 << 31) - 2
    racy = device.launch(kernel, (64,), (64,), [view, 10])
    assert {finding.kind.name for finding in racy.findings} == {"DATA_RACE"}
