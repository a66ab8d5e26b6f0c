"""Programs as PyTorch means them: sums of booleans are int64, halves stay halves or are refused. Needs no PyTorch."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import relax

from adreno_sim import UnsupportedError, check
from adreno_sim.compiler.doctor.models import module
from adreno_sim.compiler.importers.torch import require_halves, sum_as_torch
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytestmark = [pytest.mark.tvm, pytest.mark.skipif(tvm_series() != "0.27", reason="cumsum is mended in 0.27")]


def positive_so_far(x):
    """How many elements of a row are positive up to each, as TVM's importer of PyTorch writes it."""
    return relax.op.cumsum(relax.op.greater(x, relax.const(0.0)), axis=1)


def test_a_sum_of_booleans_counts_them():
    x = np.random.default_rng(0).standard_normal((3, 40), np.float32)
    report = check(sum_as_torch(module(positive_so_far, (3, 40))), {"x": x}, target="buffer")
    assert report.ok
    assert not report.findings
    assert [output.ok for output in report.outputs] == [True]


def test_a_sum_that_stays_boolean_is_refused_by_name():
    with pytest.raises(UnsupportedError) as refused:
        check(module(positive_so_far, (3, 40)), target="buffer")
    said = str(refused.value)
    assert "stores vectors of bool, which OpenCL C has not; next: cast to int8 or int64" in said
    assert "\n" not in said


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_sums_stay(dtype):
    plain = module(lambda x: relax.op.cumsum(x, axis=1), (3, 40), dtype)
    assert sum_as_torch(plain).script() == plain.script()


def test_a_sum_whose_type_is_stated_stays():
    plain = module(lambda x: relax.op.cumsum(x, axis=1, dtype="int32"), (3, 40), "int8")
    assert sum_as_torch(plain).script() == plain.script()


def half_product(out_dtype):
    """A product of halves as TVM's importer of PyTorch writes it, or in half."""
    weight = relax.const(np.ones((40, 8), np.float16))
    return module(lambda x: relax.op.matmul(x, weight, out_dtype=out_dtype), (3, 40), "float16")


def test_an_output_that_the_importer_widened_is_its_limit():
    require_halves(half_product("float16"), ["float16"], "program")
    require_halves(half_product("float32"), ["float32"], "program")
    with pytest.raises(UnsupportedError) as refused:
        require_halves(half_product("float32"), ["float16"], "program")
    said = str(refused.value)
    assert said.startswith("program: TVM's importer gives output 0 as float32, PyTorch as float16; ")
    assert said.endswith("next: export the model in float32, and check it with --dtype float16")
