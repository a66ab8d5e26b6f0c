"""A sample of work-groups against the whole launch: alike where groups of a stratum are, and memory stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from counted_launch import WAVE, count, memory, open_counting, upload

from adreno_sim.backends.sim import group_counts
from adreno_sim.device.group_sample import STEPS

BLUR = """kernel void k(global const float *a, global float *b) {
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    float sum = a[y * w + x];
    if (x > 0) sum += a[y * w + x - 1] * 2.0f;
    if (x < w - 1) sum += a[y * w + x + 1] * 2.0f;
    if (y > 0) sum += sqrt(a[y * w + x - w]);
    if (y < h - 1) sum += exp(a[y * w + x + w]);
    b[y * w + x] = b[y * w + x] + sum;
}"""
"""Groups at the edges do less, each edge something else."""


@pytest.fixture(scope="module")
def device():
    return open_counting()


def sample(device, groups: tuple[int, int]):
    width, height = 64 * groups[0], groups[1]
    source, target = (upload(device, np.random.default_rng(1).random(width * height, np.float32)) for _ in range(2))
    before = device.read(target)
    kernel = device.build(BLUR)["k"]
    found = device.count_groups(kernel, (width, height), (WAVE, 1), [source, target])
    assert (device.read(target) == before).all()
    return found, lambda: count(device, BLUR, (width, height), (WAVE, 1), [source, target])


def add_accesses(sample):
    return sample.add_rows(lambda row: row.kind == "buffer", lambda row: row.reads + row.writes)


def test_a_small_launch_is_counted_whole(device):
    found, run = sample(device, (4, 8))
    whole = run()
    assert found.counted == found.groups == whole.groups == 32
    for name in "ab":
        exact, rows = memory(whole, name), [memory(counters, name) for _, counters in found.parts]
        for figure in ("reads", "writes", "read_bytes", "written_bytes"):
            assert sum(getattr(row, figure) for row in rows) == getattr(exact, figure), figure
        held = sum(row.held for row in rows)
        assert held == 0
        assert sum(row.transactions for row in rows) == exact.transactions
    assert {weight for weight, _ in found.parts} == {1.0}
    types = {name: sum(counters.operations.get(name, 0) for _, counters in found.parts) for name in whole.operations}
    assert types == whole.operations


def test_a_large_launch_is_scaled_by_strata(device):
    """Every stratum is alike within, so that no figure is off."""
    found, run = sample(device, (20, 30))
    whole = run()
    assert found.counted == 32
    assert found.groups == 600
    for name, value in whole.operations.items():
        assert found.add(lambda counters, name=name: counters.operations.get(name, 0)) == pytest.approx(value), name
    exact = [memory(whole, name) for name in "ab"]
    assert add_accesses(found) == pytest.approx(sum(row.reads + row.writes for row in exact))


def test_heavy_groups_are_fewer(device, monkeypatch):
    """Where the first groups spend all steps, each stratum that was reached has one, and the rest is taken to be like them."""
    whole, _ = sample(device, (20, 30))
    spent = sum(row.reads + row.writes for _, counters in whole.parts for row in counters.memory)
    assert spent < STEPS
    monkeypatch.setattr(group_counts, "STEPS", 1)
    found, _ = sample(device, (20, 30))
    assert found.counted == 1
    assert found.parts[0][0] == found.groups == 600
    assert add_accesses(found) == pytest.approx(add_accesses(whole), rel=0.05)


def test_two_samples_are_the_same(device):
    assert sample(device, (9, 17))[0] == sample(device, (9, 17))[0]
