"""Findings and the log of calls say where in the program a call and an allocation were made: functions, and lines of Python."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_client import replay
from shim_clients import compile_client, simulate

from adreno_sim.icd.calls.places import Places

CLIENT = """\
import numpy as np, pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void far(global int *o) { o[get_global_id(0)] = 1; }").build()

def make():
    return cl.Buffer(context, 0, 64)

def launch(kernel):
    cl.enqueue_nd_range_kernel(queue, kernel, (20,), None)

small, kernel = make(), cl.Kernel(program, "far")
kernel.set_arg(0, small)
launch(kernel)
queue.finish()
try:
    cl.Buffer(context, 0, 0)
except cl.Error:
    pass
"""

THROUGH_CTYPES = """\
import ctypes, threading
cl = ctypes.CDLL("libOpenCL.so.1")
P = ctypes.c_void_p
for name in ("Context", "Buffer", "CommandQueueWithProperties", "ProgramWithSource", "Kernel"):
    getattr(cl, "clCreate" + name).restype = P
platform, device, size = P(), P(), ctypes.c_size_t(20)
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
cl.clGetDeviceIDs(platform, ctypes.c_uint64(4), 1, ctypes.byref(device), None)
context = P(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
queue = P(cl.clCreateCommandQueueWithProperties(context, device, None, None))
text = ctypes.c_char_p(b"kernel void far(global int *o) { o[get_global_id(0)] = 1; }")
program = P(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, None))
cl.clBuildProgram(program, 0, None, None, None, None)
kernel = P(cl.clCreateKernel(program, b"far", None))

def make():
    return P(cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(64), None, None))

def launch():
    cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(size), None, 0, None, None)

small, end = make(), threading.Event()
waiting, busy = threading.Thread(target=end.wait), threading.Thread(target=lambda: [i for i in iter(end.is_set, True)])
waiting.start(), busy.start()
cl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(small))
other = threading.Thread(target=launch)
other.start(), other.join()
cl.clFinish(queue)
end.set()
"""


def run(tmp_path: Path, *command: str) -> tuple[dict, str, str]:
    """Report, log and standard error of a program."""
    report, log = tmp_path / "report.json", tmp_path / "calls.txt"
    words = ["run", "--json", str(report), "--log", str(log), "--trace-api", "--record", str(tmp_path / "t.asim"), "--"]
    done = simulate(*words, *command)
    assert done.returncode == 1, done.stderr
    return json.loads(report.read_text()), log.read_text(), done.stderr


def test_lines_of_python(tmp_path) -> None:
    pytest.importorskip("pyopencl")
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    data, log, said = run(tmp_path, sys.executable, str(client))
    found = {one["kind"]: one for one in data["findings"]}
    far = found["out-of-bounds-write"]["detail"]
    assert far["host_call"]["where"] == [f"{client}:10 in launch", f"{client}:14 in <module>"]
    assert (far["made"]["argument"], far["made"]["where"]) == ("o", [f"{client}:7 in make", f"{client}:12 in <module>"])
    assert found["call-refused"]["detail"]["host_call"]["where"] == [f"{client}:17 in <module>"]
    assert f"    from {client}:10 in launch\n" in said
    assert f"    from {client}:7 in make\n" in said
    lines = [line for line in log.splitlines() if "clEnqueueNDRangeKernel(" in line or "clCreateBuffer(" in line]
    assert len(lines) == 3
    assert all(f"from {client}" in line for line in lines)
    assert "dimensions = 1, offset = NULL, global = {20}, local = NULL" in lines[1]
    assert "= CL_SUCCESS (0)" in lines[1]
    assert "= NULL, CL_INVALID_BUFFER_SIZE (-61)" in lines[2]
    assert set(log.splitlines()) <= set(said.splitlines())  # --trace-api shows the same
    _, again = replay(tmp_path, tmp_path / "t.asim")
    assert {one["kind"]: one["detail"] for one in again["findings"]} == {kind: one["detail"] for kind, one in found.items()}


def test_lines_of_python_with_several_threads_through_ctypes(tmp_path) -> None:
    client = tmp_path / "client.py"
    client.write_text(THROUGH_CTYPES)
    data, _, _ = run(tmp_path, sys.executable, str(client))
    (far,) = (one["detail"] for one in data["findings"] if one["kind"] == "out-of-bounds-write")
    assert far["host_call"]["where"][0] == f"{client}:20 in launch"
    assert "in run" in far["host_call"]["where"][1]
    assert far["made"]["where"] == [f"{client}:17 in make", f"{client}:22 in <module>"]


def test_functions_of_c(tmp_path) -> None:
    data, log, _ = run(tmp_path, compile_client("places", tmp_path, "-rdynamic"))
    found = {one["kind"]: one["detail"] for one in data["findings"]}
    names = [frame.partition(" of ")[0] for frame in found["out-of-bounds-write"]["host_call"]["where"]]
    assert names == ["launch_far", "main"]
    frame = found["call-refused"]["host_call"]["where"][0]
    assert re.fullmatch(rf"launch_far of {re.escape(str(tmp_path))}/places\+0x[0-9a-f]+", frame)
    assert [frame.partition(" of ")[0] for frame in found["out-of-bounds-write"]["made"]["where"]] == ["make_small", "main"]
    assert 'options = "-cl-std=CL2.0"' in log
    assert 'name = "far"' in log
    assert "value = 0x" in log
    assert "dimensions = 4" in log
    assert "CL_INVALID_WORK_DIMENSION (-53)" in log
    pattern = re.compile(r"\[\d+\.\d+ \d+\.\d{6}\] cl\w+\(.*\)( = .+)?, \d+\.\d us(, call \d+)?(, from .+)?")
    assert all(pattern.fullmatch(line) for line in log.splitlines())


LONG = st.tuples(st.text(min_size=1, max_size=4), st.integers(0, 500)).map(lambda drawn: drawn[0] * drawn[1])


@given(st.integers(0, 1 << 32), st.lists(LONG, max_size=40))
def test_what_a_client_tells_is_bounded(number, frames) -> None:
    places = Places(lambda call: number)
    try:
        places.add(number, frames)
    except ValueError:
        assert not 0 < number <= 8192 or len(frames) > 32
        return
    assert len(places.find(7)) == len(frames)
    assert all(len(frame) <= 1000 for frame in places.find(7))
