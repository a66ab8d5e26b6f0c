"""A network as TVM's own ResNet test has it: batch_norm with its statistics as parameters, between convolutions."""

import datetime

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import ir as I
from tvm.script import relax as R

import adreno_sim
from adreno_sim.base.allow import AllowEntry
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.precision.report import precision
from adreno_sim.findings import Kind, Severity

pytestmark = pytest.mark.tvm


@I.ir_module
class Residual:
    @R.function
    def main(
        x: R.Tensor((1, 8, 10, 10), "float32"),
        w0: R.Tensor((8, 8, 3, 3), "float32"),
        gamma: R.Tensor((8,), "float32"),
        beta: R.Tensor((8,), "float32"),
        mean: R.Tensor((8,), "float32"),
        variance: R.Tensor((8,), "float32"),
        w1: R.Tensor((8, 8, 3, 3), "float32"),
    ):
        with R.dataflow():
            a = R.nn.conv2d(x, w0, padding=[1, 1, 1, 1], out_dtype="float32")
            b = R.nn.batch_norm(a, gamma, beta, mean, variance, axis=1)
            c = R.nn.relu(b[0])
            d = R.nn.conv2d(c, w1, padding=[1, 1, 1, 1], out_dtype="float32")
            y = R.add(d, x)
            R.output(y)
        return y


def inputs():
    generator = np.random.default_rng(1)
    shapes = [(1, 8, 10, 10), (8, 8, 3, 3), (8,), (8,), (8,), (8,), (8, 8, 3, 3)]
    arrays = [generator.uniform(0, 1, shape).astype("float32") for shape in shapes]
    return dict(zip(("x", "w0", "gamma", "beta", "mean", "variance", "w1"), arrays, strict=True))


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_the_moving_statistics_count(target):
    report = adreno_sim.check(Residual, inputs(), target=target)
    assert report.ok, report.findings
    assert report.checked == report.kernels_in_model, report.findings
    assert [(output.reference, output.ok) for output in report.outputs] == [("TVM llvm", True)]


def test_precision_is_measured_against_the_moving_statistics():
    report, _ = precision(Residual, inputs(), device=adreno_sim.open_device("sim:adreno-740"), target="buffer")
    assert report.ok
    assert report.error < 0.01
    assert all(layer.error < 0.01 for layer in report.layers)


def unfit(report):
    return [finding for finding in report.findings if finding.kind is Kind.WRONG_ARGUMENT]


def test_a_parameter_that_no_texture_holds_is_named_and_the_run_goes_on():
    report = adreno_sim.check(Residual, inputs(), pipeline="stock", keep_going=True)
    (finding,) = unfit(report)
    assert finding.severity is Severity.ERROR
    assert (finding.tensor, finding.count) == ("mean", 2)
    assert finding.message.startswith("parameter mean of main is annotated 'global.texture")
    assert "variance" in finding.message
    assert report.outputs
    assert not report.ok


@pytest.mark.parametrize(("kind", "checked"), [("wrong-value", 9), ("wrong-argument", 1)])
def test_an_accepted_wrong_value_hides_no_kernel_behind_it(kind, checked):
    """Where another kind is accepted, the first wrong value ends the check."""
    entry = AllowEntry("*", kind, "", "known", datetime.date(2099, 1, 1), "a test")
    report = adreno_sim.check(Residual, inputs(), pipeline="stock", allow=[entry])
    assert len(report.kernels) == checked
    assert {finding.finding.kind.label for finding in report.allowed} == {kind}
    assert not report.ok


def test_the_fixed_pipeline_annotates_no_such_parameter():
    assert {info.scope for info in compile_model(Residual).inputs if len(info.shape) == 1} == {"global"}
