"""Sums along an axis as PyTorch means them: of booleans and narrow integers they are int64. Needs no PyTorch."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import relax

from adreno_sim import UnsupportedError, check
from adreno_sim.compiler.doctor.models import module
from adreno_sim.compiler.importers.torch import sum_as_torch
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytestmark = [pytest.mark.tvm, pytest.mark.skipif(tvm_series() != "0.27", reason="cumsum is mended in 0.27")]


def positive_so_far(x):
    """How many elements of a row are positive up to each, as TVM's importer of PyTorch writes it."""
    return relax.op.cumsum(relax.op.greater(x, relax.const(0.0)), axis=1)


def test_a_sum_of_booleans_counts_them():
    x = np.random.default_rng(0).standard_normal((3, 40), np.float32)
    report = check(sum_as_torch(module(positive_so_far, (3, 40))), {"x": x}, target="buffer")
    assert report.ok and not report.findings and [output.ok for output in report.outputs] == [True]


def test_a_sum_that_stays_boolean_is_refused_by_name():
    with pytest.raises(UnsupportedError) as refused:
        check(module(positive_so_far, (3, 40)), target="buffer")
    said = str(refused.value)
    assert "stores vectors of bool, which OpenCL C has not; next: cast to int8 or int64" in said and "\n" not in said


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_sums_stay(dtype):
    plain = module(lambda x: relax.op.cumsum(x, axis=1), (3, 40), dtype)
    assert sum_as_torch(plain).script() == plain.script()


def test_a_sum_whose_type_is_stated_stays():
    plain = module(lambda x: relax.op.cumsum(x, axis=1, dtype="int32"), (3, 40), "int8")
    assert sum_as_torch(plain).script() == plain.script()
