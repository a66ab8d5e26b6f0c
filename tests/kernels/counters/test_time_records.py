"""The kernels of tuning records: they are convolutions, and are counted as by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.findings import Kind

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from time_records.candidates import draw_schedules, list_neighbours
from time_records.count import count_records
from time_records.kernels import convolution_of, kernels_of
from time_records.record import CONV, DEPTHWISE, Record, Split, is_slow, read_records
from time_records.winograd import draw_winograds, find_matrices, has_winograd, winograd_kernels


def make(operator=CONV, **changed):
    base = {
        "dtype": "float32", "shape": (1, 8, 9, 11), "weight": (12, 8, 3, 3), "strides": (1, 1), "padding": (1, 1, 1, 1),
        "dilation": (1, 1), "fc": Split(1, 3), "y": Split(2, 2), "x": Split(1, 4), "rc": 2, "ry": 1, "rx": 3, "seconds": 1.0,
    }  # fmt: skip
    return Record(operator, **{**base, **changed})


CASES = {
    "padded": make(),
    "strided": make(strides=(2, 2), y=Split(1, 2), x=Split(2, 2)),
    "dilated": make(dilation=(2, 2), padding=(2, 2, 2, 2)),
    "pointwise": make(weight=(12, 8, 1, 1), padding=(0, 0, 0, 0), ry=1, rx=1),
    "parts that do not exist": make(
        shape=(1, 8, 1, 1), weight=(12, 8, 1, 1), padding=(0, 0, 0, 0), y=Split(4, 1), x=Split(4, 1), rx=1
    ),
    "weights by filters": make(weight=(64, 96, 3, 3), shape=(1, 96, 5, 5), fc=Split(2, 4), rc=4, rx=1),
    "depthwise": make(DEPTHWISE, weight=(8, 1, 3, 3), fc=Split(2, 1), rc=1),
    "depthwise, strided": make(DEPTHWISE, weight=(8, 1, 3, 3), strides=(2, 2), fc=Split(1, 2), rc=1),
}  # fmt: skip


def pack(values, blocks, height, width):
    """NCHW with its padding as rows of texels."""
    batch, channels = values.shape[:2]
    padded = np.zeros((batch, blocks * 4, height, width), values.dtype)
    padded[:, :channels] = values[:, :, :height, :width]
    return padded.reshape(batch, blocks, 4, height, width).transpose(0, 1, 3, 4, 2)


def convolve(record, data, weight):
    (top, left, bottom, right), (sy, sx), (dy, dx) = record.padding, record.strides, record.dilation
    data = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    (height, width), out = record.output, None
    for ry in range(weight.shape[2]):
        for rx in range(weight.shape[3]):
            part = data[:, :, ry * dy : ry * dy + (height - 1) * sy + 1 : sy, rx * dx : rx * dx + (width - 1) * sx + 1 : sx]
            taps = weight[:, :, ry, rx]
            term = part * taps[None, :, 0, None, None] if record.depthwise else np.einsum("nchw,oc->nohw", part, taps)
            out = term if out is None else out + term
    return data, out


@pytest.mark.parametrize("name", CASES)
def test_what_they_compute(name):
    record, generator = CASES[name], np.random.default_rng(3)
    data = generator.integers(-3, 4, record.shape).astype(np.float32)
    weight = generator.integers(-3, 4, record.weight).astype(np.float32)
    padded, expected = convolve(record, data, weight)
    kernel = convolution_of(record)
    (rows, columns), _ = kernel.textures
    packed = pack(padded, record.input_blocks, rows // (record.shape[0] * record.input_blocks), columns)
    outputs, inputs = weight.shape[:2]
    by_filter = np.zeros((record.channel_blocks * 4, inputs, *weight.shape[2:]), np.float32)
    by_filter[:outputs] = weight
    by_filter = by_filter.reshape(record.channel_blocks, 4, inputs, *weight.shape[2:]).transpose(0, 2, 3, 4, 1)
    device = open_device("sim:adreno-730,checks=full")
    images = [device.create_image(ImageSpec("image2d", columns, rows)) for rows, columns in kernel.textures]
    for image, values in zip(images, (packed, by_filter), strict=True):
        device.write(image, values.reshape(image.spec.height, image.spec.width, 4))
    out = device.view(device.allocate(kernel.buffer_bytes), BufferSpec(kernel.buffer_bytes, "float32"))
    result = device.launch(device.build(kernel.source)["convolve"], kernel.global_size, kernel.local_size, [*images, out])
    assert not [finding for finding in result.findings if finding.kind is not Kind.CLAMPED_READ]  # of outputs that do not exist
    got = np.asarray(device.read(out)).reshape(record.shape[0], record.channel_blocks, *record.output, 4)
    got = got.transpose(0, 1, 4, 2, 3).reshape(record.shape[0], -1, *record.output)[:, : expected.shape[1]]
    assert np.array_equal(got, expected)


WINOGRADS = {
    "tiles of 2": make(shape=(1, 8, 7, 9), weight=(128, 8, 3, 3)),
    "tiles of 4": make(shape=(1, 8, 8, 11), weight=(128, 8, 3, 3)),
}


@pytest.mark.parametrize("name", WINOGRADS)
def test_what_winograd_computes(name):
    record, generator = WINOGRADS[name], np.random.default_rng(3)
    assert has_winograd(record)
    data = generator.integers(-3, 4, record.shape).astype(np.float32)
    weight = generator.integers(-3, 4, record.weight).astype(np.float32)
    padded, expected = convolve(record, data, weight)
    w = next(one for one in draw_winograds(record, 99, 1) if one.rows.parts > 1)
    _, _, taps = find_matrices(w.tile, w.side)
    transformed = np.einsum("ra,sb,ocab->rsco", taps, taps, weight).reshape(*w.weights[:2], 4)
    *_, transform, multiply, finish = winograd_kernels(w)
    (rows, columns), _ = transform.textures
    device = open_device("sim:adreno-730")
    images = [
        device.create_image(ImageSpec("image2d", texture.columns, texture.rows))
        for texture in (record.data_texture, w.inputs, w.weights, w.products)
    ]
    device.write(images[0], pack(padded, 2, rows // 2, columns).reshape(rows, columns, 4))
    device.write(images[2], transformed.astype(np.float32))
    out = device.view(device.allocate(finish.buffer_bytes), BufferSpec(finish.buffer_bytes, "float32"))
    given = images[:2], images[1:], [images[3], out]
    for kernel, arguments in zip((transform, multiply, finish), given, strict=True):
        result = device.launch(device.build(kernel.source)[kernel.name], kernel.global_size, kernel.local_size, arguments)
        assert not [finding for finding in result.findings if finding.kind is not Kind.CLAMPED_READ]  # of a tile at the border
    got = np.asarray(device.read(out)).reshape(1, record.channel_blocks, *record.output, 4).transpose(0, 1, 4, 2, 3)
    assert np.allclose(got.reshape(expected.shape), expected, atol=1e-3)


def test_a_copy_has_groups_of_the_largest_divisor_up_to_64():
    data, weight, _ = kernels_of(make(shape=(1, 8, 227, 1), padding=(0, 0, 0, 0), weight=(12, 8, 1, 1)))
    assert data.global_size == (2 * 227,)
    assert data.local_size == (2,)
    assert weight.global_size == (24,)
    assert weight.local_size == (24,)


def test_rows_are_read(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text(
        "operator,dtype,data,weight,strides,padding,dilation,tile_fc,tile_y,tile_x,tile_rcc,tile_ry,tile_rx,"
        "auto_unroll_max_step,unroll_explicit,seconds\n"
        "conv2d_nchwc.image2d,float16,1x256x38x38,32x256x1x1,1x1,0x0x0x0,1x1,1x8,2x1,2x16,2,1,1,0,0,0.00075\n"
        "dense_small_batch.gpu,float16,1x512,1000x512,,,,,,,,,,,,0.00005\n"
        "conv2d_nchw_winograd.image2d,float16,1x64x56x56,64x64x3x3,1x1,1x1x1x1,1x1,,,,,,,,,0.0003\n"
    )
    (record,), others = read_records(path)
    assert others == {"dense_small_batch.gpu": 1, "conv2d_nchw_winograd.image2d": 1}
    assert record.half
    assert record.seconds == 0.00075
    assert is_slow(record)
    assert record.grid == (2, 19, 1)
    assert record.local == (16, 1, 8)
    assert record.real_parts() == (1, 2, 2)


@pytest.mark.parametrize("name", CASES)
def test_random_schedules_are_of_the_same_workload(name):
    record = CASES[name]
    drawn = draw_schedules(record, 10, 3)
    assert drawn == draw_schedules(record, 10, 3)
    assert record not in drawn
    assert len({(one.fc, one.y, one.x) for one in drawn}) == len(drawn)
    for one in drawn:
        assert one.workload == record.workload
        assert math.prod(one.local) <= 1024
        covered = (extent <= groups * split.parts * split.items for extent, groups, split in zip(
            (one.output[1], one.output[0], one.channel_blocks), one.grid, (one.x, one.y, one.fc), strict=True
        ))  # fmt: skip
        assert all(covered)


@pytest.mark.parametrize("name", CASES)
def test_neighbours_differ_in_one_choice(name):
    (record,) = draw_schedules(CASES[name], 1, 3)
    found = list_neighbours(record, 1)
    assert found == list_neighbours(record, 1)
    for one in found:
        assert one.workload == record.workload
        assert sum(getattr(one, axis) != getattr(record, axis) for axis in ("fc", "y", "x", "rc")) == 1


def test_winograd_is_for_square_filters_with_a_stride_of_one():
    assert has_winograd(make())
    for other in (make(strides=(2, 2)), make(dilation=(2, 2)), make(weight=(12, 8, 1, 1)), make(weight=(12, 8, 1, 7)),
                  make(DEPTHWISE, weight=(8, 1, 3, 3))):  # fmt: skip
        assert not has_winograd(other)


def test_counting_stops_in_time():
    assert count_records([make()], None, 1, until=0.0) == [None]
