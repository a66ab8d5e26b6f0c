"""Agreements that could not have failed: inputs equal along an axis, outputs of a softmax that is sure of its class."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.script import relax as R

import adreno_sim
from adreno_sim import AdrenoSimError, open_device
from adreno_sim.base import pytest_settings
from adreno_sim.compiler.check.distinguishing_inputs import find_equal_axis, scale_elements
from adreno_sim.compiler.precision.report import precision
from adreno_sim.compiler.testing import verify_results
from adreno_sim.compiler.tvm_bridge.versions import tvm_series
from adreno_sim.findings import Kind
from adreno_sim.results.comparison import compare, why_uninformative

nn = relax.op.nn


def network(make, shape=(1, 8, 16, 16), dtype="float32"):
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(shape, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(make(builder, x))
        builder.emit_func_output(result)
    return builder.get()


def weight(*shape):
    return relax.const((np.random.default_rng(0).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype("float32"))


def pooled(b, x):
    convolved = b.emit(nn.relu(b.emit(nn.conv2d(x, weight(8, 8, 3, 3), padding=1))))
    return b.emit(nn.conv2d(b.emit(nn.max_pool2d(convolved, (3, 3), (2, 2), (1, 1))), weight(8, 8, 3, 3), padding=1))


@pytest.mark.skipif(tvm_series() == "0.25", reason="its texture stores are right")
def test_a_pooling_that_keeps_one_lane_is_found_behind_stores_that_spread_one(adreno):
    report = adreno_sim.check(network(pooled), device=adreno, target="texture", pipeline="stock", keep_going=True)
    (found,) = [f for f in report.findings if f.kind is Kind.WRONG_VALUE and f.kernel.startswith("max_pool2d")]
    assert "on scaled inputs (what the run gave it in" in found.message
    assert "is equal along axis 4)" in found.message
    assert {kernel.status for kernel in report.kernels if kernel.name == found.kernel} == {"wrong"}


def test_a_right_pooling_of_equal_lanes_is_silent(adreno):
    x = np.repeat(np.random.default_rng(2).standard_normal((1, 2, 1, 16, 16)), 4, axis=2).reshape(1, 8, 16, 16).astype("float32")
    pool = network(lambda b, x: nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)))
    report = adreno_sim.check(pool, [x], device=adreno, target="texture", keep_going=True)
    assert report.ok, str(report)
    assert not report.findings, str(report)


@pytest.mark.parametrize(("factor", "kinds"), [(60000, {Kind.NONFINITE_INTRODUCED}), (0.5, set())])
def test_halves_that_overflow_everywhere_are_told_though_their_twin_is_right(adreno, factor, kinds):
    scaled = network(lambda b, x: b.emit(relax.op.multiply(x, relax.const(np.float16(factor)))), dtype="float16")
    x = np.random.default_rng(2).uniform(2, 4, (1, 8, 16, 16)).astype("float16")
    report = adreno_sim.check(scaled, [x], device=adreno, keep_going=True)
    (kernel,) = report.kernels
    assert kernel.status == "ok", str(report)
    assert {f.kind for f in report.findings if f.kernel} == kinds, str(report)


def test_equal_axes():
    rows = np.repeat(np.arange(6, dtype="float32").reshape(3, 1, 2), 4, axis=1)
    assert find_equal_axis(rows) == 1
    assert find_equal_axis(np.zeros((2, 3), "float16")) == 1
    rows[1, 2, 0] += 1
    assert find_equal_axis(rows) is None
    assert find_equal_axis(np.zeros((2, 3), "int32")) is None


@pytest.mark.parametrize("value", [2.0, 0.0])
def test_a_scaled_number_stays_an_array(value):
    scaled = scale_elements(np.array(value, "float16"), np.random.default_rng(0))
    assert isinstance(scaled, np.ndarray)
    assert scaled.shape == ()
    assert scaled.dtype == np.float16
    assert scaled != value


@pytest.mark.parametrize("array", [np.full((4, 8), 3.0), -np.ones((2, 8)), np.zeros((3, 3))])
def test_scaled_elements_differ_and_keep_their_signs(array):
    scaled = scale_elements(array.astype("float16"), np.random.default_rng(0))
    assert find_equal_axis(scaled) is None
    assert scaled.dtype == np.float16
    assert not array.any() or (np.sign(scaled) == np.sign(array)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_no_scaled_element_leaves_its_type(dtype):
    largest = np.finfo(dtype).max
    scaled = scale_elements(np.array([[largest] * 8, [-largest] * 8, [np.inf] * 8], dtype), np.random.default_rng(0))
    assert np.isfinite(scaled[:2]).all()
    assert np.isinf(scaled[2]).all()
    assert len(np.unique(scaled)) > 5


ONE_HOT = np.eye(1, 1000, 17, dtype="float32") + np.float32(1e-9)


def test_a_softmax_that_is_sure_of_its_class_says_nothing():
    assert "one-hot" in why_uninformative(ONE_HOT)
    assert "one-hot" in compare(ONE_HOT, ONE_HOT.copy()).uninformative
    unsure = ONE_HOT.copy()
    unsure[0, :2] = 0.3, 0.1
    assert not why_uninformative(unsure)
    found = compare(unsure, unsure.copy())
    assert found.ok
    assert not found.uninformative
    assert not compare(np.roll(ONE_HOT, 1), ONE_HOT).ok, "another class is still wrong"


def sure(b, x):
    logits = b.emit(relax.op.multiply(b.emit(relax.op.matmul(x, weight(64, 32))), relax.const(np.float32(3000))))
    return b.emit(nn.softmax(logits, -1))


def inputs():
    return [np.random.default_rng(1).random((1, 64), dtype="float32")]


def test_precision_learns_nothing_from_such_outputs():
    with pytest.raises(AdrenoSimError, match=r"its outputs say nothing about errors .*one-hot.*--input"):
        precision(network(sure, (1, 64)), inputs(), device=open_device("sim:adreno-740"))


@pytest.fixture
def strict():
    yield lambda value: pytest_settings.begin(pytest_settings.PytestSettings(strict=value))
    pytest_settings.end()


def test_verify_results_warns_of_them(strict):
    strict(False)
    with pytest.warns(UserWarning, match=r"verify_results on sim:adreno-740: .*one-hot"):
        verify_results(network(sure, (1, 64)), "qcom/adreno-opencl")


def test_verify_results_fails_on_them_where_asked(strict):
    strict(True)
    with pytest.raises(AssertionError, match="one-hot"):
        verify_results(network(sure, (1, 64)), "qcom/adreno-opencl")
