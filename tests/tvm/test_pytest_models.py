"""The pytest plugin's model fixtures, and test files written in the shape of TVM's own for Adreno."""

import json
import os
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import adreno_sim
import adreno_sim.compiler.check.check
import adreno_sim.engine.coarsen.decide  # pytester forgets what a run has imported: these take seconds, in each run
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.tvm

INSTALLED = any(entry.name == "adreno_sim" for entry in entry_points(group="pytest11"))

MODELS = """
import pytest
from tvm.script.parser import ir as I
from tvm.script.parser import relax as R

@I.ir_module
class Network:
    @R.function
    def main(x: R.Tensor((2, 16, 28, 28), "float32"), w: R.Tensor((4, 16, 3, 3), "float32")):
        with R.dataflow():
            a: R.Tensor((2, 4, 26, 26), "float32") = R.nn.conv2d(x, w, out_dtype="float32")
            b: R.Tensor((2, 4, 26, 26), "float32") = R.nn.relu(a)
            c: R.Tensor((2, 4, 13, 13), "float32") = R.nn.max_pool2d(b, pool_size=[2, 2], strides=[2, 2])
            R.output(c)
        return c
"""

CHECKS = """
from models import Network

def test_check(adreno_check):
    report = adreno_check(Network, snapshot=True)
    assert report.checked == report.kernels_in_model

def test_plan(adreno_plan):
    plan = adreno_plan(Network)
    assert plan.lower_bound <= plan.bytes("tvm-fixed") <= plan.bytes("naive")
    assert plan.bytes() == plan.summary.planned + plan.summary.unplanned > 0
    assert f"naive {plan.bytes('naive'):,}" in repr(plan)

def test_no_planner(adreno_plan):
    adreno_plan(Network).bytes("nothing")
"""

TVM_STYLE = """
import pytest
from adreno_sim.compiler.testing import (
    build_and_run, parametrize_targets, requires_adreno_opencl_vulkan, run_local, skip_unless_adreno_clml,
    skip_unless_adreno_opencl_vulkan, verify_results,
)
import tvm
import tvm.testing
from models import Network

TARGETS = [tvm.target.Target("qcom/adreno-opencl-texture"), tvm.target.Target("qcom/adreno-opencl")]
ref_target = tvm.target.Target("llvm")

@requires_adreno_opencl_vulkan
@parametrize_targets(*TARGETS)
def test_network(target):
    verify_results(Network, target, ref_target)

@skip_unless_adreno_opencl_vulkan
@pytest.mark.skipif(not tvm.testing.device_enabled(TARGETS[0]), reason="opencl not enabled")
def test_marked():
    verify_results(Network, TARGETS[1], ref_target)

@getattr(tvm.testing, "parametrize_targets", parametrize_targets)(TARGETS[1])
def test_parametrized(target):
    verify_results(Network, target, ref_target)

@pytest.mark.skipif(not tvm.testing.device_enabled("metal"), reason="no metal here")
def test_other_targets_are_judged_as_before():
    pass

@skip_unless_adreno_clml
@pytest.mark.parametrize("shape", [1, 2])
def test_clml(shape):
    pass

def test_outputs():
    import numpy as np
    inputs = [np.random.default_rng(1).random(shape, dtype="float32") for shape in ((2, 16, 28, 28), (4, 16, 3, 3))]
    (got,), (expected,) = build_and_run(Network, inputs, TARGETS[1]), run_local(Network, inputs, ref_target)
    assert got.shape == (2, 4, 13, 13) and np.allclose(got, expected, rtol=1e-3)
"""

ALIAS = """
import sys

from adreno_sim.compiler import testing

sys.modules["utils"] = testing
"""

VULKAN = """
import pytest
import tvm
import tvm.testing
from adreno_sim.compiler.testing import verify_results
from models import Network

TARGETS = [tvm.target.Target("qcom/adreno-vulkan-texture"), tvm.target.Target("qcom/adreno-opencl-texture")]

@pytest.mark.parametrize("target", TARGETS)
def test_unmarked(target):
    verify_results(Network, target)

@pytest.mark.parametrize("target", [
    pytest.param(one, marks=pytest.mark.skipif(not tvm.testing.device_enabled(one), reason="no device")) for one in TARGETS
])
def test_marked(target):
    verify_results(Network, target)
"""

OTHER_TARGETS = """
import adreno_sim.compiler.testing
import tvm.testing

@tvm.testing.parametrize_targets("cuda", {"kind": "opencl"}, "qcom/adreno-opencl")
def test_opencl(target):
    assert target == "qcom/adreno-opencl"
"""

UNCOMPILED = """
import tvm
from tvm.script.parser import ir as I
from tvm.script.parser import relax as R
from adreno_sim.compiler.testing import verify_results

@I.ir_module
class Depthwise:
    @R.function
    def main(x: R.Tensor((1, 8, 12, 12), "float32"), w: R.Tensor((8, 1, 3, 3), "float32")):
        with R.dataflow():
            y: R.Tensor((1, 8, 10, 10), "float32") = R.nn.conv2d(x, w, groups=8, out_dtype="float32")
            R.output(y)
        return y

@I.ir_module
class Double:
    @R.function
    def main(x: R.Tensor((4, 8), "float64")):
        with R.dataflow():
            y: R.Tensor((4, 8), "float64") = R.add(x, x)
            R.output(y)
        return y

def test_what_stock_does_not_compile():
    verify_results(Depthwise, "qcom/adreno-opencl-texture")

def test_what_the_device_has_not():
    verify_results(Double, "qcom/adreno-opencl")
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(adreno_sim.__file__).parents[1]), prepend=os.pathsep)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\npythonpath = .")
    pytester.makepyfile(models=MODELS, test_checks=CHECKS, test_style=TVM_STYLE)
    plugin = () if INSTALLED else ("-p", "adreno_sim.pytest.plugin")
    return lambda *args: pytester.runpytest_inprocess(*plugin, *args)


def test_check_plan_and_snapshot(run, pytester):
    missing = run("test_checks.py::test_check")
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["test_checks.json has no snapshot*"])
    run("test_checks.py", "--adreno-update", "--deselect=test_checks.py::test_no_planner").assert_outcomes(passed=2)
    (file,) = (pytester.path / "adreno_snapshots").iterdir()
    assert list(json.loads(file.read_text())["snapshots"]) == ["test_check[sim:adreno-740]"]
    again = run("test_checks.py", "--junitxml=out.xml")
    again.assert_outcomes(passed=2, failed=1)
    again.stdout.fnmatch_lines(["planner 'nothing' does not exist; there are: naive, *"])
    again.stdout.fnmatch_lines(["sim:adreno-740: 3 tests, 1 failed, 0 skipped, 1 checks, * of * kernels, 0 findings"])
    properties = (pytester.path / "out.xml").read_text()
    assert 'name="adreno.kernels-checked"' in properties
    assert 'name="adreno.plan-bytes.tvm-fixed"' in properties


def test_a_file_in_tvm_style_passes(run):
    result = run("test_style.py", "--adreno-device=sim:adreno-740", "-rs")
    offloads = tvm_series() == "0.27"  # the series that the code generator of OpenCL ML is for
    result.assert_outcomes(passed=7 if offloads else 5, skipped=1 if offloads else 3)
    for why in ("no metal here",) if offloads else ("TVM was built without OpenCL ML, *", "no metal here"):
        result.stdout.fnmatch_lines([f"SKIPPED * {why}"])


@pytest.mark.slow
def test_a_file_of_tvm_runs_unchanged_where_utils_is_this(run, pytester):
    """As it lies in TVM's repository: the module of helpers, which is not to be taken, beside it."""
    pytester.makeconftest(ALIAS)
    pytester.makepyfile(utils="raise AssertionError", test_style=TVM_STYLE.replace("adreno_sim.compiler.testing", "utils"))
    run("test_style.py", "-k", "parametrized or marked").assert_outcomes(passed=2, deselected=6)


def test_vulkan_is_skipped_by_a_mark_and_without_one(run, pytester):
    pytester.makepyfile(test_vulkan=VULKAN)
    result = run("test_vulkan.py", "-rs")
    result.assert_outcomes(passed=2, skipped=2)
    for why in ("unsupported on sim:adreno-740: *kind vulkan*", "no device"):
        result.stdout.fnmatch_lines([f"SKIPPED * {why}"])


@pytest.mark.skipif(tvm_series() != "0.25", reason="only TVM 0.25 has a pytest plugin")
def test_the_plugin_of_tvm_skips_other_targets_alone(run, pytester):
    pytester.makeconftest('pytest_plugins = ["tvm.testing.plugin"]')
    pytester.makepyfile(test_others=OTHER_TARGETS)
    result = run("test_style.py", "test_others.py", "-m", "gpu", "-rs")
    result.assert_outcomes(passed=4, skipped=2, deselected=5)
    for why in ("need cuda", "need opencl"):
        result.stdout.fnmatch_lines([f"SKIPPED * {why}"])


@pytest.mark.slow
def test_what_the_pipeline_does_not_compile_fails_and_what_the_device_lacks_is_skipped(run, pytester):
    pytester.makepyfile(test_uncompiled=UNCOMPILED)
    run("test_uncompiled.py").assert_outcomes(passed=1, skipped=1)
    stock = run("test_uncompiled.py", "--adreno-pipeline=stock", "-rs")
    stock.assert_outcomes(failed=1, skipped=1)
    stock.stdout.fnmatch_lines(["*AssertionError: unsupported: TVM's stock pipeline fails on this module: *"])
    stock.stdout.fnmatch_lines(["SKIPPED * unsupported on sim:adreno-740: *arithmetic in double*"])


@pytest.mark.skipif(tvm_series() == "0.25", reason="TVM 0.25's texture store is right, and its pipeline stops earlier")
def test_stock_tvm_fails_with_the_store_named(run, pytester):
    result = run(
        "test_style.py", "test_checks.py", "--adreno-pipeline=stock", "--adreno-output=failures", "-k", "texture or check"
    )
    text = result.stdout.str()
    assert "wrong-value" in text
    assert "stores that touched this element, in order:" in text
    assert "write_imagef" in text
    assert result.parseoutcomes()["failed"] >= 2
    report = pytester.path / "failures" / "test_checks.py_test_check_sim_adreno-740" / "report.json"
    assert any(finding["kind"] == "wrong-value" for finding in json.loads(report.read_text())["findings"])
    page = (report.parent / "report.html").read_text()
    assert "wrong-value" in page
    assert "<mark>" in page
    assert "write_imagef" in page
    assert {path.suffix for path in (report.parent / "reproduce").iterdir()} >= {".cl", ".toml"}
    assert (report.parent / "report.txt").read_text().splitlines()[-1].startswith("findings: ")
