"""TVM's llvm target gives the same bits with vectors in its long sums as without; only these have some."""

import numpy as np
import pytest

pytest.importorskip("tvm")
import tvm
from clml_modules import module
from tvm import relax

from adreno_sim.golden import model_reference, vector_loops

pytestmark = pytest.mark.tvm
op = relax.op.nn

CASES = {
    "conv2d": (lambda x, w: op.conv2d(x, w, padding=(1, 1)), [(1, 6, 7, 14), (8, 6, 3, 3)]),
    "conv2d_strided": (lambda x, w: op.conv2d(x, w, strides=(2, 1), dilation=(1, 2)), [(2, 4, 9, 11), (8, 4, 3, 3)]),
    "conv2d_depthwise": (lambda x, w: op.conv2d(x, w, groups=4), [(1, 4, 8, 10), (4, 1, 3, 3)]),
    "conv2d_then_relu": (lambda x, w: op.relu(op.conv2d(x, w)), [(1, 4, 8, 6), (4, 4, 3, 3)]),
    "max_pool2d": (lambda x: op.max_pool2d(x, (3, 3), padding=(1, 1)), [(1, 4, 9, 12)]),
    "matmul": (relax.op.matmul, [(2, 5, 33), (2, 33, 20)]),
    "softmax": (lambda x: op.softmax(x, axis=1), [(3, 17, 8)]),
    "sum_of_all": (relax.op.sum, [(7, 8)]),
}
UNCHANGED = {
    "no_divisor": (relax.op.matmul, [(5, 33), (33, 11)], "float32"),
    "halves": (relax.op.matmul, [(5, 33), (33, 8)], "float16"),
    "no_sum": (op.relu, [(64, 64)], "float32"),
}


@pytest.fixture
def all_long(monkeypatch):
    monkeypatch.setattr(vector_loops, "LEAST_STEPS", 1)
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")


def changed_functions(monkeypatch, build, shapes, dtype="float32"):
    """The outputs on TVM's llvm target, and how many of the functions have vectors."""
    vectorize, changed = vector_loops.vectorize, []

    def note(function):
        found = vectorize(function)
        changed.append(found is not function)
        return found

    monkeypatch.setattr(vector_loops, "vectorize", note)
    outputs = run(build, shapes, dtype)
    monkeypatch.setattr(vector_loops, "vectorize", vectorize)
    return outputs, sum(changed)


def run(build, shapes, dtype="float32"):
    generator = np.random.default_rng(1)
    arrays = [generator.standard_normal(shape).astype(dtype) for shape in shapes]
    (result,) = model_reference.ModelReference(module(build, *shapes, dtype=dtype)).run(arrays)
    return result


@pytest.mark.parametrize("name", CASES)
def test_vectors_change_no_bit(monkeypatch, all_long, name):
    build, shapes = CASES[name]
    found, changed = changed_functions(monkeypatch, build, shapes)
    monkeypatch.setattr(vector_loops, "vectorize", lambda function: function)
    np.testing.assert_array_equal(found, run(build, shapes))
    assert changed == (0 if name == "sum_of_all" else 1)


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_functions_stay_as_they_are(monkeypatch, all_long, name):
    build, shapes, dtype = UNCHANGED[name]
    assert changed_functions(monkeypatch, build, shapes, dtype)[1] == 0


def test_short_sums_stay_as_they_are(monkeypatch):
    build, shapes = CASES["conv2d"]
    assert changed_functions(monkeypatch, build, shapes)[1] == 0


def test_a_function_that_somebody_wrote_runs_as_it_was_written(all_long):
    legal = relax.transform.LegalizeOps()(module(*[CASES["matmul"][0], *CASES["matmul"][1]]))
    names = [str(var.name_hint) for var, function in legal.functions_items() if isinstance(function, tvm.tirx.PrimFunc)]
    kept, vectors = (vector_loops.vectorize_sums(written)(legal) for written in (names, ()))
    assert [legal[name].same_as(kept[name]) for name in names] == [True]
    assert [legal[name].same_as(vectors[name]) for name in names] == [False]
