"""A fused q4f16 product as one kernel: right, and one wrong bit of one nibble in millions is a wrong value."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from gemv import arguments, gemv, product

from adreno_sim import check_kernel
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = pytest.mark.tvm

SIZES = [(4096, 4096), pytest.param((4096, 11008), marks=pytest.mark.slow)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_product_is_right(size):
    given = arguments(*size)
    for expected, checks, unchecked in ((None, "full", []), (product, "bounds", [LEVEL_BOUNDS])):
        report = check_kernel(gemv(*size), given, expected, target="buffer", checks=checks)
        assert report.ok
        assert not report.findings
        assert report.unchecked == unchecked
        assert [kernel.status for kernel in report.kernels] == ["ok"]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("wrong", ["nibble", "partial"])
def test_one_wrong_term_is_a_wrong_value(size, wrong):
    report = check_kernel(gemv(*size, wrong), arguments(*size), gemv(*size), target="buffer")
    assert {finding.kind.label for finding in report.findings} == {"wrong-value"}
    assert f"[0, {size[0] // 3}]" in report.findings[0].message
    assert "1 of 4096 elements" in report.findings[0].message


def test_a_given_result_that_is_off_is_a_wrong_value():
    given = arguments(256, 512)
    right = product(*given)[-1]
    assert check_kernel(gemv(256, 512), given, {"y": right}, target="buffer").ok
    off = right.copy()
    off[0, 17] += 0.5
    report = check_kernel(gemv(256, 512), given, {"y": off}, target="buffer")
    assert [finding.kind.label for finding in report.findings] == ["wrong-value"]
    assert "[0, 17]" in report.findings[0].message


def test_the_callers_arrays_stay_and_missing_ones_are_made():
    weights, scales, _, y = arguments(256, 512)
    report = check_kernel(gemv(256, 512), {"weights": weights, "scales": scales, "y": y}, target="buffer")
    assert report.ok
    assert not y.any()
    assert [item.name for item in report.inputs] == ["weights", "scales", "x", "y"]
    assert np.isfinite(report.inputs[2].rms)
