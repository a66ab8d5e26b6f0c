"""Bytes that nobody wrote and that the host reads, in a run and in its replay, and reads that are left alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from shim_clients import simulate

from adreno_sim.cli.main import main

CLIENT = """
import numpy as np, pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void fill(global float *o, int n) { int i = get_global_id(0); if (i < n) o[i] = i; }
kernel void paint(write_only image2d_t o) { write_imagef(o, (int2)(get_global_id(0), get_global_id(1)), (float4)(1.0f)); }
''').build()
fill, paint = cl.Kernel(program, "fill"), cl.Kernel(program, "paint")
room = lambda count: np.empty(count, np.float32)
made, copied = cl.Buffer(context, 0, 4000), cl.Buffer(context, 0, 4000)
fill(queue, (1000,), None, made, np.int32(976))
cl.enqueue_copy(queue, copied, made)  # between memories of the device: nobody looks
cl.enqueue_copy(queue, room(976), made)
cl.enqueue_copy(queue, room(1000), made)
cl.enqueue_copy(queue, room(10), copied, src_offset=3890, is_blocking=False)
both = cl.map_flags.READ | cl.map_flags.WRITE
cl.enqueue_map_buffer(queue, cl.Buffer(context, 0, 64), both, 0, (16,), np.float32)  # to be filled
cl.enqueue_map_buffer(queue, cl.Buffer(context, 0, 64), cl.map_flags.READ, 0, (16,), np.float32)
image = cl.create_image(context, 0, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT), shape=(8, 4))
paint(queue, (8, 3), None, image)
cl.enqueue_copy(queue, np.empty((4, 8, 4), np.float32), image, origin=(0, 0), region=(8, 4))
cl.enqueue_copy(queue, np.empty((3, 8, 4), np.float32), image, origin=(0, 0), region=(8, 3))

# Rows of an image over a buffer, with padding behind them that is read with the buffer.
texel, height = 16, 4
pitch = 64 * texel
below = cl.Buffer(context, 0, pitch * height)
described = cl.ImageDescriptor()
described.image_type, described.shape = cl.mem_object_type.IMAGE2D, (8, height)
described.pitches, described.buffer = (pitch, 0), below
described.num_mip_levels = described.num_samples = 0
over = cl.Image(context, 0, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT), desc=described)
paint(queue, (8, height), None, over)
cl.enqueue_copy(queue, np.empty(pitch * height, np.uint8), below)
queue.finish()
"""
SEEN = [
    # and the like of the copy, as the same finding
    ("fill", 2, "the host reads 4000 bytes of buffer 1, and nobody wrote 96 of them: bytes 3904 to 3999"),
    ("", 1, "the host reads 64 bytes of buffer 4, and nobody wrote any of them"),
    ("paint", 1, "the host reads 512 bytes of image 5, and nobody wrote 128 of them: row 3"),
]


def reads_of(report: Path) -> list[tuple[str, int, str]]:
    findings = [found for found in json.loads(report.read_text())["findings"] if found["kind"] != "probe-refused"]
    assert {found["kind"] for found in findings} == {"unwritten-read-back"}
    return [(found.get("kernel", ""), found.get("count", 1), found["message"]) for found in findings]


def test_what_nobody_wrote_is_told_of_the_run_and_its_replay(tmp_path: Path) -> None:
    client, report, trace = tmp_path / "client.py", tmp_path / "report.json", tmp_path / "trace.asim"
    client.write_text(CLIENT)
    words = ["run", "--checks", "full", "--record", str(trace), "--json", str(report)]
    done = simulate(*words, "--", sys.executable, str(client))
    assert done.returncode == 0, done.stderr
    assert reads_of(report) == SEEN
    assert main(["replay", str(trace), "--checks", "full", "--json", str(report)]) == 0
    assert reads_of(report) == SEEN
