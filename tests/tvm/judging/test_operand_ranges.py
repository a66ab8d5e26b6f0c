"""Results over the whole range of their type: what a kernel cannot hold is asked of no twin, and a defect still shows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from power.campaign import choose_problems, run_campaign
from power.inputs import RANGES
from power.tally import tally_runs

import adreno_sim
from adreno_sim.findings import Kind
from adreno_sim.golden.truth.run import standard_deviation

pytestmark = pytest.mark.tvm

onnx = pytest.importorskip("onnx")


def masked_softmax(dtype, columns=49, mask=-100.0, rows=12):
    """Add of a mask, then Softmax, as in attention."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    hidden = np.random.default_rng(0).random((rows, columns)) < 0.4
    table = np.where(hidden, mask, 0).astype(dtype)
    nodes = [
        onnx.helper.make_node("Add", ["x", "mask"], ["scores"]),
        onnx.helper.make_node("Softmax", ["scores"], ["y"], axis=-1),
    ]
    shapes = [onnx.helper.make_tensor_value_info(name, kind, [rows, columns]) for name in ("x", "y")]
    weights = [onnx.numpy_helper.from_array(table, "mask")]
    graph = onnx.helper.make_graph(nodes, "masked", shapes[:1], shapes[1:], weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.each_value
@pytest.mark.parametrize("mask", [-100.0, -1e4])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_softmax_behind_a_mask_is_right(dtype, mask):
    report = adreno_sim.check(masked_softmax(dtype, mask=mask))
    assert not [finding for finding in report.findings if finding.kind is Kind.WRONG_VALUE], report.findings
    assert report.checked == report.kernels_in_model


def test_only_an_exact_result_has_no_deviation():
    variances = np.array([0.0, 1e-300, 1e-92, 1.0, np.inf, np.nan])
    found = standard_deviation(variances)
    assert found[0] == 0
    assert found.dtype == np.float32
    assert (found[1:3] > 0).all(), "what float32 cannot hold is not nothing"
    assert found[3] == 1
    assert np.isinf(found[4:]).all()


@pytest.mark.parametrize(
    ("family", "step"),
    [("softmax", 3), pytest.param("softmax", 1, marks=pytest.mark.slow), pytest.param("layer_norm", 1, marks=pytest.mark.slow)],
)
def test_rows_of_any_magnitude_are_judged_right(family, step):
    problems = [problem for problem in choose_problems(quick=False, only=family) if problem.terms <= 64][::step]
    tally = tally_runs(run_campaign(problems, repeats=1, seed=0, say=lambda text: None, signs=RANGES))
    assert tally.runs >= 12 / step, tally.alarms
    assert not tally.alarms, tally.alarms
    assert tally.total.detectable > 5 / step, tally.misses
    assert not tally.misses, tally.misses
