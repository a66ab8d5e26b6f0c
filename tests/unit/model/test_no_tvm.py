"""What must import without TVM: the device, the command line, bundles, the VM, plans, snapshots."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import adreno_sim

ROOT = Path(adreno_sim.__file__).parent
NEEDS_TVM = {"golden.kernel_reference", "golden.model_reference"}

BLOCK = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tvm", "tvm_ffi"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
"""


def modules():
    names = set()
    for folder, _, files in os.walk(ROOT, followlinks=True):
        for file in files if "__init__.py" in files else ():
            parts = (Path(folder) / file).relative_to(ROOT).with_suffix("").parts
            if file.endswith(".py"):
                names.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(names - {"", "__main__"})


def free_of_tvm():
    """The device side, and of the compiler what runs a bundle."""
    compiler = {"check.check", "check.judging.observer", "check.prepare", "compile", "lower.compile_options"}
    for name in modules():
        first, _, rest = name.partition(".")
        if first == "compiler" and not (rest in compiler or rest.startswith(("artifact", "run", "plan"))):
            continue
        if name not in NEEDS_TVM and not name.endswith(".extract"):
            yield name


def run(code):
    return subprocess.run([sys.executable, "-c", BLOCK + code], capture_output=True, text=True, timeout=120)


def test_importing_needs_no_tvm():
    names = list(free_of_tvm())
    expected = {"device", "cli.main", "compiler.run.vm", "compiler.artifact.model", "results.comparison", "render.report.text"}
    assert expected <= set(names)
    done = run(f"for name in {names!r}: importlib.import_module('adreno_sim.' + name)\nprint(len(sys.modules))")
    assert done.returncode == 0, done.stderr[-2000:]


def test_checking_a_model_without_tvm_says_what_to_install(tmp_path):
    (tmp_path / "model.py").write_text("from tvm.script import ir\n")
    hide = """
import importlib.metadata, importlib.util
find, version = importlib.util.find_spec, importlib.metadata.version
def no_version(name):
    if name.startswith("apache-tvm"):
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = no_version
importlib.util.find_spec = lambda name, package=None: None if name == "tvm" else find(name, package)
"""
    done = run(hide + f"from adreno_sim.cli.main import main\nsys.exit(main(['check', {str(tmp_path / 'model.py')!r}]))")
    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert "tvm" in done.stderr.lower()


@pytest.mark.parametrize("name", ["adreno_sim", "adreno_sim.cli.main"])
def test_import_is_light(name):
    done = run(
        f"import {name}\nprint(sorted({{m.split('.')[0] for m in sys.modules}} & {{'numpy', 'numba', 'rich', 'llvmlite'}}))"
    )
    assert done.stdout.strip() == "[]"


def test_plain_compiler_and_golden_are_refused():
    done = run(f"sys.path.insert(0, {str(ROOT.parent)!r})\nimport compiler")
    assert "import this package as adreno_sim.compiler" in done.stderr
