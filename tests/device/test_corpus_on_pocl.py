"""The clean twins of the defect corpus on PoCL or Intel's: what their launch files expect is what another OpenCL computes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import oracle
import pytest
from kernels.corpus_cases import CASES

pytestmark = pytest.mark.device

PARTS = 3
"""The cases in parts of which one runs, and all with `--slow`."""

NOT_ON = {
    "intel": {
        "out-of-bounds-write/rounded_global_size": "parameters behind a macro, of which Intel's driver tells nothing",
        "pitch-differs/fits_by_page_rounding": "rows of 64 bytes, where those of this driver are multiples of 64 texels",
    },
    "pocl": {
        "format-mismatch/half_read_of_float": "computes in half",
        "format-mismatch/integer_read_of_float": "a HALF_FLOAT image, whose texels PoCL's CPU device does not convert",
        "image-read-out-of-range/sampler_argument": "an RG image, which PoCL's CPU device does not have",
        "image-write-out-of-range/half_texture": "computes in half",
        "limit-exceeded/uneven_groups": "smaller groups at the edge",
        "misaligned-access/half2_store": "computes in half",
        "undefined-conversion/half_to_uchar": "computes in half",
        "uninitialized-read/tail_of_half_buffer": "computes in half",
    },
}
"""Cases that need what a driver does not have."""

VECTORS = """typedef struct { int a; float b; } pair_t;
kernel void k(global float *out, float4 v, int3 w, pair_t p) { out[0] = v.x + v.w; out[1] = w.z; out[2] = p.a + p.b; }
"""
BY_VALUE = """global_size = [1]
argument = [
  {kind = "buffer", dtype = "float32", count = 3},
  {kind = "scalar", type = "float4", value = [1, 2, 3, 4]},
  {kind = "scalar", type = "int3", value = [5, 6, 7]},
  {kind = "scalar", type = "bytes", value = [5, 0, 0, 0, 0, 0, 0, 64]},
]
output = [{argument = 0, data = [5, 7, 7]}]
[variant.clean]
"""

WORKER = """
import json, sys
from pathlib import Path
from adreno_sim import AdrenoSimError, open_device
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

try:
    device = open_device(sys.argv[1])
except AdrenoSimError as error:
    sys.exit(str(error))
found = {}
for name in sys.argv[2:]:
    path = Path(name)
    try:
        report = run_launch(read_launch(path, "clean"), path.with_suffix(".cl"), device=device)
        found[name] = "" if report.outputs and all(o.ok for o in report.outputs) else report.verdict
    except AdrenoSimError as error:
        found[name] = str(error)
print()
print(json.dumps({"found": found}), flush=True)
"""


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_clean_twins_are_right_on_a_real_device(judge: oracle.Oracle, tmp_path: Path, part: int) -> None:
    left_out = NOT_ON[judge.name]
    every = [path for path in CASES if f"{path.parent.name}/{path.stem}" not in left_out]
    cases = every[part::PARTS]
    by_value = tmp_path / "by_value.toml"
    by_value.write_text(BY_VALUE)
    by_value.with_suffix(".cl").write_text(VECTORS)
    command = [sys.executable, "-c", WORKER, f"cl:{judge.name}", *map(str, [*cases, by_value])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith('{"found": '))  # drivers print what kernels print
    found = json.loads(line)["found"]
    assert len(found) == len(cases) + 1 > 100 / PARTS
    assert {name: why for name, why in found.items() if why} == {}
