"""What importing TVM is spared changes nothing of what is imported."""

import subprocess
import sys

import pytest

from adreno_sim.compiler.tvm_bridge.global_names import listing_once

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
except Exception:  # whatever it is, its text is compared
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


@pytest.mark.parametrize("ends_first", [0, 1])
def test_imports_of_two_threads_leave_tvms_function_in_place(ends_first):
    registry = pytest.importorskip("tvm_ffi.registry")
    before, names = registry.list_global_func_names, registry.list_global_func_names()
    both = [listing_once(), listing_once()]
    for one in both:
        one.__enter__()
    both[ends_first].__exit__(None, None, None)
    assert registry.list_global_func_names is not before
    assert registry.list_global_func_names() == names
    both[1 - ends_first].__exit__(None, None, None)
    assert registry.list_global_func_names is before


def test_names_that_come_meanwhile_are_listed_and_no_list_changes_that_a_thread_goes_through():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    with listing_once():
        names = tvm_ffi.registry.list_global_func_names()
        kept = [*names]
        tvm_ffi.register_global_func("adreno_sim.tests.comes_meanwhile", lambda: None)
        try:
            later = tvm_ffi.registry.list_global_func_names()
        finally:
            tvm_ffi.registry.remove_global_func("adreno_sim.tests.comes_meanwhile")
    assert names == kept
    assert set(later) - set(kept) == {"adreno_sim.tests.comes_meanwhile"}
