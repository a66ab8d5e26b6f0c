"""What the races cost on a driver whose work-items do not run in lockstep: Intel's OpenCL for CPUs, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import judges
import pytest

pytest.importorskip("tvm")
pytestmark = [pytest.mark.tvm, pytest.mark.device]

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from kv_kernels import Sizes, make_case
from scan_kernels import SCANS
from adreno_sim import check_kernel
from adreno_sim.compiler.lower.targets import make_target
target, name = make_target("buffer"), sys.argv[2]
for without in ([sys.argv[3]], []):
    case = SCANS[name](target) if name in SCANS else make_case(name, target, Sizes("float32", 128))
    options = {"device": "cl:Intel", "target": "buffer", "keep_going": True, "without_fix": without}
    report = check_kernel(case.function, case.args, case.expected, **options)
    print("found", sorted({finding.kind.label for finding in report.findings}))
"""


@pytest.mark.parametrize(
    ("name", "fix"), [("merge", "group-update"), pytest.param("cumsum", "neighbour-read", marks=pytest.mark.slow)]
)
def test_values_are_wrong_without_the_fix_alone(name, fix, request):
    judges.ask_also(request.node, "intel")
    command = [sys.executable, "-c", RUN, str(Path(__file__).parent), name, fix]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = ["found ['wrong-value']", "found []"]
    assert done.stdout.strip().splitlines()[-2:] == found, done.stdout + done.stderr[-2000:]
