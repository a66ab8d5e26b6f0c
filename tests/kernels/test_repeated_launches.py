"""Launches that are like earlier ones reuse what was found out before, and nothing that may have changed since."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.backends.sim.arguments import scalar_bytes
from adreno_sim.backends.sim.launches.launch_config import launch_signature
from adreno_sim.base.errors import DeviceError
from adreno_sim.base.specs import BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.engine.abi.specialization import BufferArg, Specialization
from adreno_sim.ir import ir

LEVELS = ["off", "bounds", "full"]
N = 64


def opened(level: str = "bounds", **options: object) -> adreno_sim.device.Device:
    return adreno_sim.open_device("sim:reference", checks=level, **options)


def ints(device, values: object = 0, count: int = N):
    view = device.view(device.allocate(4 * count), BufferSpec(4 * count, "int32"))
    device.write(view, np.broadcast_to(np.asarray(values, np.int32), count))
    return view


@pytest.mark.parametrize("level", LEVELS)
def test_scalars_that_compare_equal_are_told_apart(level):
    device = opened(level)
    kernel = device.build("kernel void k(global int *a, float x) { a[get_global_id(0)] = as_int(x); }")["k"]
    view = ints(device)
    for value in (0.0, -0.0, 0, np.float32(-0.0), 1, True, 1.0, -0.0, float("nan"), 0.0):
        device.launch(kernel, (N,), (8,), [view, value])
        expected = int(np.float32(value).view(np.int32))
        assert device.read(view).tolist() == [expected] * N, value


@pytest.mark.parametrize("level", LEVELS)
def test_arguments_may_lie_elsewhere_and_hold_something_else(level):
    device = opened(level)
    kernel = device.build("kernel void k(global int *a, global const int *b) { int i = get_global_id(0); a[i] = b[i] + 1; }")["k"]
    first, second, third = ints(device), ints(device, 5), ints(device, 7)
    for result, source, expected in [(first, second, 6), (third, second, 6), (second, first, 7), (first, second, 8)]:
        assert not device.launch(kernel, (N,), (8,), [result, source]).findings
        assert device.read(result).tolist() == [expected] * N
    device.write(second, np.full(N, 20, np.int32))
    device.launch(kernel, (N,), (8,), [first, second])
    assert device.read(first).tolist() == [21] * N
    device.launch(kernel, (N // 2,), (8,), [third, first])
    assert device.read(third).tolist() == [22] * (N // 2) + [6] * (N // 2)


@pytest.mark.parametrize("level", LEVELS[1:])
def test_findings_are_of_each_launch_anew(level):
    device = opened(level)
    kernel = device.build("kernel void k(global int *a, int n) { a[get_global_id(0) + n] = 1; }")["k"]
    view = ints(device)
    for n, expected in [(0, []), (3, [3]), (3, [3]), (5, [5]), (0, []), (3, [3])]:
        found = device.launch(kernel, (N,), (8,), [view, n]).findings
        assert [finding.count for finding in found] == expected


def test_arguments_that_the_caller_changes_are_read_again():
    device = opened()
    kernel = device.build("kernel void k(global int *a, int2 n) { a[get_global_id(0)] = n.x + n.y; }")["k"]
    first, second = ints(device), ints(device)
    numbers = np.array([1, 2], np.int32)
    args, size = [first, numbers], [N]
    for x, expected in ((1, 3), (5, 7), (5, 7)):
        numbers[0] = x
        device.launch(kernel, size, (8,), args)
        assert device.read(first).tolist() == [expected] * N
    args[0] = second
    device.launch(kernel, size, (8,), args)
    assert device.read(second).tolist() == [7] * N
    size[0], numbers[0] = 8, 0
    device.launch(kernel, size, (8,), args)
    assert device.read(second).tolist() == [2] * 8 + [7] * (N - 8)


def test_a_launch_once_more_needs_its_views():
    device = opened()
    kernel = device.build("kernel void k(global int *a, int n) { a[get_global_id(0)] += n; }")["k"]
    view, n, sizes = ints(device), np.int32(2), ((N,), (8,))
    args = [view, n]
    for _ in range(3):
        device.launch(kernel, *sizes, args)
    assert device.read(view).tolist() == [6] * N
    view.release()
    with pytest.raises(DeviceError, match="released"):
        device.launch(kernel, *sizes, args)
    other = [ints(device), n]
    device.launch(kernel, *sizes, other)
    device.free(other[0].storage)
    with pytest.raises(DeviceError, match="freed"):
        device.launch(kernel, *sizes, other)
    with pytest.raises(DeviceError, match="takes 2 arguments"):
        device.launch(kernel, *sizes, other[:1])


def test_bytes_that_become_unwritten_are_found_out():
    device = opened("full")
    kernel = device.build("kernel void k(global int *a, global const int *b) { int i = get_global_id(0); a[i] = b[i]; }")["k"]
    result, source = ints(device), ints(device)
    for _ in range(3):
        assert not device.launch(kernel, (N,), (8,), [result, source]).findings
    device.discard(source)
    for _ in range(2):
        found = device.launch(kernel, (N,), (8,), [result, source]).findings
        assert {finding.kind.label for finding in found} == {"uninitialized-read"}
    device.write(source, np.ones(N, np.int32))
    assert not device.launch(kernel, (N,), (8,), [result, source]).findings


@pytest.mark.parametrize("level", LEVELS)
def test_views_are_asked_every_time_whether_they_live(level):
    device = opened(level)
    kernel = device.build("kernel void k(global int *a) { a[get_global_id(0)] += 1; }")["k"]
    kept, released, freed = ints(device), ints(device), ints(device)
    for view in (kept, released, freed):
        device.launch(kernel, (N,), (8,), [view])
    released.release()
    device.free(freed.storage)
    for view in (released, freed, ints(opened(level))):
        with pytest.raises(DeviceError, match="CL_INVALID_MEM_OBJECT"):
            device.launch(kernel, (N,), (8,), [view])
    device.launch(kernel, (N,), (8,), [kept])
    assert device.read(kept).tolist() == [2] * N


def test_views_that_share_a_storage_are_told_of_though_others_like_them_did_not():
    device = opened("bounds")
    kernel = device.build("kernel void k(global int *a, global const int *b) { int i = get_global_id(0); a[i] = b[i]; }")["k"]
    apart = [ints(device), ints(device)]
    storage = device.allocate(8 * N)
    shared = [device.view(storage, BufferSpec(4 * N, "int32"), offset) for offset in (0, 128)]
    for views, expected in [(apart, 0), (shared, 1), (apart, 0)]:
        assert len(device.launch(kernel, (N,), (8,), views).findings) == expected


def test_images_of_other_extents_and_formats_are_other_launches():
    source = """kernel void k(write_only image2d_t a, int n) {
      write_imagef(a, (int2)(get_global_id(0), get_global_id(1)), (float4)(n, n + 1, n + 2, n + 3)); }"""
    device = opened("bounds")
    kernel = device.build(source)["k"]
    specs = [ImageSpec("image2d", 8, 8), ImageSpec("image2d", 8, 4), ImageSpec("image2d", 8, 8, channel_type="HALF_FLOAT")]
    for _ in range(2):
        for number, spec in enumerate(specs):
            view = device.view(device.allocate(device.view_nbytes(spec)), spec)
            found = device.launch(kernel, (8, 8), (4, 4), [view, number]).findings
            assert [finding.kind.label for finding in found] == (["image-write-out-of-range"] if spec.height == 4 else [])
            assert device.read(view)[0, :, :, 1].tolist() == [[number + 1.0] * 8] * spec.height
            device.free(view.storage)


def test_sizes_that_are_wrong_are_refused_every_time():
    device = opened("bounds")
    kernel = device.build("kernel void k(global int *a) { a[get_global_id(0)] += 1; }")["k"]
    view = ints(device)
    device.launch(kernel, (N,), (8,), [view])
    device.launch(kernel, [np.int64(N)], [8], [view])
    for _ in range(2):
        with pytest.raises(DeviceError, match="CL_INVALID_WORK_GROUP_SIZE"):
            device.launch(kernel, (N,), (8, 1), [view])
        with pytest.raises(DeviceError, match="CL_INVALID_KERNEL_ARGS"):
            device.launch(kernel, (N,), (8,), [view, 1])
    device.launch(kernel, (N,), None, [view])
    assert device.read(view).tolist() == [3] * N


numbers = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.booleans(),
    st.floats(width=32),
    st.sampled_from([np.int32, np.uint32, np.float32, np.int16]).flatmap(lambda t: st.integers(0, 100).map(t)),
    st.binary(min_size=4, max_size=4),
)


@given(numbers, numbers, st.sampled_from([ir.Int(32), ir.Float(32)]))
@settings(max_examples=200)
def test_alike_scalars_are_the_same_bytes(one, other, type_):
    def read(value):
        try:
            return scalar_bytes("", type_, value)
        except DeviceError as error:
            return str(error)

    if launch_signature([one]) == launch_signature([other]):
        assert read(one) == read(other) or str(one) == str(other)
    assert launch_signature([one]) == launch_signature([copy.deepcopy(one)])


def test_arguments_no_kernel_takes_have_no_signature():
    assert launch_signature([1, "text"]) is None
    assert launch_signature([object()]) is None
    assert launch_signature([Sampler(addressing=[])]) is None
    assert launch_signature([Local(4)]) != launch_signature([4])
    assert launch_signature([Sampler()]) == launch_signature([Sampler()])


def test_a_hash_is_kept_by_no_copy():
    spec = Specialization(local_size=(1, 1, 1), args=(BufferArg(),))
    same = Specialization(local_size=(1, 1, 1), args=(BufferArg(),))
    assert hash(spec) == hash(same)
    assert spec == same
    assert hash(spec) == hash(spec)
    other = replace(spec, local_size=(2, 1, 1))
    assert hash(other) != hash(spec)
    assert other != spec
    for again in (copy.copy(spec), pickle.loads(pickle.dumps(spec))):
        assert again == spec
        assert "_hash" not in vars(again)
        assert hash(again) == hash(spec)
