"""NaN and infinity that come up in launches of a program, told by `run` and by its replay, and left alone where they may be."""

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
kernel void inverse(global float *o, global const float *x) { int i = get_global_id(0); o[i] = 1.0f / x[i]; }
kernel void scaled(global float *o, global const float *x, float by) { int i = get_global_id(0); o[i] = x[i] * by; }
kernel void masked(global float *o, global const float *x) { int i = get_global_id(0); o[i] = x[i] > 2 ? x[i] : -INFINITY; }
kernel void difference(global float *x) { int i = get_global_id(0); x[i] -= x[i]; }
kernel void bits(global int *o, global const float *x) { int i = get_global_id(0); o[i] = as_int(1.0f / x[i]); }
''').build()
kernels = {name: cl.Kernel(program, name) for name in ("inverse", "scaled", "masked", "difference", "bits")}
def launch(name, *arguments):
    kernels[name](queue, (8,), None, *arguments)
def buffer(values, room=64):
    made = cl.Buffer(context, 0, room)
    cl.enqueue_copy(queue, made, np.array(values, np.float32))
    return made
finite, holed = buffer(range(1, 9)), buffer([1, 1, 0, 1, 1, 0, 1, 1])
launch("inverse", cl.Buffer(context, 0, 64), finite)  # half of the result is what nobody wrote
launch("scaled", cl.Buffer(context, 0, 64), finite, np.float32(np.inf))
launch("masked", masked := cl.Buffer(context, 0, 64), finite)
launch("scaled", cl.Buffer(context, 0, 64), masked, np.float32(2))
launch("bits", cl.Buffer(context, 0, 64), holed)
launch("inverse", cl.Buffer(context, 0, 64), holed)
launch("difference", masked)
queue.finish()
"""
BORN = [
    "infinity appears in o, though every argument of inverse is finite: o[2] is inf (2 of 16 elements)",
    "NaN appears in x, though no argument of difference holds NaN: x[0] is nan (2 of 16 elements)",
]


def births_of(report: Path) -> list[str]:
    findings = json.loads(report.read_text())["findings"]
    assert {finding["kind"] for finding in findings} == {"nonfinite-born", "probe-refused"}
    return [finding["message"] for finding in findings if finding["kind"] == "nonfinite-born"]


def test_what_comes_up_is_told_of_the_run_and_its_replay(tmp_path: Path) -> None:
    client, report, trace = tmp_path / "client.py", tmp_path / "report.json", tmp_path / "trace.asim"
    client.write_text(CLIENT)
    words = ["run", "--checks", "full", "--record", str(trace), "--json", str(report)]
    done = simulate(*words, "--", sys.executable, str(client))
    assert done.returncode == 0, done.stderr
    assert births_of(report) == BORN
    assert main(["replay", str(trace), "--checks", "full", "--json", str(report)]) == 0
    assert births_of(report) == BORN
