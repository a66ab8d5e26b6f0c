"""The longest chains of arithmetic and the live values of kernels whose figures are known by hand, and blocks of texels."""

from __future__ import annotations

import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.device.group_sample import Tracing

HEAD = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"


@pytest.fixture(scope="module")
def device():
    return open_device("sim:adreno-730,wave_size=64,checks=bounds")


def count(device, body, items=64, kind="float4"):
    source = f"{HEAD}kernel void k(global {kind} *x, global {kind} *y) {{ size_t i = get_global_id(0); {body} }}"
    buffers = [device.view(device.allocate(1 << 16), BufferSpec(1 << 16, "float32")) for _ in range(2)]
    return device.count_groups(device.build(source)["k"], (items,), (64,), buffers)


def chain_of(sample):
    return sum(weight * counters.chained for weight, counters in sample.parts) / 64


@pytest.mark.parametrize(("body", "chain", "live"), [
    ("y[i] = x[i];", 0, 16),
    ("y[i] = x[i] + 1.0f;", 1, 16),
    ("y[i] = x[i] * 2.0f + 1.0f;", 1, 16),  # a product that only a sum takes is part of it
    ("float4 p = x[i] * 2.0f; y[i] = p; y[i + 64] = p + 1.0f;", 2, 16),  # this one is needed as well
    ("float4 a = x[i], b = x[i + 64]; y[i] = a * b + b * a;", 2, 48),
    ("float4 a = x[i]; y[i] = ((a + 1.0f) * 3.0f + 2.0f) * a;", 3, 32),
    ("float4 s = 0; for (int n = 0; n < 10; ++n) s += x[i + n] * 2.0f; y[i] = s;", 10, 32),
    ("float4 s = 0, t = 0; for (int n = 0; n < 10; ++n) { s += x[i + n]; t += x[i + n + 1]; } y[i] = s + t;", 11, 48),
    ("y[i] = sqrt(x[i]) + 1.0f;", 2, 16),
])  # fmt: skip
def test_by_hand(device, body, chain, live):
    sample = count(device, body)
    assert chain_of(sample) == chain
    assert sample.live_bytes == live


def add_reads(count):
    return " + ".join(f"x[i + {n}]" for n in range(count))


@pytest.mark.parametrize(("body", "waits"), [
    ("y[i] = x[i] + x[i + 64];", 1),
    ("int at = (int)x[i].x; y[i] = x[at];", 2),
    ("float4 a = 0, b = 0; if (i < 70) a = x[i]; if (i < 80) b = x[i + 64]; y[i] = a * b;", 1),  # nobody waits for `a` before
    ("float4 s = 0; for (int n = 0; n < 10; ++n) { float4 a = 0, b = 0; if (i + n < 90) a = x[i + n];"
     " if (i + n < 80) b = x[i + n + 1]; s += a * b; } y[i] = s;", 10),
    ("local float4 t[64]; t[get_local_id(0)] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); y[i] = t[0] + x[i + 64];", 2),
    (f"y[i] = {add_reads(8)};", 1),
    (f"y[i] = {add_reads(9)};", 2),
    (f"y[i] = {add_reads(17)};", 3),
    (f"int at = (int)({add_reads(8)}).x; y[i] = x[at];", 2),
    (f"float4 a = 0; if (i < 70) a = {add_reads(4)}; float4 b = {add_reads(5)}; y[i] = a * b;", 2),  # nine, guarded or not
    (f"float4 a; if (i < 70) a = {add_reads(5)}; else a = {add_reads(7)}; y[i] = a;", 1),  # of two sides one runs
    ("float16 a = 0; for (int n = 0; n < 2; ++n) a += vload16(i, (global float *)x + n); vstore16(a, i, (global float *)y);", 2),
    ("global float *p = (global float *)x; vstore16(vload16(i, p) * vload16(i, p + 1) + vload16(i, p + 2), 0, p);", 2),  # 12 of 4
])  # fmt: skip
def test_reads_that_wait(device, body, waits):
    """Guarded reads are issued one behind the other, up to eight of four elements; a barrier waits for all before it."""
    sample = count(device, body)
    assert sum(weight * counters.awaited for weight, counters in sample.parts) / 64 == waits


def test_halves_are_half_as_large(device):
    assert count(device, "y[i] = x[i] + x[i + 1];", kind="half4").live_bytes == 16
    assert count(device, "y[i] = x[i] + x[i + 1];").live_bytes == 32


def test_integers_are_neither(device):
    sample = count(device, "y[i] = x[i] * 3 + 7;", kind="int4")
    assert chain_of(sample) == 0
    assert sample.live_bytes == 0


@pytest.mark.parametrize(("blocks", "where", "lines"), [
    (False, "(int2)(lx, ly)", 16),  # a row of 8 texels of 16 bytes is two lines
    (True, "(int2)(lx, ly)", 8),  # 8 x 8 texels are 2 x 4 blocks
    (False, "(int2)(0, lx + 8 * ly)", 64),
    (True, "(int2)(0, lx + 8 * ly)", 32),  # two rows share a block
    (True, "(int2)(lx + 8 * ly, 0)", 16),
    (True, "(int2)(4 * lx, 2 * ly)", 64),  # every texel in a block of its own
    (True, "(int2)(1, 1)", 1),
])  # fmt: skip
def test_lines_of_textures(device, blocks, where, lines):
    image = device.create_image(ImageSpec("image2d", 64, 64))
    out = device.view(device.allocate(1024), BufferSpec(1024, "float32"))
    source = f"""kernel void k(read_only image2d_t from, global float4 *to) {{
      int lx = get_local_id(0), ly = get_local_id(1);
      to[0] = read_imagef(from, {where}); }}"""
    sample = device.count_groups(device.build(source)["k"], (8, 8), (8, 8), [image, out], Tracing(texel_blocks=blocks))
    ((_, counters),) = sample.parts
    (texture,) = [row for row in counters.memory if row.kind == "image"]
    assert texture.transactions == lines
    assert texture.reads == 64


@pytest.mark.parametrize(("where", "lines"), [
    ("(int4)(lx, ly, 1, 0)", 8),  # as of one layer
    ("(int4)(1, 0, lx + 8 * ly, 0)", 64),  # every layer has blocks of its own
    ("(int4)(1, lx & 1, ly, 0)", 8),  # two rows share a block, of each layer
])  # fmt: skip
def test_lines_of_layers(device, where, lines):
    image = device.create_image(ImageSpec("image2d_array", 16, 9, 64))
    out = device.view(device.allocate(1024), BufferSpec(1024, "float32"))
    source = f"""kernel void k(read_only image2d_array_t from, global float4 *to) {{
      int lx = get_local_id(0), ly = get_local_id(1);
      to[0] = read_imagef(from, {where}); }}"""
    sample = device.count_groups(device.build(source)["k"], (8, 8), (8, 8), [image, out], Tracing(texel_blocks=True))
    ((_, counters),) = sample.parts
    (texture,) = [row for row in counters.memory if row.kind == "image"]
    assert texture.transactions == lines
