"""Kernels that access buffers against the flags that they were made with, in the branches that a launch takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from recorded_client import replay
from shim_clients import simulate

pytest.importorskip("pyopencl")

PROGRAM = """
import sys
import numpy as np, pyopencl as cl
well = len(sys.argv) > 1
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue, flags = cl.CommandQueue(context), cl.mem_flags
program = cl.Program(context, '''
kernel void set(global int *a, int most) { int i = get_global_id(0); if (i < most) a[i] = i; }
kernel void add(global const int *a, global int *sum) { sum[get_global_id(0)] += a[get_global_id(0)]; }
kernel void copy(global const int *a, global int *to) { to[get_global_id(0)] = a[get_global_id(0)]; }
''').build()

def make(kind):
    return cl.Buffer(context, kind | flags.COPY_HOST_PTR, hostbuf=np.zeros(64, np.int32))

read, write, both = make(flags.READ_ONLY), make(flags.WRITE_ONLY), make(flags.READ_WRITE)
part = make(flags.READ_ONLY).get_sub_region(0, 256)
for most in (0, 64):
    program.set(queue, (64,), None, both if well and most else read, np.int32(most))
program.set(queue, (64,), None, both if well else part, np.int32(64))
program.add(queue, (64,), None, read, both if well else write)
program.copy(queue, (64,), None, read, write)
queue.finish()
"""

SET, ADD = (
    "set writes a, a buffer that was made CL_MEM_READ_ONLY: the result is undefined",
    "add reads sum, a buffer that was made CL_MEM_WRITE_ONLY: the result is undefined",
)


@pytest.mark.parametrize("words", [(), ("well",)])
def test_what_a_launch_does_against_flags_is_reported(words: tuple[str, ...], tmp_path: Path) -> None:
    client, report, trace = tmp_path / "client.py", tmp_path / "report.json", tmp_path / "t.asim"
    client.write_text(PROGRAM)
    command = ["run", "--json", str(report), "--record", str(trace), "--"]
    done = simulate(*command, sys.executable, str(client), *words)
    assert done.returncode == 0, done.stderr
    found = [one for one in json.loads(report.read_text())["findings"] if one["severity"] != "note"]
    assert [one["message"] for one in found] == ([] if words else [SET, ADD])
    assert all(one["kind"] == "against-memory-flags" and one["detail"]["made"]["call"] for one in found)
    assert all(frame.startswith(str(client)) for one in found for frame in one["detail"]["host_call"]["where"][-1:])
    _, again = replay(tmp_path, trace)
    assert [one for one in again["findings"] if one["severity"] != "note"] == found
