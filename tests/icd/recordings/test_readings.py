"""Launches of a recording under each reading: what depends on one is told with the call, as of buffers that are only bytes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from shim_clients import simulate

from adreno_sim.cli.main import main

CLIENT = r"""
import numpy as np, pyopencl as cl
source = '''
kernel void waves(global char *o, global char *x) { // line 2
  int i = get_global_id(0);
  ((global float *)o)[i] = sub_group_reduce_add(((global float *)x)[i]); // line 4
}
kernel void adds(global char *o, global char *x) {
  int i = get_global_id(0);
  float v = ((global float *)x)[i];
  ((global float *)o)[i] = v * v + v;
}
'''
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
program = cl.Program(context, source).build(options=["-cl-std=CL3.0"])
data = np.random.default_rng(1).random(256, np.float32)
flags = cl.mem_flags
x = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=data)
o = cl.Buffer(context, flags.READ_WRITE, data.nbytes)
for kernel in (program.waves, program.adds, program.adds):
    kernel(queue, (256,), (128,), o, x)
    cl.enqueue_copy(queue, data, o)
"""


def readings_in(report: Path) -> list[tuple[str, str, int]]:
    found = json.loads(report.read_text())["findings"]
    return [(one["kernel"], one["detail"]["reading"], one["line"]) for one in found if one["kind"] == "depends-on-reading"]


def test_a_recording_is_replayed_under_each_reading(tmp_path: Path) -> None:
    client, report, trace = tmp_path / "client.py", tmp_path / "report.json", tmp_path / "trace.asim"
    client.write_text(CLIENT)
    words = ["run", "--checks", "full", "--record", str(trace), "--json", str(report)]
    assert simulate(*words, "--", sys.executable, str(client)).returncode == 0
    assert readings_in(report) == [("waves", "wave-size", 4)]  # level full tries this one by itself
    assert main(["replay", str(trace), "--checks", "bounds", "--json", str(report)]) == 0
    assert readings_in(report) == []
    assert "readings" not in json.loads(report.read_text())
    assert main(["replay", str(trace), "--checks", "bounds", "--every-reading", "--json", str(report)]) == 0
    assert readings_in(report) == [("waves", "wave-size", 4)]
    told = json.loads(report.read_text())["readings"]
    assert told["repeated"] == 1
    assert ("adds", "contraction") in {(one["kernel"], one["reading"]) for one in told["tried"]}


def test_run_says_that_it_takes_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--every-reading", "--", "true"]) == 2
    assert "replay trace.asim --every-reading" in capsys.readouterr().err
