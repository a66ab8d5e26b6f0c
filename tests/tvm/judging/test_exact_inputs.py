"""Whole numbers that a kernel sums exactly: on a real device they show one wrong term where no tolerance does."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import IRModule, te

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from power import linear, rows
from power.bench import Bench, Planted, make_references, open_devices
from power.inputs import SIGNS, draw_inputs
from power.problem import Defect

from adreno_sim.findings import Kind
from adreno_sim.golden.expectations import KernelExpectations
from adreno_sim.golden.truth.units import Units

OPENED = []


def bench_of(problem):
    """A real device: what it does wrong, the simulator does right from the same text."""
    device, twin_device = open_devices()
    references = make_references([problem], Units.of_device(device.info))
    OPENED.append(Bench(problem, references, device, twin_device, driver=True))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def close_benches():
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.mark.each_value
@pytest.mark.parametrize("order", ["sequential", "split", "tree"])
@pytest.mark.parametrize("make", [linear.make_matmul, linear.make_gemv, linear.make_q4], ids=["matmul", "gemv", "q4"])
def test_a_term_that_a_driver_drops_is_found_and_no_right_result_is_blamed(make, order):
    problem = make(4096, "float16", order)
    bench = bench_of(problem)
    arrays = draw_inputs(problem, SIGNS[0], np.random.default_rng(2))
    (x,) = (array for array, item in zip(arrays, problem.inputs, strict=True) if item.draw == "data" and item.shape[-1] == 4096)
    x[..., 11] = 0.01  # the term that is dropped: halves do not show it
    right = bench.judge(arrays, Planted())
    assert right.by_exact is False, "judged, and right"
    assert not right.found, "judged, and right"
    wrong = bench.judge(arrays, Planted(Defect.DROPPED_TERM, at=11))
    assert wrong.by_exact
    assert not wrong.by_bound
    assert not wrong.by_rerun
    found = [f.message for f in bench._observer.found.findings.as_list() if f.kind is Kind.WRONG_VALUE]
    assert any("on whole numbers that it sums exactly" in message for message in found)


@pytest.mark.parametrize("make", [rows.make_softmax, rows.make_mean], ids=["softmax", "mean"])
def test_what_does_more_than_add_and_multiply_is_not_judged_so(make):
    problem = make(64, "float16", "tree")
    bench = bench_of(problem)
    right = bench.judge(draw_inputs(problem, SIGNS[0], np.random.default_rng(0)), Planted())
    assert right.by_exact is None
    assert not right.found


def expectations(compute, *shapes, dtype="float16"):
    given = [te.placeholder(shape, dtype, f"x{number}") for number, shape in enumerate(shapes)]
    function = te.create_prim_func([*given, compute(*given)]).with_attr("global_symbol", "f")
    return KernelExpectations(IRModule({"f": function}), exact=True)


def test_a_text_that_rounds_where_its_primfunc_does_not_tells_nothing():
    """It divides by three and multiplies again: off by what halves may be, on the simulator and on the device alike."""
    problem = rows.make_sum(64, "float16", "sequential")
    body = problem.body.replace(" : x[t])", " : x[t] / 3.0h)").replace("Y[r] = s;", "Y[r] = s * 3.0h;")
    assert body.count("3.0h") == 2
    bench = bench_of(replace(problem, body=body))
    right = bench.judge(draw_inputs(problem, SIGNS[0], np.random.default_rng(0)), Planted())
    assert right.by_exact is None
    assert not right.found


@pytest.mark.parametrize(
    ("compute", "exact"),
    [
        (lambda x: te.compute((8,), lambda i: te.max(x[i] * te.const(3, "float16"), te.const(0, "float16"))), True),
        (lambda x: te.compute((8,), lambda i: te.min(x[i] - te.const(6, "float16"), te.const(6, "float16"))), True),
        (lambda x: te.compute((8,), lambda i: te.if_then_else(i < 4, x[i], x[i] + x[7 - i])), True),
        (lambda x: te.compute((8,), lambda i: x[i].astype("float32").astype("float16")), True),
        (lambda x: te.compute((8,), lambda i: x[i] * te.const(0.5, "float16")), False),
        (lambda x: te.compute((8,), lambda i: x[i] / te.const(2, "float16")), False),
        (lambda x: te.compute((8,), lambda i: te.if_then_else(x[i] < 4, x[i], x[7 - i])), False),
        (lambda x: te.compute((8,), lambda i: te.exp(x[i])), False),
        (lambda x: te.compute((8,), lambda i: x[i].astype("int32").astype("float16")), False),
    ],
    ids=["relu", "clip", "moved", "casts", "half", "quotient", "decision", "exp", "cut off"],
)
def test_only_sums_and_products_are_exact(compute, exact):
    assert expectations(compute, (8,)).has_bound("f") == exact


def product(x, w):
    k = te.reduce_axis((0, x.shape[1]), "k")
    return te.compute((x.shape[0], w.shape[1]), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), most=st.integers(1, 60))
def test_what_is_said_to_be_exact_is_so_in_any_order(seed, most):
    """Halves that are added one after another in a random order, each sum rounded."""
    rng = np.random.default_rng(seed)
    x, w = (rng.integers(-most, most + 1, shape).astype("float16") for shape in ((3, 16), (16, 2)))
    golden = EXPECTED.expect_exact("f", [x, w, np.zeros((3, 2), "float16")])[-1]
    largest = (np.abs(x).astype(float) @ np.abs(w).astype(float)).max()
    assert (golden is not None) == (largest <= 2048)
    if golden is None:
        return
    sums = np.zeros((3, 2), "float16")
    for k in rng.permutation(16):
        sums = (sums + (x[:, k, None] * w[None, k]).astype("float16")).astype("float16")
    assert np.array_equal(sums, golden.array)
    assert not golden.allowed.any()


EXPECTED = expectations(product, (3, 16), (16, 2))
