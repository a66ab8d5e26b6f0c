"""The source line of a finding is the same in a run and in its replay, whose sources hold the files that they include."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from shim_clients import simulate

from adreno_sim.cli.main import main

CLIENT = r"""
import sys
import numpy as np, pyopencl as cl
source = '''// line 1
#include "helper.h"
// line 3
kernel void k(global float *o, global float *x) {
  int i = get_global_id(0);
  o[i] = x[i + 5000]; // line 6
  o[i] += far_of(x, i);
#line 70 "model.py"
  o[i] += x[i + 7000]; // model line 70
}
'''
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, source).build(options=["-I", sys.argv[1]]), "k")
o, x = cl.Buffer(context, 0, 256), cl.Buffer(context, 0, 256)
cl.enqueue_fill_buffer(queue, x, np.float32(1), 0, 256)
kernel(queue, (64,), None, o, x)
queue.finish()
"""
HELPER = "// helper line 1\ninline float far_of(global float *x, int i) {\n  return x[i + 9000]; // helper line 3\n}\n"


def lines_of(report: Path) -> dict[int, str]:
    found = [finding for finding in json.loads(report.read_text())["findings"] if "line" in finding]
    return {finding["line"]: finding["detail"].get("source", "") for finding in found}


def test_lines_of_sources_with_includes_and_directives(tmp_path: Path) -> None:
    client, report, trace = tmp_path / "client.py", tmp_path / "report.json", tmp_path / "trace.asim"
    client.write_text(CLIENT)
    (tmp_path / "helper.h").write_text(HELPER)
    words = ["run", "--record", str(trace), "--json", str(report)]
    assert simulate(*words, "--", sys.executable, str(client), str(tmp_path)).returncode == 1
    own = {6: "o[i] = x[i + 5000]; // line 6", 70: "o[i] += x[i + 7000]; // model line 70"}
    assert lines_of(report) == {**own, 3: ""}  # a run has the source of the program, not the files that it includes
    assert main(["replay", str(trace), "--json", str(report)]) == 1
    assert lines_of(report) == {**own, 3: "return x[i + 9000]; // helper line 3"}
