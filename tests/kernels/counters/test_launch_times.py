"""Predicted times of kernels of which one part is known to decide, and pairs of which one is known to be slower."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.timing.launches import LaunchTimer

COPY = "kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0); b[i] = a[i]; }"
WIDE = COPY.replace("float ", "float4 ")
STRIDED = """
kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0), n = get_global_size(0);
  b[i] = a[i % 1024 * (n / 1024) + i / 1024]; }"""
BUSY = """
kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0); float4 x = a[i], y = x + 1, z = y + 1;
  for (int n = 0; n < 256; n++) { x = x * y + z; y = y * z + x; z = z * x + y; } b[i] = x.x + y.y + z.z + x.w; }"""
CHAIN = """
kernel void k(global const float *a, global float *b) { size_t i = get_global_id(0); float x = a[i];
  for (int n = 0; n < 4096; n++) x = x * 0.5f + 1; b[i] = x; }"""
READS = " ".join(f"x += read_imagef(a, (int2)(i & 31, n + {k}));" for k in range(8))
TEXELS = f"""
kernel void k(read_only image2d_t a, global float *b) {{ int i = get_global_id(0); float4 x = 0;
  for (int n = 0; n < 32; n++) {{ {READS} }} b[i] = x.x + x.y + x.z + x.w; }}"""


@pytest.fixture(scope="module")
def timer():
    return LaunchTimer(open_device("sim:adreno-640,checks=off"))


def time(timer, source, items, image=False, group=64):
    device = timer._counter
    room = 16 * items if source is WIDE else 4 * items
    target = device.view(device.allocate(room), BufferSpec(room, "float32"))
    if image:
        first = device.create_image(ImageSpec("image2d", 32, 40))
    else:
        first = device.view(device.allocate(room), BufferSpec(room, "float32"))
    return timer.time(device.build(source)["k"], (items,), (group,), [first, target])


@pytest.mark.parametrize(("source", "items", "image", "bound"), [
    (WIDE, 1 << 20, False, "DRAM"),
    (STRIDED, 1 << 18, False, "buffer lines"),
    (BUSY, 1 << 16, False, "operations"),
    (CHAIN, 64, False, "latency"),
    (TEXELS, 1 << 16, True, "texture reads"),
])  # fmt: skip
def test_what_bounds_a_launch(timer, source, items, image, bound):
    made = time(timer, source, items, image)
    assert made.bound == bound, made.parts
    assert max(made.parts.values()) <= made.seconds <= sum(made.parts.values())


def test_a_copy_takes_what_memory_takes(timer):
    """A 640's memory was measured to give 30 GB/s."""
    made = time(timer, WIDE, 1 << 20)
    assert made.bytes == 2 << 24
    assert made.bytes / made.seconds == pytest.approx(30e9, rel=0.25)


def test_strides_cost(timer):
    assert time(timer, STRIDED, 1 << 18).seconds > 2 * time(timer, COPY, 1 << 18).seconds


def test_groups_of_one_work_item_cost(timer):
    assert time(timer, BUSY, 1 << 12, group=1).seconds > 2 * time(timer, BUSY, 1 << 12).seconds


def test_a_launch_is_counted_as_memory_is(timer):
    """What a loop's length depends on is read before the launch, and memory stays as it was."""
    source = """kernel void k(global int *n, global float *b) {
      float x = 1; for (int i = 0; i < n[0]; i++) x *= 1.5f; b[0] = x; n[0] = 0; }"""
    device = open_device("sim:adreno-640")
    kernel, times = device.build(source)["k"], []
    for loops in (10, 10_000):
        view = device.view(device.allocate(4), BufferSpec(4, "int32"))
        device.write(view, np.array([loops], np.int32))
        target = device.view(device.allocate(4), BufferSpec(4, "float32"))
        times.append(LaunchTimer(device).time(kernel, (1,), (1,), [view, target]).seconds)
        assert device.read(view)[0] == loops
    assert times[1] > 50 * times[0]


def test_more_than_a_launch_touches_costs_nothing(timer):
    device = timer._counter
    kernel = device.build(COPY)["k"]
    made = []
    for room in (1 << 16, 1 << 24):
        views = [device.view(device.allocate(room), BufferSpec(room, "float32")) for _ in range(2)]
        made.append(timer.time(kernel, (1 << 14,), (64,), views).seconds)
    assert made[0] == made[1]


def test_whose_times_are_guesses(timer):
    made = time(timer, "kernel void k(global const int *a, global int *b) { int x = a[get_global_id(0)];"
                " for (int n = 0; n < 999; n++) x = x * 1664525 + 1013904223; b[get_global_id(0)] = x; }", 1 << 14)  # fmt: skip
    assert any("integers" in reason for reason in made.unknown)
    assert time(timer, BUSY, 1 << 14).unknown == ()


@pytest.mark.parametrize(("call", "twin"), [
    ("fma(x, x, 1.0f)", "mad(x, x, 1.0f)"),
    ("fma(x, x, 1.0f)", "x * x + 1.0f"),
    ("atan(x)", "sin(x)"),
    ("tan(x)", "native_sin(x) / native_cos(x)"),
])  # fmt: skip
def test_slow_functions_cost_and_are_named(timer, call, twin):
    """As what stands for them does not."""
    text = "kernel void k(global const float *a, global float *b) {{ float x = a[get_global_id(0)];\n"
    text += " for (int n = 0; n < 64; n++) x = {}; b[get_global_id(0)] = x; }}"
    slow, fast = (time(timer, text.format(some), 1 << 14) for some in (call, twin))
    (named,) = slow.slow_calls
    assert named.name == call.partition("(")[0]
    assert named.line == 2
    assert not fast.slow_calls
    assert slow.parts["operations"] > named.times / 16 * fast.parts["operations"]
