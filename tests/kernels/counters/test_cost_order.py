"""Pairs of kernels of which one is known to be better: it costs less, by the figure that a count by hand gives, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from counted_launch import WAVE, upload

from adreno_sim.backends.open import open_device
from adreno_sim.base.specs import ImageSpec, Local, Sampler
from adreno_sim.compiler.tuning.cost import BARRIER, HIT, LOCAL, MISS, Cost, Machine, cost
from adreno_sim.compiler.tuning.figures import Figures, figures_of

LINE = 64


@pytest.fixture(scope="module")
def device():
    return open_device(f"sim:adreno-740,wave_size={WAVE}")


def figures(device, source: str, global_size, local_size, args) -> Figures:
    program = device.build(source)
    (name,) = program.kernel_names()
    return figures_of(device.count_groups(program[name], global_size, local_size, args))


def costs(device, *launches: tuple[Any, ...]) -> list[Cost]:
    return [cost([figures(device, *launch)], Machine.of(device)) for launch in launches]


def floats(device, count: int):
    return upload(device, np.random.default_rng(3).random(count, np.float32))


def test_a_coalesced_copy_before_a_strided_one(device):
    n, stride = 8192, 16
    source, target = floats(device, n * stride), floats(device, n)
    text = "kernel void k(global const float *a, global float *b, int s) { int i = get_global_id(0); b[i] = a[i * s]; }"
    near, far = costs(device, *((text, (n,), (WAVE,), [source, target, s]) for s in (1, stride)))
    assert near.buffer_bytes == 2 * 4 * n, "each byte once"
    assert far.buffer_bytes == LINE * n + 4 * n, "a line for each element"
    assert near.total < far.total and near.operation_bytes == far.operation_bytes
    assert (near.lines_per_access, far.lines_per_access) == (4, (64 + 4) / 2)


def test_vectors_before_scalars_in_arithmetic_alone(device):
    """The same bytes by vectors of four: fewer work-items, the same lines, a quarter of the indices."""
    n = 1 << 16
    source, target = floats(device, n), floats(device, n)
    text = "kernel void k(global const {t} *a, global {t} *b) {{ size_t i = get_global_id(0); b[i] = a[i]; }}"
    wide, narrow = costs(
        device,
        (text.format(t="float4"), (n // 4,), (WAVE,), [source, target]),
        (text.format(t="float"), (n,), (WAVE,), [source, target]),
    )
    assert wide.buffer_bytes == narrow.buffer_bytes == 8 * n and wide.total <= narrow.total
    assert (wide.wide_share, narrow.wide_share) == (1.0, 0.25)


NAIVE = """kernel void k(global const float *a, global const float *b, global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1); float sum = 0;
    for (int i = 0; i < n; ++i) sum += a[y * n + i] * b[i * n + x];
    c[y * n + x] = sum; }"""

TILED = """kernel void k(global const float *a, global const float *b, global float *c, int n) {
    local float s[8][8], t[8][8]; int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1); float sum = 0;
    for (int i = 0; i < n; i += 8) {
        s[y][x] = a[row * n + i + x]; t[y][x] = b[(i + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 8; ++k) sum += s[y][k] * t[k][x];
        barrier(CLK_LOCAL_MEM_FENCE); }
    c[row * n + column] = sum; }"""


def test_a_tiled_product_before_a_naive_one(device):
    n, waves = 64, 64 * 64 // WAVE
    a, b, c = (floats(device, n * n) for _ in range(3))
    tiled, naive = costs(device, *((text, (n, n), (8, 8), [a, b, c, n]) for text in (TILED, NAIVE)))
    # a wave is 8 x 8 elements: 8 rows of a, and 8 neighbours of a row of b, at each step; 8 rows of 8 once for each tile
    assert naive.buffer_bytes == LINE * waves * (n * (8 + 1) + 8)
    assert tiled.buffer_bytes == LINE * waves * (n // 8 * (8 + 8) + 8)
    # two words a bank to store a tile; a column of s lies in 4 banks, two words each; a row of t in 8
    assert tiled.local_bytes == pytest.approx(LOCAL * 128 * waves * (n // 8 * (2 + 2) + n * (2 + 1)))
    assert tiled.barrier_bytes == BARRIER * waves * 2 * n // 8
    assert tiled.total < naive.total


def test_tiles_that_are_read_once_do_not_pay(device):
    """Clean twin: a copy through local memory does what a plain one does, and more."""
    n = 4096
    source, target = floats(device, n), floats(device, n)
    plain = "kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0); b[i] = a[i]; }"
    staged = """kernel void k(global const float *a, global float *b) {
        local float s[64]; size_t i = get_global_id(0), l = get_local_id(0);
        s[l] = a[i]; barrier(CLK_LOCAL_MEM_FENCE); b[i] = s[l]; }"""
    first, second = costs(device, *((text, (n,), (WAVE,), [source, target]) for text in (plain, staged)))
    assert first.buffer_bytes == second.buffer_bytes and first.local_bytes == first.barrier_bytes == 0
    assert first.total < second.total


ROWS = """kernel void k(read_only image2d_t a, sampler_t s, global float4 *out) {{
    int x = get_global_id(0), y = get_global_id(1);
    out[y * get_global_size(0) + x] = read_imagef(a, s, (int2)({where})); }}"""


def test_a_texture_along_x_before_along_y(device):
    """Where a wave's work-items lie along x, four texels of 16 bytes share a line."""
    side = 64
    image = device.create_image(ImageSpec("image2d", side, side))
    out, sampler = floats(device, 4 * side * side), Sampler(False, "clamp_to_edge", "nearest")
    args = [image, sampler, out]
    along, across = (figures(device, ROWS.format(where=at), (side, side), (WAVE, 1), args) for at in ("x, y", "y, x"))
    assert along.texture_lines == along.fetched_lines == side * side / 4
    assert across.texture_lines == across.fetched_lines == side * side
    assert along.buffer_lines == across.buffer_lines
    machine = Machine.of(device)
    assert cost([along], machine).total < cost([across], machine).total


def test_a_texture_keeps_what_a_wave_reads_again(device):
    """Each work-item reads the four texels of a line, one after the other: fetched once, touched four times. A buffer has no such
    cache."""
    n = 1024
    image = device.create_image(ImageSpec("image2d", 4, n))
    texels, out, sampler = floats(device, 16 * n), floats(device, 4 * n), Sampler(False, "clamp_to_edge", "nearest")
    texture = """kernel void k(read_only image2d_t a, sampler_t s, global float4 *out) {
        int y = get_global_id(0); float4 sum = 0;
        for (int x = 0; x < 4; ++x) sum += read_imagef(a, s, (int2)(x, y));
        out[y] = sum; }"""
    buffer = """kernel void k(global const float4 *a, global float4 *out) {
        int y = get_global_id(0); float4 sum = 0;
        for (int x = 0; x < 4; ++x) sum += a[4 * y + x];
        out[y] = sum; }"""
    first = figures(device, texture, (n,), (WAVE,), [image, sampler, out])
    second = figures(device, buffer, (n,), (WAVE,), [texels, out])
    assert (first.texture_lines, first.fetched_lines, first.buffer_lines) == (4 * n, n, n / 4)
    assert (second.texture_lines, second.buffer_lines) == (0, 4 * n + n / 4)
    machine = Machine.of(device)
    cached, plain = cost([first], machine), cost([second], machine)
    assert cached.texture_bytes == LINE * (HIT * 4 * n + MISS * n) < plain.buffer_bytes - cached.buffer_bytes == LINE * 4 * n
    assert cached.total < plain.total


BANKS = """kernel void k(global float *out, local float *s, int stride) {
    int l = get_local_id(0);
    s[l * stride] = l; barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = s[l * stride]; }"""


def test_local_memory_without_bank_conflicts_before_with(device):
    n = 4096
    out = floats(device, n)
    free, padded, serial = costs(device, *((BANKS, (n,), (WAVE,), [out, Local(4 * WAVE * 33), stride]) for stride in (1, 33, 32)))
    waves = n // WAVE
    assert free.local_bytes == padded.local_bytes == LOCAL * 128 * waves * 2 * 2, "64 words in 32 banks, written and read"
    assert serial.local_bytes == LOCAL * 128 * waves * 2 * 64 and serial.bank_conflicts == waves * 2 * 62
    assert free.bank_conflicts == padded.bank_conflicts == 0 and free.total == padded.total < serial.total


def test_a_wave_that_stays_together_before_one_that_parts(device):
    n = 4096
    out = floats(device, n)
    text = """kernel void k(global float *a, int shift) {{
        size_t i = get_global_id(0);
        if (i >> shift & 1) {body} else {body} }}""".format(body="for (int k = 0; k < 16; ++k) a[i] += 1.5f;")
    together, parted = (figures(device, text, (n,), (WAVE,), [out, shift]) for shift in (6, 0))
    assert together.lanes == 1 and parted.lanes == pytest.approx(0.5, abs=0.02)
    machine = Machine.of(device)
    assert cost([together], machine).total < cost([parted], machine).total


def test_whole_waves_before_parts_of_them(device):
    n = 4096
    source, target = floats(device, n), floats(device, n)
    text = "kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0); b[i] = sqrt(a[i]); }"
    whole, part = costs(device, *((text, (n,), (size,), [source, target]) for size in (WAVE, WAVE // 4)))
    assert part.divergence == 4 * whole.divergence == 4
    assert whole.total < part.total


def test_fewer_special_operations_first(device):
    n = 4096
    source, target = floats(device, n), floats(device, n)
    text = "kernel void k(global const float *a, global float *b) {{ size_t i = get_global_id(0); b[i] = {value}; }}"
    plain, special = costs(
        device, *((text.format(value=value), (n,), (WAVE,), [source, target]) for value in ("a[i] * a[i]", "exp(a[i])"))
    )
    assert special.operation_bytes - plain.operation_bytes == 7 / 8 * n and plain.total < special.total


def test_half_the_bytes_and_half_the_arithmetic(device):
    n = 4096
    text = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void k(global const {t} *a, global {t} *b) {{ size_t i = get_global_id(0); b[i] = a[i] * a[i] + a[i]; }}"""
    arrays = {name: upload(device, np.ones(n, kind)) for name, kind in (("half", np.float16), ("float", np.float32))}
    half, single = costs(device, *((text.format(t=name), (n,), (WAVE,), [array, array]) for name, array in arrays.items()))
    assert half.buffer_bytes * 2 == single.buffer_bytes and half.total < single.total


def test_what_a_work_item_has_read_already_costs_nothing(device):
    """Registers hold it, also over the turns of a loop; not over a write to it, nor what was read long ago."""
    n = 4096
    text = """kernel void k(global float *a, global float *b) {{
        size_t i = get_global_id(0); float sum = 0; {body} b[i] = sum; }}"""

    def lines(body: str) -> float:
        arrays = [floats(device, 64 * n), floats(device, n)]
        return figures(device, text.format(body=body), (n,), (WAVE,), arrays).buffer_lines - n / 16

    once = n / 16
    assert lines("sum = a[i];") == lines("sum = a[i] * a[i] + a[i];") == once
    assert lines("for (int k = 0; k < 9; ++k) sum += a[i];") == once
    assert lines("sum = a[i]; a[i] = 3; sum += a[i];") == 3 * once
    assert lines("for (int k = 0; k < 66; ++k) sum += a[i + k % 33 * 4096];") == 66 * once
