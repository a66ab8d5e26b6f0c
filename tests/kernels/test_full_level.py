"""Level full beyond the corpus: shadows that outlive a launch, random order, atomics, sub-groups, pointers of unknown origin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local
from adreno_sim.device.protocol import Device, LaunchResult

OPTIONS = "-cl-std=CL2.0"


def full(**options: Any) -> Device:
    return adreno_sim.open_device("sim:reference", checks="full", **options)


@pytest.fixture
def device() -> Device:
    return full()


def buffer(device: Device, count: int, dtype: str = "int32", data: Any = None) -> Any:
    spec = BufferSpec(count * np.dtype(dtype).itemsize, dtype)
    view = device.view(device.allocate(spec.nbytes), spec)
    if data is not None:
        device.write(view, np.broadcast_to(np.asarray(data, dtype), count))
    return view


def launch(device: Device, source: str, size: Sequence[int], group: Sequence[int], *args: Any) -> LaunchResult:
    program = device.build(source, OPTIONS)
    return device.launch(program[program.kernel_names()[0]], size, group, args)


def kinds(result: LaunchResult) -> list[str]:
    return [finding.kind.label for finding in result.findings]


WRITE = "__kernel void put(__global int *a, const int n) { int i = get_global_id(0); if (i < n) a[i] = i; }"
READ = "__kernel void get(__global const int *a, __global int *out) { int i = get_global_id(0); out[i] = a[i]; }"


def test_what_one_launch_writes_the_next_may_read(device: Device) -> None:
    a, out = buffer(device, 8), buffer(device, 8)
    assert not kinds(launch(device, WRITE, [8], [4], a, np.int32(6)))
    (found,) = launch(device, READ, [8], [4], a, out).findings
    assert found.kind.label == "uninitialized-read"
    assert found.count == 2
    assert found.access
    assert found.access.offset == 24
    assert found.work_item
    assert found.work_item.global_id == (6, 0, 0)
    launch(device, WRITE, [8], [4], a, np.int32(8))
    assert not kinds(launch(device, READ, [8], [4], a, out))


def test_memory_that_changes_hands_holds_nothing(device: Device) -> None:
    a, out = buffer(device, 1024, data=1), buffer(device, 8)
    assert not kinds(launch(device, READ, [8], [4], a, out))
    device.free(a.storage)
    again = buffer(device, 1024)
    assert kinds(launch(device, READ, [8], [4], again, out)) == ["uninitialized-read"]
    device.write(again, np.zeros(1024, np.int32))
    assert not kinds(launch(device, READ, [8], [4], again, out))
    device.discard(again)
    assert kinds(launch(device, READ, [8], [4], again, out)) == ["uninitialized-read"]


def test_a_copy_takes_along_what_is_written(device: Device) -> None:
    a, b, out = buffer(device, 8), buffer(device, 8, data=0), buffer(device, 8)
    launch(device, WRITE, [8], [4], a, np.int32(4))
    device.copy(a, b)
    (found,) = launch(device, READ, [8], [4], b, out).findings
    assert found.count == 4


@pytest.mark.parametrize("profile", ["adreno-740", "adreno-505"])
def test_images_and_buffers_over_one_storage(profile: str) -> None:
    """A profile with images over buffers, and one where the image is separate and copied."""
    device = adreno_sim.open_device(f"sim:{profile}", checks="full")
    spec = ImageSpec("image2d", 8, 1, 1, "R", "FLOAT")
    storage = device.allocate(4096)
    image, flat = device.view(storage, spec), device.view(storage, BufferSpec(32, "float32"))
    write = "__kernel void put(__write_only image2d_t a) { write_imagef(a, (int2)(get_global_id(0), 0), (float4)(1.0f)); }"
    read = "__kernel void get(__global const float *a, __global float *out) { int i = get_global_id(0); out[i] = a[i]; }"
    out = buffer(device, 8, "float32")
    assert not kinds(launch(device, write, [6], [6], image))
    (found,) = launch(device, read, [8], [8], flat, out).findings
    assert found.kind.label == "uninitialized-read"
    assert found.count == 2


@pytest.mark.parametrize("where", ["(int2)(i, 0)", "(float2)(i + 0.5f, 0.5f)"])
def test_a_choice_between_what_images_hold(device: Device, where: str) -> None:
    source = f"""__constant sampler_t s = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    __kernel void k(__read_only image2d_t a, __read_only image2d_t b, __global float4 *out) {{
      int i = get_global_id(0);
      out[i] = i < 6 ? read_imagef(a, s, {where}) : read_imagef(b, s, {where});
      out[i + 8] = select(read_imagef(a, s, {where}), read_imagef(b, s, {where}), (int4)(-(i > 3)));
    }}"""
    spec = ImageSpec("image2d", 8, 1, 1, "RGBA", "FLOAT")
    images = [device.view(device.allocate(4096), spec) for _ in range(2)]
    for image in images:
        device.write(image, np.ones((1, 1, 8, 4), np.float32))
    assert not kinds(launch(device, source, [8], [8], *images, buffer(device, 64, "float32")))


def test_neighbours_may_share_a_word(device: Device) -> None:
    source = "__kernel void k(__global uchar *a, __global ushort *b) { int i = get_global_id(0); a[i] = i; b[i] = i; }"
    assert not kinds(launch(device, source, [64], [16], buffer(device, 64, "uint8"), buffer(device, 64, "uint16")))


def test_atomics_are_no_race_among_themselves(device: Device) -> None:
    source = """__kernel void k(__global int *sum, __global int *top) {
      __local int part;
      if (get_local_id(0) == 0) atomic_xchg(&part, 0);
      barrier(CLK_LOCAL_MEM_FENCE);
      atomic_add(&part, (int)get_global_id(0)); atomic_max(top, (int)get_global_id(0));
      barrier(CLK_LOCAL_MEM_FENCE);
      if (get_local_id(0) == 0) atomic_add(sum, part);
    }"""
    total, top = buffer(device, 1, data=0), buffer(device, 1, data=0)
    assert not kinds(launch(device, source, [64], [16], total, top))
    assert device.read(total)[0] == 64 * 63 // 2
    assert device.read(top)[0] == 63


PING_PONG = """__kernel void k(__global const int *in, __global int *out) {{
  __local int a[8], b[8];
  __local int *from = a, *to = b;
  int i = get_local_id(0);
  a[i] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < 8; step *= 2) {{
    to[i] = i >= step ? from[i] + from[i - step] : from[i];
    {barrier}
    __local int *other = from; from = to; to = other;
  }}
  out[get_global_id(0)] = from[i];
}}"""


def test_pointers_that_change_places(device: Device) -> None:
    a, out = buffer(device, 16, data=1), buffer(device, 16)
    clean = PING_PONG.format(barrier="barrier(CLK_LOCAL_MEM_FENCE);")
    assert not kinds(launch(device, clean, [16], [8], a, out))
    assert device.read(out).tolist() == [*range(1, 9)] * 2
    assert "data-race" in kinds(launch(device, PING_PONG.format(barrier=""), [16], [8], a, out))


@pytest.mark.parametrize("fence, expected", [("sub_group_barrier(CLK_LOCAL_MEM_FENCE);", []), ("", ["data-race"])])
def test_a_sub_group_barrier_orders_its_own_work_items(fence: str, expected: list[str]) -> None:
    device = adreno_sim.open_device("sim:adreno-740,wave_size=64", checks="full")
    source = f"""#pragma OPENCL EXTENSION cl_khr_subgroups : enable
    __kernel void k(__global int *out) {{
      __local int a[128];
      int i = get_local_id(0);
      a[i] = i;
      {fence}
      out[get_global_id(0)] = a[i ^ 1] + sub_group_any(i < 0);
    }}"""
    result = launch(device, source, [128], [128], buffer(device, 128))
    assert kinds(result) == expected


def test_a_sub_group_barrier_does_not_order_others() -> None:
    device = adreno_sim.open_device("sim:adreno-740,wave_size=64", checks="full")
    source = """__kernel void k(__global int *out) {
      __local int a[128];
      int i = get_local_id(0);
      a[i] = i;
      sub_group_barrier(CLK_LOCAL_MEM_FENCE);
      out[get_global_id(0)] = a[i ^ 64];
    }"""
    assert kinds(launch(device, source, [128], [128], buffer(device, 128))) == ["data-race"]


TICKETS = "__kernel void k(__global int *next, __global int *at) { at[get_global_id(0)] = atomic_inc(next); }"


def order(seed: int, threads: int) -> list[int]:
    device = full(seed=seed, threads=threads)
    at = buffer(device, 60)
    assert not kinds(launch(device, TICKETS, [60], [12], buffer(device, 1, data=0), at))
    return device.read(at).tolist()


def test_the_order_of_turns_follows_from_the_seed() -> None:
    first = order(1, 1)
    assert sorted(first) == list(range(60))
    assert first != sorted(first)
    assert first == order(1, 2) != order(2, 1)
    for group in range(5):  # the work-items of a group come one after another, in an order of their own
        mine = first[12 * group : 12 * group + 12]
        assert max(mine) - min(mine) == 11
        assert mine != sorted(mine)


RACY = "__kernel void k(__global int *a) { int i = get_global_id(0); a[i / 2] = a[(i * 7) % 32] + i; }"


def test_findings_and_values_do_not_depend_on_threads() -> None:
    runs = []
    for threads in (1, 2, 2):
        device = full(seed=5, threads=threads)
        a = buffer(device, 64, data=0)
        runs.append((launch(device, RACY, [64], [4], a).findings, device.read(a).tolist()))
    assert runs[0] == runs[1] == runs[2]
    assert {f.kind.label for f in runs[0][0]} == {"data-race"}


def test_edge_groups_and_all_axes(device: Device) -> None:
    source = """__kernel void k(__global int *a) {
      size_t w = get_global_size(0), h = get_global_size(1);
      a[get_global_id(0) + w * (get_global_id(1) + h * get_global_id(2))] = 1;
    }"""
    a = buffer(device, 7 * 5 * 3)
    assert not kinds(launch(device, source, [7, 5, 3], [4, 2, 2], a))
    assert device.read(a).tolist() == [1] * (7 * 5 * 3)


def test_a_race_names_both_sides(device: Device) -> None:
    source = """__kernel void k(__global int *a, __local int *tile) {
      int i = get_local_id(0);
      tile[i] = i;
      a[i] = tile[3 - i];
    }"""
    (found,) = launch(device, source, [4], [4], buffer(device, 4), Local(16)).findings
    earlier = found.detail["earlier"]
    assert isinstance(earlier, dict)
    assert {found.line, earlier["line"]} == {3, 4}
    assert "no barrier orders them" in found.message
    assert f"line {earlier['line']}" in found.message
    assert found.access
    assert found.access.view == "tile"
    assert found.access.offset in range(0, 16, 4)
