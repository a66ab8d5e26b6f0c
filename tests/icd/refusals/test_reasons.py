"""Calls that are refused for a range, a region, a pitch or a state say why in numbers; right ones are not refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from shim_clients import simulate

pytest.importorskip("pyopencl")

PROGRAM = """
import sys
import numpy as np, pyopencl as cl
well = len(sys.argv) > 1
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
flags, data = cl.mem_flags, np.zeros(4096, np.uint8)
buffer, small = cl.Buffer(context, 0, 4096), cl.Buffer(context, 0, 64 if len(sys.argv) < 2 else 4096)
image = cl.Image(context, 0, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT), shape=(16, 16))
texels = np.zeros((16, 16, 4), np.float32)
event = cl.UserEvent(context)
hidden = cl.Buffer(context, flags.HOST_NO_ACCESS, 4096)
mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (64,), np.uint8)
mapped.base.release(queue)
event.set_status(0)

def copy_box(pitch, rows):
    box = dict(buffer_origin=(0, 0), host_origin=(0, 0), region=(64, rows), host_pitches=(64,))
    cl.enqueue_copy(queue, buffer, data, buffer_pitches=(pitch,), **box)

for refused, right in [
    (lambda: copy_box(32, 2), lambda: copy_box(64, 2)),
    (lambda: copy_box(128, 64), lambda: copy_box(64, 64)),
    (lambda: cl.enqueue_copy(queue, texels, image, origin=(8, 8), region=(16, 16)),
     lambda: cl.enqueue_copy(queue, texels, image, origin=(0, 0), region=(16, 16))),
    (lambda: cl.enqueue_fill_buffer(queue, buffer, np.zeros(3, np.uint8), 0, 12),
     lambda: cl.enqueue_fill_buffer(queue, buffer, np.zeros(4, np.uint8), 0, 12)),
    (lambda: cl.enqueue_fill_buffer(queue, buffer, np.int32(0), 2, 16),
     lambda: cl.enqueue_fill_buffer(queue, buffer, np.int32(0), 4, 16)),
    (lambda: cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 4000, (200,), np.uint8),
     lambda: cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 4000, (96,), np.uint8)[0].base.release(queue)),
    (lambda: cl.enqueue_copy(queue, small, image, origin=(0, 0), region=(16, 16), offset=0),
     lambda: cl.enqueue_copy(queue, small, image, origin=(0, 0), region=(16, 16), offset=0)),
    (lambda: cl.enqueue_copy(queue, small, buffer, byte_count=128), lambda: cl.enqueue_copy(queue, small, buffer, byte_count=64)),
    (lambda: cl.enqueue_copy(queue, data, hidden), lambda: cl.enqueue_copy(queue, data, buffer)),
    (lambda: event.set_status(0), lambda: event.wait()),
]:
    try:
        (right if well else refused)()
    except cl.Error:
        assert not well
    else:
        assert well
"""

REFUSED = [
    "clEnqueueWriteBufferRect gives CL_INVALID_VALUE (-30): a row pitch of 32: expected at least 64, the region's row",
    "clEnqueueWriteBufferRect gives CL_INVALID_VALUE (-30): region 64 x 64 x 1 at (0, 0, 0), with pitches 128 and 8192, of a "
    "buffer of 4096",
    "clEnqueueReadImage gives CL_INVALID_VALUE (-30): region 16 x 16 x 1 at (8, 8, 0) of an image of 16 x 16 x 1",
    "clEnqueueFillBuffer gives CL_INVALID_VALUE (-30): a pattern of 3 bytes: expected a power of two up to 128",
    "clEnqueueFillBuffer gives CL_INVALID_VALUE (-30): 16 bytes at offset 2: expected multiples of the pattern's 4",
    "clEnqueueMapBuffer gives CL_INVALID_VALUE (-30): 200 bytes at offset 4000 of a buffer of 4096",
    "clEnqueueCopyImageToBuffer gives CL_INVALID_VALUE (-30): 4096 bytes at offset 0 of a buffer of 64",
    "clEnqueueCopyBuffer gives CL_INVALID_VALUE (-30): 128 bytes at offset 0 of a buffer of 64",
    "clEnqueueReadBuffer gives CL_INVALID_OPERATION (-59): the flags of the memory, which call N made, forbid the host "
    "all access",
    "clSetUserEventStatus gives CL_INVALID_OPERATION (-59): the event has a status already",
]


@pytest.mark.parametrize("words", [(), ("well",)])
def test_a_reason_has_numbers(words: tuple[str, ...], tmp_path: Path) -> None:
    client, report = tmp_path / "client.py", tmp_path / "report.json"
    client.write_text(PROGRAM)
    command = ["run", "--checks", "bounds", "--json", str(report), "--"]
    done = simulate(*command, sys.executable, str(client), *words)
    assert done.returncode == (0 if words else 1), done.stderr
    found = [finding["message"] for finding in json.loads(report.read_text())["findings"] if finding["kind"] == "call-refused"]
    assert [_without_number(message) for message in found] == ([] if words else REFUSED)


def _without_number(message: str) -> str:
    words = message.split()
    return " ".join("N" if before == "call" else word for before, word in zip(["", *words], words, strict=False))
