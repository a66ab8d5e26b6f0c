"""Counters of what is not a plain load or store: filtered textures, private arrays, pointers of unknown origin, block copies,
vectors that are not aligned, groups that do not fill the NDRange, other lines and waves."""

from __future__ import annotations

import numpy as np
import pytest
from counted_launch import WAVE, count, lines_of, memory, open_counting, traced, upload

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler

RNG = np.random.default_rng(9)


@pytest.fixture(scope="module")
def device():
    return open_counting()


def test_a_filtered_read_fetches_four_texels(device):
    width, height = 32, 8
    image = device.create_image(ImageSpec("image2d", width, height))
    device.write(image, RNG.random((1, height, width, 4), np.float32))
    out = upload(device, np.zeros(width * height * 4, np.float32))
    text = """kernel void k(read_only image2d_t a, sampler_t s, global float4 *out) {
        int x = get_global_id(0), y = get_global_id(1);
        out[y * 32 + x] = read_imagef(a, s, (float2)(x + 1.0f, y + 1.0f)); }"""
    found = count(device, text, (width, height), (32, 2), [image, Sampler(False, "clamp_to_edge", "linear"), out])
    row = memory(found, "a")
    assert (row.reads, row.wave_accesses) == (4 * width * height, height // 2)  # one instruction of each wave
    y, x = np.mgrid[:height, :width]
    near = [(y + j).clip(0, height - 1) * 16 * width + 16 * (x + i).clip(0, width - 1) for j in (0, 1) for i in (0, 1)]
    tiles = np.stack(near, -1).reshape(height // 2, WAVE * 4)
    assert row.transactions == sum(len(set(tile // 64)) for tile in tiles) == row.wave_lines


def test_writes_of_an_image(device):
    image = device.create_image(ImageSpec("image2d", 16, 16, channel_type="HALF_FLOAT"))
    text = """kernel void k(write_only image2d_t a) {
        write_imagef(a, (int2)(get_global_id(0), get_global_id(1)), (float4)(1.0f)); }"""
    found = count(device, text, (16, 16), (16, 4), [image])
    row = memory(found, "a")
    assert (row.reads, row.writes, row.written_bytes, row.unique_bytes, row.texel_bytes) == (0, 256, 2048, 2048, 8)
    assert (row.wave_accesses, row.least, row.wave_reads) == (4, 32, 0)
    assert found.unique_written_bytes == 2048
    assert found.unique_read_bytes == 0


def test_a_private_array_and_constants(device):
    out = upload(device, np.zeros(64, np.int32))
    text = """constant int table[4] = {3, 1, 4, 1};
    kernel void k(global int *out) {
        int i = get_global_id(0), own[8];
        for (int j = 0; j < 8; ++j) own[j] = i + j;
        out[i] = own[i % 8] + table[i % 4]; }"""
    found = count(device, text, (64,), (64,), [out])
    assert (memory(found, "private").writes, memory(found, "private").reads) == (64 * 8, 64)
    row = memory(found, "constant")
    assert (row.reads, row.read_bytes, row.unique_bytes, row.transactions) == (64, 256, None, 0)


def test_a_pointer_that_the_run_chooses(device):
    a, b, out = (upload(device, np.ones(128, np.float32)) for _ in range(3))
    text = """kernel void k(global const float *a, global const float *b, global float *out, local float *s) {
        size_t i = get_global_id(0);
        float mine[2]; mine[i % 2] = 1.0f;
        s[get_local_id(0)] = 2.0f;
        global const float *from = i % 4 ? a : b;
        float *some = i % 3 ? (float *)&mine[i % 2] : (float *)&s[get_local_id(0)];
        out[i] = from[i] + *some; }"""
    found = count(device, text, (128,), (64,), [a, b, out, Local(256)], "-cl-std=CL2.0")
    assert (memory(found, "a").reads, memory(found, "b").reads) == (96, 32)
    assert (memory(found, "a").unique_bytes, memory(found, "b").unique_bytes) == (4 * 96, 4 * 32)
    at = 4 * np.arange(128).reshape(2, 64)
    chosen = np.arange(128).reshape(2, 64) % 4 == 0
    assert traced(memory(found, "a")) == lines_of(np.where(chosen, -1, at), 4)
    assert traced(memory(found, "b")) == lines_of(np.where(chosen, at, -1), 4)
    thirds = len(range(0, 128, 3))
    assert (memory(found, "local").reads, memory(found, "local").writes) == (thirds, 128)
    assert memory(found, "private").reads == 128 - thirds


def test_an_asynchronous_copy(device):
    a, out = upload(device, RNG.random(256, np.float32)), upload(device, np.zeros(256, np.float32))
    text = """kernel void k(global const float *a, global float *out, local float *s) {
        event_t e = async_work_group_copy(s, a + get_group_id(0) * 64, 64, 0);
        wait_group_events(1, &e);
        out[get_global_id(0)] = s[get_local_id(0) ^ 1]; }"""
    found = count(device, text, (256,), (64,), [a, out, Local(256)])
    row = memory(found, "a")
    assert (row.reads, row.read_bytes, row.unique_bytes) == (4, 1024, 1024)  # by a work-item of each group
    assert traced(row) == (4, 16, 16)
    assert (memory(found, "local").written_bytes, memory(found, "local").read_bytes) == (1024, 1024)


def test_vectors_that_overlap(device):
    a, out = upload(device, RNG.random(67, np.float32)), upload(device, np.zeros(64, np.float32))
    text = """kernel void k(global const float *a, global float *out) {
        size_t i = get_global_id(0); float4 v = vload4(0, a + i); out[i] = v.x + v.w; }"""
    row = memory(count(device, text, (64,), (64,), [a, out]), "a")
    assert (row.reads, row.read_bytes, row.unique_bytes) == (64, 1024, 67 * 4)
    assert traced(row) == lines_of(4 * np.arange(64).reshape(1, 64), 16) == (1, 5, 5)


def test_loops_of_different_lengths(device):
    """What a wave reads at once is what its work-items read in the same iterations of both loops."""
    n = 64
    a, out = upload(device, RNG.random(4096, np.float32)), upload(device, np.zeros(n, np.float32))
    text = """kernel void k(global const float *a, global float *out) {
        int i = get_global_id(0);
        float sum = 0.0f;
        for (int j = 0; j < i % 3 + 1; ++j)
            for (int m = 0; m < (i + j) % 4; ++m) { if (m == 2) continue; sum += a[64 * (4 * j + m) + i * 5]; }
        out[i] = sum; }"""
    found = count(device, text, (n,), (n,), [a, out])
    expected = np.zeros(3, int)
    for j in range(3):
        for m in (0, 1, 3):
            reads = [256 * (4 * j + m) + 20 * i if j <= i % 3 and m < (i + j) % 4 else -1 for i in range(n)]
            expected += lines_of(np.array([reads]), 4)
    assert traced(memory(found, "a")) == tuple(expected)


def test_groups_at_the_edge(device):
    """Waves are made of the work-items that a group has."""
    width, height = 40, 6
    a = upload(device, np.zeros(width * height, np.float32))
    text = "kernel void k(global float *a) { a[get_global_id(1) * get_global_size(0) + get_global_id(0)] = 1.0f; }"
    found = count(device, text, (width, height), (32, 4), [a], "-cl-std=CL2.0")
    groups = [(x, y) for y in (range(4), range(4, 6)) for x in (range(32), range(32, 40))]
    expected = [lines_of(np.array([[4 * (y * width + x) for y in ys for x in xs]]), 4) for xs, ys in groups]
    row = memory(found, "a")
    assert (found.work_items, found.groups, row.writes) == (width * height, 4, width * height)
    assert traced(row) == tuple(np.sum(expected, axis=0))
    assert found.traced_waves == 2 + 1 + 1 + 1


@pytest.mark.parametrize("line", [32, 128, 256])
def test_other_lines_and_waves(line):
    n = 512
    device = open_counting(f"adreno-740,GLOBAL_MEM_CACHELINE_SIZE={line}")  # waves of 128
    a = upload(device, np.zeros(3 * n, np.float32))
    found = count(device, "kernel void k(global float *a) { a[3 * get_global_id(0)] = 1.0f; }", (n,), (128,), [a])
    assert (found.wave_size, found.line_bytes) == (128, line)
    assert traced(memory(found, "a")) == (4, 4 * 128 * 12 // line, 4 * -(-128 * 4 // line))


@pytest.mark.parametrize("line", [0, 48, 1 << 20])
def test_lines_that_are_none(line):
    with pytest.raises(AdrenoSimError, match=f"GLOBAL_MEM_CACHELINE_SIZE is {line}: expected a power of two from 16 to 4096"):
        open_counting(f"adreno-740,GLOBAL_MEM_CACHELINE_SIZE={line}")


def test_arguments_that_share_memory(device):
    """Distinct bytes count once in sum."""
    storage = device.allocate(1024)
    whole, half = device.view(storage, BufferSpec(1024, "float32")), device.view(storage, BufferSpec(512, "float32"), 512)
    device.write(whole, np.ones(256, np.float32))
    out = upload(device, np.zeros(64, np.float32))
    text = """kernel void k(global const float *a, global const float *b, global float *out) {
        size_t i = get_global_id(0); out[i] = a[96 + i] + b[i]; }"""
    program = device.build(text)["k"]
    found = device.launch(program, (64,), (64,), [whole, half, out]).counters
    assert (memory(found, "a").unique_bytes, memory(found, "b").unique_bytes) == (256, 256)
    assert (found.unique_read_bytes, found.unique_bytes) == (4 * 96, 4 * 96 + 256)


def test_large_launches_are_traced_in_part(device):
    n = 1 << 18
    a = upload(device, np.zeros(n, np.float32))
    found = count(device, "kernel void k(global float *a) { a[get_global_id(0)] += 1.0f; }", (n,), (64,), [a])
    assert (found.groups, found.traced_groups, found.traced_waves) == (4096, 64, 64)
    row = memory(found, "a")
    assert (row.reads, row.writes, row.unique_bytes, row.traced) == (n, n, 4 * n, 2 * 64 * 64)
    assert traced(row) == (128, 128 * 4, 128 * 4)


def test_costly_groups_are_traced_in_part(device):
    """Those that are traced are spread over the launch, and the first is one of them."""
    groups, rounds = 64, 2000
    a, out = upload(device, np.ones(64, np.float32)), upload(device, np.zeros(64 * groups, np.float32))
    text = """kernel void k(global const float *a, global float *out, int n) {
        float sum = 0.0f;
        for (int i = 0; i < n; ++i) sum += a[i % 64];
        out[get_global_id(0)] = sum; }"""
    found = count(device, text, (64 * groups,), (64,), [a, out, rounds])
    spent = 64 * (2 * rounds + 2)
    assert abs(found.traced_groups - (1 << 23) // spent) <= 1
    assert found.traced_groups < groups
    assert memory(found, "a").traced == 64 * rounds * found.traced_groups
    assert memory(found, "a").transactions == rounds * found.traced_groups


def test_a_wave_with_a_long_loop_is_traced_in_part(device):
    """Instructions behind the loop are traced all the same."""
    rounds = 20_000
    a, out = upload(device, np.ones(64, np.float32)), upload(device, np.zeros(64, np.float32))
    text = """kernel void k(global const float *a, global float *out, int n) {
        float sum = 0.0f;
        for (int i = 0; i < n; ++i) sum += a[(i + get_local_id(0)) % 64];
        out[get_global_id(0)] = sum; }"""
    found = count(device, text, (64,), (64,), [a, out, rounds])
    row = memory(found, "a")
    assert row.reads == 64 * rounds
    assert 64 <= row.traced < row.reads
    assert row.traced == 64 * row.wave_accesses
    assert row.transactions == 4 * row.wave_accesses
    assert traced(memory(found, "out")) == (1, 4, 4)
