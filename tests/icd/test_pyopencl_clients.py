"""Unmodified pyopencl programs under `adreno-sim run`, through the driver's shim."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from shim_clients import simulate

pytest.importorskip("pyopencl")
pytest.importorskip("adreno_sim.icd.build")  # the shim

HEAD = """\
import numpy as np
import pyopencl as cl
(platform,) = [p for p in cl.get_platforms() if "Snapdragon" in p.name]
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)
flags = cl.mem_flags
"""

VECTOR_ADD = """
a = np.arange(1000, dtype=np.float32)
program = cl.Program(context, '''kernel void add(global float *out, global const float *a) {
  int i = get_global_id(0);
  out[i] = a[i] + 1;
}''').build()
given = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=a)
made = cl.Buffer(context, flags.WRITE_ONLY, a.nbytes)
program.add(queue, (ITEMS,), None, made, given)
out = np.empty_like(a)
cl.enqueue_copy(queue, out, made)
assert (out == a + 1).all()
"""

IMAGES = """
a = np.random.default_rng(0).random((7, 9, 4), dtype=np.float32)
form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
given = cl.create_image(context, flags.READ_ONLY | flags.COPY_HOST_PTR, form, shape=(9, 7), hostbuf=a)
made = cl.create_image(context, flags.WRITE_ONLY, form, shape=(9, 7))
program = cl.Program(context, '''
const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void flip(read_only image2d_t i, write_only image2d_t o) {
  int x = get_global_id(0), y = get_global_id(1);
  write_imagef(o, (int2)(x, y), read_imagef(i, s, (int2)(8 - x, 6 - y)) * 2);
}
kernel void first_row(read_only image2d_t i, sampler_t s, global float4 *o) {
  o[get_global_id(0)] = read_imagef(i, s, (float2)(get_global_id(0) + 0.5f, 0.5f));
}''').build()
program.flip(queue, (9, 7), None, given, made)
out = np.empty_like(a)
cl.enqueue_copy(queue, out, made, origin=(0, 0), region=(9, 7))
assert np.array_equal(out, a[::-1, ::-1] * 2)
sampler = cl.Sampler(context, False, cl.addressing_mode.CLAMP, cl.filter_mode.NEAREST)
row = cl.Buffer(context, flags.READ_WRITE, 16 * 9)
program.first_row(queue, (9,), None, given, sampler, row)
out = np.empty((9, 4), np.float32)
cl.enqueue_copy(queue, out, row)
assert np.array_equal(out, a[0])
"""

LAYERS = """
a = np.arange(5 * 7, dtype=np.float32).reshape(5, 7)
form = cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT)
many = cl.ImageDescriptor()
many.image_type, many.shape, many.pitches = cl.mem_object_type.IMAGE1D_ARRAY, (7, 1, 5), (0, 0)  # shape[2]: its layers
image = cl.Image(context, flags.READ_WRITE | flags.COPY_HOST_PTR, form, desc=many, hostbuf=a)
out = np.zeros((3, 4), np.float32)
cl._cl._enqueue_read_image(queue, image, (2, 1, 0), (4, 3, 1), out)  # enqueue_copy knows no such images
assert (out == a[1:4, 2:6]).all()
mapped, *_ = cl.enqueue_map_image(queue, image, cl.map_flags.READ | cl.map_flags.WRITE, (1, 2, 0), (3, 2, 1), (2, 3), np.float32)
assert (mapped == a[2:4, 1:4]).all()
mapped[:] += 100
mapped.base.release(queue)
a[2:4, 1:4] += 100
out = np.zeros_like(a)
cl._cl._enqueue_read_image(queue, image, (0, 0, 0), (7, 5, 1), out)
assert (out == a).all()
"""

SMALLER_GROUPS = """
program = cl.Program(context, '''kernel __attribute__((reqd_work_group_size(4, 1, 1))) void sizes(global int *out) {
  out[get_global_id(0)] = get_local_size(0);
}''').build(["-cl-std=CL3.0"])
out = np.zeros(10, np.int32)
made = cl.Buffer(context, flags.WRITE_ONLY, out.nbytes)
program.sizes(queue, (10,), (4,), made)
cl.enqueue_copy(queue, out, made)
assert out.tolist() == [4] * 8 + [2] * 2
"""

PARTS = """
whole = cl.Buffer(context, flags.READ_WRITE, 4096)
cl.enqueue_fill_buffer(queue, whole, np.float32(3), 0, 4096)
mapped, _ = cl.enqueue_map_buffer(queue, whole, cl.map_flags.READ | cl.map_flags.WRITE, 0, (1024,), np.float32)
assert (mapped == 3).all()
mapped[:] = np.arange(1024)
mapped.base.release(queue)
out = np.empty(64, np.float32)
cl.enqueue_copy(queue, out, whole.get_sub_region(1024, 256))
assert (out == np.arange(256, 320)).all()
rows = np.zeros((4, 2), np.float32)
cl.enqueue_copy(queue, rows, whole, buffer_origin=(0, 1, 0), host_origin=(0, 0, 0), region=(8, 4, 1), buffer_pitches=(64, 0),
                host_pitches=(8, 0))
assert rows.tolist() == [[16, 17], [32, 33], [48, 49], [64, 65]]
"""


def run(tmp_path: Path, body: str, *words: str) -> tuple[int, dict, str]:
    client, report = tmp_path / "client.py", tmp_path / "report.json"
    client.write_text(HEAD + body)
    done = simulate("run", "--json", str(report), *words, "--", sys.executable, str(client))
    return done.returncode, json.loads(report.read_text()), done.stdout + done.stderr


RIGHT = {
    "vector add": VECTOR_ADD.replace("ITEMS", "1000"),
    "images": IMAGES,
    "parts": PARTS,
    "layers of one row": LAYERS,
    "smaller groups at the edge of a required size": SMALLER_GROUPS,
}


def test_right_programs_run_right_and_find_nothing(tmp_path) -> None:
    """One after the other in one process, which names the one that fails."""
    bodies = "".join(f"print({name!r}, flush=True)\n{body}" for name, body in RIGHT.items())
    status, data, said = run(tmp_path, bodies, "--checks", "full")
    assert all(name in said for name in RIGHT), said
    kinds = {found["kind"] for found in data["findings"]}  # pyopencl asks for devices of each type
    assert status == 0, said
    assert kinds <= {"probe-refused"}, said
    assert data["unsupported"] == [], said


def test_a_write_past_a_buffer_is_found_with_kernel_line_and_call(tmp_path) -> None:
    status, data, said = run(tmp_path, VECTOR_ADD.replace("ITEMS", "1024"), "--checks", "full")
    assert status == 1, said
    (found,) = [f for f in data["findings"] if f["kind"] == "out-of-bounds-write"]
    assert (found["kernel"], found["line"], found["count"]) == ("add", 3, 24)
    assert found["detail"]["host_call"]["number"] > 0
    assert found["detail"]["host_call"]["global_size"] == [1024]
    assert "enqueued by call" in said
    assert "out[i] = a[i] + 1;" in said


def test_a_strict_run_shows_the_error_to_the_program(tmp_path) -> None:
    status, data, said = run(tmp_path, VECTOR_ADD.replace("ITEMS", "1024") + "queue.finish()\n", "--strict")
    assert status == 1, said
    assert data["findings"], said
