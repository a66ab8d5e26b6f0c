"""Denormal numbers on a device that takes them for zero: in memory, between, compared, in sums; and defects of the same size."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import IRModule, relax
from tvm.script import relax as R

from adreno_sim.golden.expectations import KernelExpectations
from adreno_sim.golden.truth.model import ModelTruth
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.comparison import compare

op = relax.op
KEEPS, FLUSHES = Units(flushes=False), Units(flushes=True)
LEAST = float(np.finfo("float32").smallest_normal)


def network(make, *inputs):
    builder = relax.BlockBuilder()
    variables = [relax.Var(f"x{i}", R.Tensor(array.shape, array.dtype.name)) for i, array in enumerate(inputs)]
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(make(*variables)))
        builder.emit_func_output(result)
    return builder.get()


def expected_of(make, inputs, units):
    """What the one kernel of an operator should give."""
    module = relax.transform.LegalizeOps()(network(make, *inputs))
    ((name, function),) = ((var.name_hint, found) for var, found in module.functions_items() if var.name_hint != "main")
    out = module["main"].ret_struct_info if hasattr(module["main"], "ret_struct_info") else module["main"].ret_ty
    empty = np.zeros([int(size) for size in out.shape.values], str(out.dtype))
    return KernelExpectations(IRModule({name: function}), units).expect(str(name), [*inputs, empty])[-1]


SMALL = (np.linspace(0.2, 0.9, 64) * LEAST).astype("float32").reshape(1, 64)
LARGE = np.full((1, 64), 1e6, "float32")
ROOTS = np.full((1, 64), 1e-19, "float32")  # whose products are denormal
ZEROS = np.zeros((1, 64), "float32")

LOST = {
    "enlarged": (op.multiply, (SMALL, LARGE), ZEROS),
    "divided": (op.divide, (SMALL, 1 / LARGE), ZEROS),
    "root": (op.sqrt, (SMALL,), ZEROS),
    "rounded up": (op.ceil, (SMALL,), ZEROS),
    "compared": (lambda x, y: op.greater(x, y), (SMALL, ZEROS), np.zeros((1, 64), bool)),
    "summed": (lambda x: op.sum(x, -1), (SMALL,), np.zeros(1, "float32")),
    "products summed": (lambda x, y: op.matmul(x, y), (ROOTS / 2, ROOTS.T / 2), np.zeros((1, 1), "float32")),
    "half, compared": (op.greater, (np.full(64, 3e-5, "float16"), np.zeros(64, "float16")), np.zeros(64, bool)),
    "half, rounded up": (op.ceil, (np.full(64, 3e-5, "float16"),), np.zeros(64, "float16")),
}


@pytest.mark.parametrize("name", LOST)
def test_what_a_device_makes_of_zero_in_place_of_a_denormal_is_right_where_it_flushes(name):
    make, inputs, flushed = LOST[name]
    with np.errstate(under="ignore"):
        assert compare(flushed, expected_of(make, inputs, FLUSHES)).ok
    assert not compare(flushed, expected_of(make, inputs, KEEPS)).ok
    normal = [(x * 1000 if x.dtype == np.float32 else x * np.float16(4)) if i == 0 else x for i, x in enumerate(inputs)]
    assert not compare(flushed, expected_of(make, normal, FLUSHES)).ok, "of normal numbers it is wrong"


OF_CONSTANTS = {
    "enlarged": (lambda x, c: op.multiply(x, relax.const(c)), np.full(64, 1e6, "float32"), np.float32(LEAST / 3), 0),
    "half, an epsilon": (lambda x, c: op.add(x, relax.const(c)), np.full(64, 1e-4, "float16"), np.float16(1e-5), 1e-4),
}


@pytest.mark.parametrize("name", OF_CONSTANTS)
def test_a_denormal_constant_may_be_zero_where_the_device_flushes(name):
    make, x, constant, flushed = OF_CONSTANTS[name]
    got = np.full(64, flushed, x.dtype)
    assert compare(got, expected_of(lambda x: make(x, constant), (x,), FLUSHES)).ok
    assert not compare(got, expected_of(lambda x: make(x, constant), (x,), KEEPS)).ok
    normal = constant * constant.dtype.type(8)
    assert not compare(got, expected_of(lambda x: make(x, normal), (x,), FLUSHES)).ok, "a normal one may not"


def test_the_outputs_of_a_model_are_judged_alike():
    """The model's truth takes its inputs as its kernels take theirs."""
    model = network(lambda x: op.multiply(op.sqrt(x), relax.const(np.float32(3))), SMALL)
    for given, may in ((SMALL, True), (SMALL * 1000, False)):
        for units in (FLUSHES, KEEPS):
            (truth,), _ = ModelTruth(model).run([given], units)
            reached = 0 if truth.sigma is None else 8 * truth.sigma.astype(float)
            assert bool((reached >= truth.value).all()) == (may and units is FLUSHES)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_sum_may_be_denormal_between_in_an_order_of_the_devices_own(dtype):
    """The sum of the first and the third term is denormal, and so lost; a term that is normal may not be."""
    unit = float(np.finfo(dtype).smallest_normal)
    x = (np.array([[-3.2, 9.1, 2.4, 2.5]]) * unit).astype(dtype)
    ones = np.ones((4, 1), dtype)
    right = x.astype(float).sum()
    lost = right - (x[0, 0].astype(float) + x[0, 2])
    for units in (FLUSHES, KEEPS):
        expected = expected_of(op.matmul, (x, ones), units)
        assert compare(np.array([[right]], dtype), expected).ok
        assert compare(np.array([[lost]], dtype), expected).ok == units.flushes
        assert not compare(np.array([[right - x[0, 2]]], dtype), expected).ok, (
            "a term of 2.4 of the least normal number is missing"
        )
