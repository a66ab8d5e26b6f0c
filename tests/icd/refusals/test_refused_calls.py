"""Calls that OpenCL refuses: errors of the report, notes where a program only asks, and the context's own notice."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from shim_clients import compile_client, fake_environment, run_client, simulate

from adreno_sim.cli.main import main

PROGRAM = """
import sys
import numpy as np, pyopencl as cl
well = len(sys.argv) > 1
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)

def attempt(refused, right):
    if well:
        return right()
    try:
        refused()
    except (cl.Error, cl.RuntimeError):
        return None
    raise SystemExit("a call that should be refused was not")

def build(source, options=""):
    return cl.Program(context, source).build(options)

program = build("kernel void k(global float *o, int n) { o[get_global_id(0)] = n; }")
kernel, buffer = cl.Kernel(program, "k"), cl.Buffer(context, 0, 16384)
launch = lambda total, group: cl.enqueue_nd_range_kernel(queue, kernel, (total,), (group,))
attempt(lambda: kernel.set_arg(7, np.int32(1)), lambda: kernel.set_arg(1, np.int32(1)))
attempt(lambda: kernel.set_arg(1, np.int64(1)), lambda: kernel.set_arg(1, np.int32(1)))
kernel.set_args(buffer, np.int32(1))
attempt(lambda: launch(4096, 2048), lambda: launch(4096, 64))
attempt(lambda: launch(100, 64), lambda: launch(128, 64))
attempt(lambda: cl.Buffer(context, 0, 1 << 40), lambda: cl.Buffer(context, 0, 1 << 10))
attempt(lambda: buffer.get_sub_region(4, 256), lambda: buffer.get_sub_region(4096, 256))
attempt(lambda: build("kernel void k(global float *o) { o[0] = x; }"), lambda: build("kernel void z() {}"))
read = lambda count: cl.enqueue_copy(queue, np.zeros(count, np.uint8), buffer)
attempt(lambda: read(32768), lambda: read(16384))

# What a program does on purpose: it tries a build in two ways, and asks for what there may not be.
try:
    build("kernel void z(global float *o) { o[0] = WIDTH; }")
except cl.RuntimeError:
    build("kernel void z(global float *o) { o[0] = WIDTH; }", "-DWIDTH=4")
hasattr(program, "nope")
try:
    cl.get_platforms()[0].get_devices(cl.device_type.CPU)
except cl.Error:
    pass
launch(64, 64).wait()
"""

REFUSED = [
    "clSetKernelArg gives CL_INVALID_ARG_INDEX (-49): argument 7 of k, which has 2",
    "clSetKernelArg gives CL_INVALID_ARG_SIZE (-51): argument 1 (n) of k has 4 bytes (int), and got 8",
    "clEnqueueNDRangeKernel gives CL_INVALID_WORK_ITEM_SIZE (-55): local size 2048 in dimension 0: the device has at most 1024",
    "clEnqueueNDRangeKernel gives CL_INVALID_WORK_GROUP_SIZE (-54): global size 100 in dimension 0 is not a multiple of the "
    "local size 64",
    "clCreateBuffer gives CL_INVALID_BUFFER_SIZE (-61): a buffer of 1099511627776 bytes: expected 1 to N",
    "clCreateSubBuffer gives CL_MISALIGNED_SUB_BUFFER_OFFSET (-13): the offset is not a multiple of "
    "CL_DEVICE_MEM_BASE_ADDR_ALIGN",
    "clBuildProgram gives CL_BUILD_PROGRAM_FAILURE (-11): kernel:1:41: error: use of undeclared identifier 'x'",
    "clEnqueueReadBuffer gives CL_INVALID_VALUE (-30): 32768 bytes at offset 0 of a buffer of 16384",
]
TRIED = "clBuildProgram gives CL_BUILD_PROGRAM_FAILURE (-11): kernel:1:41: error: use of undeclared identifier 'WIDTH'"


def report_of(folder: Path, *words: str) -> tuple[int, dict[str, list[str]], Path]:
    """The exit code of a run of PROGRAM, its messages by kind, and its recording."""
    client, report, trace = folder / "client.py", folder / "report.json", folder / "trace.asim"
    client.write_text(PROGRAM)
    command = ["run", "--device", "sim:adreno-740", "--record", str(trace)]
    done = simulate(*command, "--json", str(report), "--", sys.executable, str(client), *words)
    return done.returncode, messages_of(report), trace


def messages_of(report: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in json.loads(report.read_text())["findings"]:
        message = re.sub(r"expected 1 to \d+", "expected 1 to N", finding["message"])
        found.setdefault(finding["kind"], []).append(message)
    return found


def test_refused_calls_are_errors_of_the_run_and_of_its_replay(tmp_path: Path) -> None:
    code, found, trace = report_of(tmp_path)
    assert code == 1
    assert found["call-refused"] == REFUSED
    assert TRIED in found["probe-refused"]
    assert "clCreateKernel gives CL_INVALID_KERNEL_NAME (-46): the program has no kernel nope" in found["probe-refused"]
    assert any(message.startswith("clGetDeviceIDs gives CL_DEVICE_NOT_FOUND (-1)") for message in found["probe-refused"])
    again = tmp_path / "again.json"
    assert main(["replay", str(trace), "--json", str(again)]) == 1
    assert messages_of(again) == found


def test_the_same_done_well_is_no_error(tmp_path: Path) -> None:
    code, found, _ = report_of(tmp_path, "well")
    assert code == 0
    assert set(found) == {"probe-refused"}
    assert TRIED in found["probe-refused"]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_client("refused", tmp_path_factory.mktemp("refused"))


def test_the_context_is_told_of_what_is_refused(refused: str, tmp_path: Path) -> None:
    said = re.sub(r"call \d+", "call N", run_client(refused, fake_environment(tmp_path)).stderr)
    told = re.findall(r"context: (.*)", said)
    assert told == [
        "call N: clSetKernelArg gives CL_INVALID_ARG_SIZE (-51): argument 1 (v) of append has 4 bytes (int), and got 8",
        "call N: clEnqueueNDRangeKernel gives CL_INVALID_KERNEL_ARGS (-52)",
        "call N: clEnqueueNDRangeKernel gives CL_INVALID_WORK_ITEM_SIZE (-55): local size 2048 in dimension 0: the device has at "
        "most 1024",
    ]
    # an argument that is not set is a finding of its own, which says why
    assert re.findall(r"fake server: (\w+: .*)", said)[:2] == [
        "REFUSED: clSetKernelArg of append: argument 1 (v) of append has 4 bytes (int), and got 8",
        "ARGUMENT_NOT_SET: argument 1 (v) of append was never set (call N that sets it gives CL_INVALID_ARG_SIZE, -51), and "
        "nothing is launched",
    ]


def test_the_context_is_told_nothing_where_all_is_well(refused: str, tmp_path: Path) -> None:
    said = run_client(refused, fake_environment(tmp_path), "well").stderr
    assert "context:" not in said
    assert re.findall(r"fake server: (\w+: .*)", said) == ["REFUSED: clGetKernelInfo of nothing: "]


def test_a_device_that_gets_no_work_is_a_warning(tmp_path: Path) -> None:
    client, report = tmp_path / "idle.py", tmp_path / "report.json"
    client.write_text(
        "import pyopencl as cl\ncontext = cl.Context(cl.get_platforms()[0].get_devices())\ncl.Buffer(context, 0, 64)\n"
    )
    words = ["run", "--json", str(report), "--"]
    assert simulate(*words, sys.executable, str(client)).returncode == 0
    found = messages_of(report)
    assert found["nothing-launched"] == ["the process made memory objects on the device, and launched no kernel"]
    client.write_text("import pyopencl as cl\nprint(cl.get_platforms()[0].get_devices())\n")
    assert simulate(*words, sys.executable, str(client)).returncode == 0
    assert "nothing-launched" not in messages_of(report)
