"""Regions of buffers and images through a real server, against NumPy, with the marks of level full."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from fake_shim import RefusedError, buffer, image

from adreno_sim.icd.protocol import COPY_BODY, FILL_BODY, NO_PLACE, Command
from adreno_sim.icd.status import code_of

RGBA, R = 0x10B5, 0x10B0
FLOAT, UINT8, UNORM8 = 0x10DE, 0x10DA, 0x10D2
SUM = """\
kernel void sum(global int *out, global const uchar *in, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s += in[i];
  *out = s;
}
"""


@pytest.fixture
def shim(connect):
    return connect(checks="full")


def copy(shim, source: int, target: int, shape, **more) -> int:
    ends = (*more.get("origin", (0, 0, 0)), *more.get("pitches", (0, 0)), *more.get("into", (0, 0, 0)), *more.get("to", (0, 0)))
    return shim.put(Command.COPY, COPY_BODY.pack(source, target, *shape, *ends))


def fill(shim, memory: int, pattern: bytes, origin, shape) -> int:
    return shim.put(Command.FILL, FILL_BODY.pack(memory, len(pattern), 0, *origin, *shape) + pattern)


def read(shim, memory: int, shape, nbytes: int, **more) -> np.ndarray:
    shim.transfer(Command.READ, memory, 8192, shape, **more)
    assert shim.finish() == 0
    return shim.staging[8192 : 8192 + nbytes].copy()


def write(shim, memory: int, shape, data: np.ndarray, **more) -> None:
    flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    shim.staging[4096 : 4096 + flat.size] = flat
    shim.transfer(Command.WRITE, memory, 4096, shape, **more)
    assert shim.finish() == 0


def test_rectangles_of_buffers_go_in_and_out(shim) -> None:
    (place, *_) = shim.buffer(1, 1024)
    whole = shim.heap[place : place + 1024].reshape(8, 8, 16)  # slices, rows, bytes
    whole[:] = 7
    data = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    write(shim, 1, (4, 3, 2), data, origin=(5, 1, 2), pitches=(16, 128))
    assert (whole[2:4, 1:4, 5:9] == data).all()
    assert (whole == 7).sum() == 1024 - 24 + (data == 7).sum()
    got = read(shim, 1, (4, 3, 2), 24, origin=(5, 1, 2), pitches=(16, 128))
    assert (got.reshape(2, 3, 4) == data).all()
    wide = read(shim, 1, (4, 3, 2), 200, origin=(5, 1, 2), pitches=(16, 128), staged=(10, 100))
    assert (np.lib.stride_tricks.as_strided(wide, (2, 3, 4), (100, 10, 1)) == data).all()


def test_marks_follow_the_bytes_of_rectangles_copies_and_fills(shim, report) -> None:
    shim.build(1, SUM)
    for number, nbytes in ((1, 4), (2, 64), (3, 64)):
        shim.buffer(number, nbytes)

    def reads(memory: int, count: int) -> None:
        shim.launch(1, 0, (1,), (), [buffer(1), buffer(memory), struct.pack("<IIi4x", 0, 4, count)])
        assert shim.finish() == 0

    fill(shim, 2, b"\1\2", (0, 0, 0), (16, 1, 1))
    reads(2, 16)
    copy(shim, 2, 3, (4, 2, 1), pitches=(8, 64), to=(16, 64))  # bytes 0-3 and 16-19 of memory 3
    reads(3, 4)
    assert shim.heap[0:4].view(np.int32)[0] == 6
    fill(shim, 3, b"\1", (4, 0, 0), (12, 1, 1))
    reads(3, 20)
    data = report(shim)
    assert data["findings"] == []
    assert data["unchecked"] == []


@pytest.mark.parametrize("how", ["copy", "read only a part"])
def test_bytes_around_what_was_written_stay_unwritten(shim, report, how) -> None:
    shim.build(1, SUM)
    for number, nbytes in ((1, 4), (2, 64), (3, 64)):
        shim.buffer(number, nbytes)
    fill(shim, 2, b"\1", (0, 0, 0), (16, 1, 1))
    if how == "copy":
        fill(shim, 3, b"\1", (0, 0, 0), (64, 1, 1))
        copy(shim, 2, 3, (32, 1, 1))  # of which 16 are unwritten: that goes along
    shim.launch(1, 0, (1,), (), [buffer(1), buffer(3 if how == "copy" else 2), struct.pack("<IIi4x", 0, 4, 17)])
    shim.host_read(1, 0, 4)
    assert shim.finish() == 0
    assert [found["kind"] for found in report(shim)["findings"]] == ["uninitialized-read"]


def test_images_are_written_read_copied_and_filled(shim, report) -> None:
    place, nbytes, row, plane, texel, _ = shim.image(1, "image2d", (5, 4, 1, 1), (RGBA, FLOAT))
    assert (place, row, plane, texel) == (NO_PLACE, 80, 0, 16)
    assert nbytes >= 320
    shim.image(2, "image2d_array", (5, 4, 1, 3), (RGBA, FLOAT))
    data = np.arange(80, dtype=np.float32)
    write(shim, 1, (5, 4, 1), data)
    assert (read(shim, 1, (5, 4, 1), 320).view(np.float32) == data).all()
    part = read(shim, 1, (2, 2, 1), 64, origin=(1, 2, 0)).view(np.float32)
    assert (part.reshape(2, 2, 4) == data.reshape(4, 5, 4)[2:4, 1:3]).all()
    copy(shim, 1, 2, (2, 2, 1), origin=(1, 2, 0), into=(0, 0, 2))
    assert (read(shim, 2, (2, 2, 1), 64, origin=(0, 0, 2)).view(np.float32) == part).all()
    fill(shim, 2, struct.pack("<4f", 1, 2, 3, 4), (0, 0, 0), (5, 4, 2))
    assert (read(shim, 2, (5, 4, 2), 640).view(np.float32).reshape(-1, 4) == [1, 2, 3, 4]).all()
    shim.buffer(3, 64)
    copy(shim, 2, 3, (2, 2, 1), origin=(0, 0, 2))
    assert (read(shim, 3, (64, 1, 1), 64).view(np.float32) == part).all()
    copy(shim, 3, 1, (2, 2, 1))
    assert (read(shim, 1, (2, 2, 1), 64).view(np.float32) == part).all()
    assert report(shim)["unchecked"] == []


def test_a_colour_is_stored_in_the_images_format(shim) -> None:
    shim.image(1, "image1d_array", (3, 1, 1, 2), (R, UNORM8))
    fill(shim, 1, struct.pack("<4f", 0.5, 0, 0, 0), (0, 0, 0), (3, 2, 1))
    assert read(shim, 1, (3, 2, 1), 6).tolist() == [128] * 6
    shim.image(2, "image3d", (2, 2, 2, 1), (RGBA, UINT8))
    fill(shim, 2, struct.pack("<4I", 1, 2, 3, 999), (1, 0, 1), (1, 2, 1))
    whole = read(shim, 2, (2, 2, 2), 32).reshape(2, 2, 2, 4)
    assert (whole[1, :, 1] == [1, 2, 3, 255]).all()


def test_images_over_buffers_share_bytes(shim, report) -> None:
    (place, *_) = shim.buffer(1, 4096)
    _, _, row, _, _, _ = shim.image(2, "image2d", (4, 4, 1, 1), (RGBA, FLOAT), parent=1, offset=1024, row_pitch=128)
    assert row == 128
    shim.build(1, "kernel void f(write_only image2d_t i) { write_imagef(i, (int2)(get_global_id(0), 1), (float4)(1, 2, 3, 4)); }")
    shim.launch(1, 0, (4,), (), [image(2)])
    assert shim.finish() == 0
    assert (shim.heap[place + 1152 : place + 1216].view(np.float32).reshape(4, 4) == [1, 2, 3, 4]).all()
    assert [one["kind"] for one in report(shim)["findings"]] == ["pitch-rules-disagree"]  # 128 bytes are no 64 texels


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda shim: shim.buffer(9, 0), "CL_INVALID_BUFFER_SIZE"),
        (lambda shim: shim.buffer(9, 1 << 50), "CL_INVALID_BUFFER_SIZE"),
        (lambda shim: shim.buffer(1, 64), "CL_INVALID_VALUE"),
        (lambda shim: shim.buffer(9, 64, parent=1, offset=4), "CL_MISALIGNED_SUB_BUFFER_OFFSET"),
        (lambda shim: shim.buffer(9, 64, parent=1, offset=4096), "CL_INVALID_VALUE"),
        (lambda shim: shim.buffer(9, 64, parent=5), "CL_INVALID_MEM_OBJECT"),
        (lambda shim: shim.image(9, "image2d", (4, 1 << 20, 1, 1), (RGBA, FLOAT)), "CL_INVALID_IMAGE_SIZE"),
        (lambda shim: shim.image(9, "image2d", (1 << 60, 1, 1, 1), (RGBA, FLOAT)), "CL_INVALID_IMAGE_SIZE"),
        (lambda shim: shim.image(9, "image2d", (0, 1, 1, 1), (RGBA, FLOAT)), "CL_INVALID_IMAGE_SIZE"),
        (lambda shim: shim.image(9, "image2d", (4, 4, 1, 1), (1, FLOAT)), "CL_IMAGE_FORMAT_NOT_SUPPORTED"),
        (lambda shim: shim.image(9, "image2d", (64, 64, 1, 1), (RGBA, FLOAT), parent=1), "CL_INVALID_IMAGE_SIZE"),
        (
            lambda shim: shim.image(9, "image2d", (4, 4, 1, 1), (RGBA, FLOAT), parent=1, row_pitch=80),
            "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
        ),
    ],
)  # fmt: skip
def test_memories_that_cannot_be_are_refused(shim_of_module, make, code) -> None:
    with pytest.raises(RefusedError) as refused:
        make(shim_of_module)
    assert refused.value.code == code_of(code), refused.value.text


@pytest.fixture(scope="module")
def shim_of_module():
    from fake_shim import Shim

    shim = Shim()
    shim.hello()
    shim.buffer(1, 4096)
    shim.image(2, "image2d", (4, 4, 1, 1), (RGBA, FLOAT))
    yield shim
    shim.close()


@pytest.mark.parametrize(
    "more",
    [
        {"origin": (4090, 0, 0)},
        {"origin": (0, 300, 0)},
        {"pitches": (8, 0)},
        {"pitches": (1 << 62, 0)},
        {"staged_origin": (1 << 40, 0, 0)},
        {"staged": (8, 0)},
        {"origin": (2**64 - 1, 0, 0)},
    ],
)  # fmt: skip
def test_regions_outside_a_buffer_or_staging_fail(shim_of_module, more) -> None:
    shim_of_module.transfer(Command.READ, 1, 0, (16, 2, 1), **more)
    assert shim_of_module.finish() == code_of("CL_INVALID_VALUE")


@pytest.mark.parametrize(
    "region", [((0, 0, 0), (5, 4, 1)), ((3, 0, 0), (2, 1, 1)), ((0, 0, 1), (1, 1, 1)), ((0, 0, 0), (0, 1, 1))]
)
def test_regions_outside_an_image_fail(shim_of_module, region) -> None:
    origin, shape = region
    shim_of_module.transfer(Command.READ, 2, 0, shape, origin=origin)
    assert shim_of_module.finish() == code_of("CL_INVALID_VALUE")
