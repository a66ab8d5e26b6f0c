"""What importing TVM is spared changes nothing of what is imported."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.tvm

IMPORTED = """
import sys
HOW
import tvm, traceback

for name, module in sorted(sys.modules.items()):
    if name.startswith("tvm."):
        print(name, sorted(name for name in vars(module) if not name.startswith("__")))
from tvm_ffi import registry
print(registry.list_global_func_names.__module__, sorted(registry.list_global_func_names()))
try:
    tvm.ir.Op.get("no operator")
except Exception:
    print(traceback.format_exc())
"""

PLAIN = "import tvm, tvm.relax"
SPARED = """
from adreno_sim.compiler.tvm_bridge.symbols import reading_symbols
from adreno_sim.compiler.tvm_bridge.versions import import_tvm
with reading_symbols():
    import_tvm()
"""


def test_the_same_is_imported_and_errors_have_the_same_traces():
    plain, spared = (
        subprocess.run([sys.executable, "-c", IMPORTED.replace("HOW", how)], capture_output=True, text=True, timeout=120)
        for how in (PLAIN, SPARED)
    )
    assert plain.returncode == spared.returncode == 0, plain.stderr + spared.stderr
    assert "no operator" in plain.stdout
    assert [line for line in plain.stdout.splitlines() if "<string>" not in line] == [
        line for line in spared.stdout.splitlines() if "<string>" not in line
    ]
