"""Counters of small kernels against counts by hand: each figure follows here from what the kernel says, by a formula."""

from __future__ import annotations

import numpy as np
import pytest
from counted_launch import WAVE, count, lines_of, memory, open_counting, passes_of, traced, upload

from adreno_sim.base.specs import ImageSpec, Local, Sampler

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def device():
    return open_counting()


def groups_of(values: np.ndarray, items: int) -> np.ndarray:
    """Values by work-item as (groups, items)."""
    return values.reshape(-1, items)


def test_copy(device):
    n = 512
    source, target = upload(device, RNG.random(n, np.float32)), upload(device, np.zeros(n, np.float32))
    text = "kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0); b[i] = a[i]; }"
    found = count(device, text, (n,), (128,), [source, target])
    assert (found.work_items, found.groups, found.operations) == (n, n // 128, {})
    for name in "ab":
        row = memory(found, name)
        assert row.read_bytes + row.written_bytes == row.unique_bytes == 4 * n
        assert traced(row) == lines_of(groups_of(4 * np.arange(n), 128), 4) == (n // WAVE, n // 16, n // 16)
    assert (found.unique_read_bytes, found.unique_written_bytes, found.unique_bytes) == (4 * n, 4 * n, 8 * n)
    assert (found.branches, found.barriers, found.divergent) == (0, 0, 0)


def test_strided_copy(device):
    n, stride = 256, 9
    source, target = upload(device, RNG.random(n * stride, np.float32)), upload(device, np.zeros(n, np.float32))
    text = "kernel void k(global const float *a, global float *b, int s) { int i = get_global_id(0); b[i] = a[i * s]; }"
    found = count(device, text, (n,), (WAVE,), [source, target, stride])
    assert found.operations == {"int32": n, "width": 3 * n}  # i * s; size_t to int, and both indices to the width of pointers
    row = memory(found, "a")
    assert (row.reads, row.read_bytes, row.unique_bytes) == (n, 4 * n, 4 * n)
    assert traced(row) == lines_of(groups_of(4 * stride * np.arange(n), WAVE), 4)
    assert row.transactions > 8 * row.least


def test_addition_of_float4(device):
    n = 256
    a, b, c = (upload(device, RNG.random(4 * n, np.float32)) for _ in range(3))
    text = """kernel void k(global const float4 *a, global const float4 *b, global float4 *c) {
        size_t i = get_global_id(0); c[i] = a[i] + b[i]; }"""
    found = count(device, text, (n,), (WAVE,), [a, b, c])
    assert found.operations == {"float32": 4 * n}
    assert [(row.name, row.reads, row.writes) for row in found.memory] == [("a", n, 0), ("b", n, 0), ("c", 0, n)]
    assert all(traced(row) == (n // WAVE, n // 4, n // 4) for row in found.memory)
    assert found.unique_bytes == 3 * 16 * n


REDUCTION = """kernel void k(global const float *a, global float *out, local float *s) {
    int l = get_local_id(0);
    s[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < (int)get_local_size(0); step *= 2) {
        int at = 2 * step * l;
        if (at < (int)get_local_size(0)) s[at] += s[at + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = s[0];
}"""


def test_reduction_with_bank_conflicts(device):
    items, groups = 256, 3
    n, steps = items * groups, 8  # 2**8 work-items
    a, out = upload(device, RNG.random(n, np.float32)), upload(device, np.zeros(groups, np.float32))
    found = count(device, REDUCTION, (n,), (items,), [a, out, Local(4 * items)])
    lanes, whole = np.arange(items), np.zeros((groups, 1), int)
    instructions = [whole + lanes]  # the words of each executed instruction
    for step in (2**k for k in range(steps)):
        at = 2 * step * lanes
        active = at < items
        instructions += [whole + np.where(active, at + offset, -1) for offset in (step, 0, 0)]
    instructions.append(whole + np.where(lanes == 0, 0, -1))
    expected = np.sum([passes_of(words) for words in instructions], axis=0)
    row = memory(found, "local")
    assert traced(row) == tuple(expected)
    assert row.transactions > row.least
    sums = groups * (items - 1)
    assert row.reads == 2 * sums + groups
    assert row.writes == n + sums
    assert found.operations["float32"] == sums
    assert found.barriers == groups * (1 + steps)
    waves = n // WAVE
    assert found.branches == n * (steps + 1 + steps + 1)
    assert found.wave_branches == waves * (2 * steps + 2)
    # at step s the first items / 2s work-items go on: waves are split while that is no multiple of the wave
    split = sum(items // (2 * step) % WAVE > 0 for step in (2**k for k in range(steps)))
    assert found.divergent == groups * (split + 1)


def test_divergent_branch(device):
    n = 512
    a = upload(device, RNG.random(n, np.float32))
    text = """kernel void k(global float *a) {
        size_t i = get_global_id(0);
        if (i % 2) a[i] = a[i] * 3.0f; else a[i] = a[i] + 1.0f;   // parts every wave
        if (i / 128 % 2) a[i] = sqrt(a[i]);                        // parts none
        for (size_t k = 0; k < i % 4; ++k) a[i] = native_exp(a[i]);  // parts each at its first three tests
    }"""
    found = count(device, text, (n,), (128,), [a])
    waves, rounds = n // WAVE, (0 + 1 + 2 + 3) * n // 4
    assert found.operations["float32"] == n
    assert found.operations["special"] == n // 2 + rounds
    assert found.branches == n + n + n + rounds
    assert found.wave_branches == waves * (1 + 1 + 4)
    assert found.divergent == waves * (1 + 0 + 3)


def test_image_blur(device):
    width, height, channels = 48, 40, 4
    spec = ImageSpec("image2d", width, height)
    image = device.create_image(spec)
    device.write(image, RNG.random((1, height, width, channels), np.float32))
    out = upload(device, np.zeros(width * height * 4, np.float32))
    text = """kernel void k(read_only image2d_t a, sampler_t s, global float4 *out) {
        int x = get_global_id(0), y = get_global_id(1);
        float4 sum = 0.0f;
        for (int j = -1; j <= 1; ++j) for (int i = -1; i <= 1; ++i) sum += read_imagef(a, s, (int2)(x + i, y + j));
        out[y * get_global_size(0) + x] = sum / 9.0f;
    }"""
    sampler = Sampler(False, "clamp_to_edge", "nearest")
    found = count(device, text, (width, height), (16, 8), [image, sampler, out])
    texels = width * height
    row = memory(found, "a")
    assert (row.kind, row.texel_bytes) == ("image", 16)
    assert (row.reads, row.read_bytes) == (9 * texels, 9 * 16 * texels)
    assert row.unique_bytes == 16 * texels  # reuse 9
    assert found.operations["float32"] == texels * (9 * 4 + 4)
    y, x = np.mgrid[:height, :width]
    pitch = 16 * width
    expected, lines = np.zeros(3, int), 0
    reads = []
    for j in (-1, 0, 1):
        for i in (-1, 0, 1):
            address = np.clip(y + j, 0, height - 1) * pitch + 16 * np.clip(x + i, 0, width - 1)
            tiles = address.reshape(height // 8, 8, width // 16, 16).swapaxes(1, 2).reshape(-1, 128)
            expected += lines_of(tiles, 16)
            reads.append(tiles)
    assert traced(row) == tuple(expected)
    for group in np.stack(reads, 2):  # (items, reads)
        lines += sum(len(set((group[first : first + WAVE] // 64).ravel())) for first in range(0, 128, WAVE))
    assert (row.wave_reads, row.wave_lines) == (9 * texels, lines)


def test_half_fma_loop(device):
    n, rounds = 192, 7
    a = upload(device, np.ones(n, np.float16))
    text = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global half *a, int n) {
        size_t g = get_global_id(0);
        half x = a[g];
        for (int i = 0; i < n; ++i) x = fma(x, (half)0.5h, (half)1.0h);
        a[g] = x;
    }"""
    found = count(device, text, (n,), (WAVE,), [a, rounds])
    assert found.operations == {"float16": 2 * n * rounds, "int32": n * rounds, "compare": n * (rounds + 1)}
    row = memory(found, "a")
    assert (row.reads, row.writes, row.read_bytes, row.written_bytes) == (n, n, 2 * n, 2 * n)
    assert (row.unique_read_bytes, row.unique_written_bytes, row.unique_bytes) == (2 * n, 2 * n, 2 * n)
    assert traced(row) == (2 * n // WAVE, 2 * n // 32, 2 * n // 32)


def test_transposition(device):
    side = 64
    a, b = upload(device, RNG.random(side * side, np.float32)), upload(device, np.zeros(side * side, np.float32))
    text = """kernel void k(global const float *a, global float *b) {
        size_t x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
        b[x * n + y] = a[y * n + x]; }"""
    found = count(device, text, (side, side), (16, 16), [a, b])
    y, x = np.mgrid[:side, :side]
    for name, address in {"a": 4 * (y * side + x), "b": 4 * (x * side + y)}.items():
        tiles = address.reshape(4, 16, 4, 16).swapaxes(1, 2).reshape(-1, 256)
        assert traced(memory(found, name)) == lines_of(tiles, 4)
    assert found.operations == {"int64": 4 * side * side}  # two products, two sums


def test_gather(device):
    n, size = 320, 1000
    indices = RNG.integers(0, size, n).astype(np.int32)
    table, index, out = (
        upload(device, RNG.random(size, np.float32)),
        upload(device, indices),
        upload(device, np.zeros(n, np.float32)),
    )
    text = """kernel void k(global const float *t, global const int *index, global float *out) {
        size_t i = get_global_id(0); out[i] = t[index[i]]; }"""
    found = count(device, text, (n,), (160,), [table, index, out])  # waves of 64, 64 and 32
    row = memory(found, "t")
    assert (row.reads, row.read_bytes, row.unique_bytes) == (n, 4 * n, 4 * len(set(indices)))
    assert traced(row) == lines_of(groups_of(4 * indices, 160), 4)
    assert found.traced_waves == 6
    assert traced(memory(found, "index")) == lines_of(groups_of(4 * np.arange(n), 160), 4)


def test_atomics(device):
    n, bins = 256, 16
    keys = RNG.integers(0, bins, n).astype(np.uint32)
    data, histogram = upload(device, keys), upload(device, np.zeros(bins, np.uint32))
    text = """kernel void k(global const uint *keys, global uint *bins) {
        atomic_inc(&bins[keys[get_global_id(0)]]); }"""
    found = count(device, text, (n,), (WAVE,), [data, histogram])
    assert found.operations["atomic"] == n
    row = memory(found, "bins")
    assert (row.reads, row.writes, row.read_bytes, row.written_bytes) == (n, n, 4 * n, 4 * n)
    assert row.unique_bytes == 4 * len(set(keys))
    assert traced(row) == lines_of(groups_of(4 * keys.astype(int), WAVE), 4)
    assert list(device.read(histogram)) == list(np.bincount(keys, minlength=bins))  # counted once more, and yet not added twice
