"""Whether a package ziglang still does what it is here for: a kernel is compiled and run, and the OpenCL driver is made.

It runs in a separate process, without any cache, which finds this package first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_LIMIT = 600.0

_TRIAL = """
import sys, tempfile
from pathlib import Path

import numpy as np

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.frontend.driver import find_zig
from adreno_sim.icd.build import build_libraries, compile_libraries, find_brought_along
from adreno_sim.icd.waiting import load_waiting

assert Path(find_zig()).parent == Path(sys.argv[1]), f"{find_zig()} was found in place of {sys.argv[1]}"
device = open_device("sim:adreno-740", checks="full")
view = device.view(device.allocate(4096), BufferSpec(4096, "float32"))
source = '''
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void probe(global float *out) {
    int i = get_global_id(0);
    out[i] = sin((float)i) + convert_float((half)i) + rsqrt(1.0f + i);
}'''
device.launch(device.build(source)["probe"], (1024,), (64,), [view])
numbers = np.arange(1024, dtype=np.float64)
right = np.sin(numbers) + numbers + 1 / np.sqrt(1 + numbers)
assert np.allclose(device.read(view), right, atol=1e-3), "a kernel computes wrongly"
load_waiting()
if find_brought_along():
    build_libraries()
else:
    with tempfile.TemporaryDirectory() as folder:
        compile_libraries(Path(folder))
"""


def find_harm(package: Path) -> str:
    """Returns what a package does not do any more, in a line; "" if it does all."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ADRENO_SIM_")}
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join((str(package.parent), root, *filter(None, [kept.get("PYTHONPATH")])))
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TRIAL, str(package)],
            env={**kept, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "ADRENO_SIM_CACHE": "off"},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a kernel and the OpenCL driver do not compile within {_LIMIT:.0f} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return f"a kernel and the OpenCL driver do not compile without it: {lines[-1]}"
