"""Relax operators in the truth of a whole model: each has a value, or a reason why it has none; shapes have values."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")
import tvm
from tvm import relax
from tvm.script import relax as R

import adreno_sim
from adreno_sim.golden.truth import model_operators as known
from adreno_sim.golden.truth.model import ModelTruth
from adreno_sim.golden.truth.operators.operator import _ATTRIBUTES
from adreno_sim.golden.truth.units import Units
from adreno_sim.golden.truth.value import Unmodelled
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = pytest.mark.tvm

HANDLED = {*known.PROGRAMS, *known.SAME, *known.EFFECTS, *known.SHAPES, *known.WITHOUT_A_VALUE}


def operators():
    names = [str(name) for name in tvm.ir.Op.list_op_names()]
    return [name for name in names if name.startswith("relax.")]


def test_every_operator_is_legalised_handled_or_has_a_reason():
    """What TVM legalises becomes a PrimFunc, of which a truth is made."""
    assert len(operators()) > 150
    sorted_and_scanned = {f"relax.{name}" for name in _ATTRIBUTES}
    legalised = {name for name in operators() if tvm.ir.Op.get(name).get_attr("FLegalize") is not None}
    left = [name for name in operators() if name not in legalised | HANDLED | sorted_and_scanned]
    assert not left, f"operators that a truth knows nothing of: {left}"


def test_no_reason_is_given_for_what_has_a_value():
    assert not set(known.WITHOUT_A_VALUE) & {*known.PROGRAMS, *known.SAME, *known.EFFECTS, *known.SHAPES}
    assert all(known.WITHOUT_A_VALUE.values())


def module(build, *params):
    builder = relax.BlockBuilder()
    inputs = [relax.Var(name, R.Tensor(shape, dtype)) for name, shape, dtype in params]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(build(builder, *inputs))
        builder.emit_func_output(result)
    return builder.get()


def truth(mod, *arrays):
    (found,), (dtype,) = ModelTruth(mod).run(list(arrays), Units())
    return found.value.astype(dtype)


X = np.arange(24, dtype="float32").reshape(4, 6)


def test_a_shape_as_a_tensor():
    def last_size(b, x):
        sizes = b.emit(relax.op.shape_to_tensor(b.emit(relax.op.shape_of(x))))
        return b.emit(relax.op.multiply(relax.op.astype(sizes, "float32"), relax.const(np.float32(2))))

    assert truth(module(last_size, ("x", (4, 6), "float32")), X).tolist() == [8, 12]


def test_a_reshape_by_a_tensor():
    def by_tensor(b, x, size):
        sizes = b.emit(relax.op.tensor_to_shape(b.emit(relax.op.add(size, relax.const(np.array([1, 0]), "int64")))))
        return b.emit(relax.op.reshape(x, sizes))

    mod = module(by_tensor, ("x", (4, 6), "float32"), ("size", (2,), "int64"))
    assert (truth(mod, X, np.array([1, 12])) == X.reshape(2, 12)).all()
    assert (truth(mod, X, np.array([2, 8])) == X.reshape(3, 8)).all()


def test_a_size_that_rounding_may_change_has_no_value():
    def by_float(b, x, size):
        whole = b.emit(relax.op.astype(relax.op.floor(relax.op.multiply(size, relax.const(np.float32(1 / 3)))), "int64"))
        return b.emit(relax.op.reshape(x, b.emit(relax.op.tensor_to_shape(whole))))

    mod = module(by_float, ("x", (4, 6), "float32"), ("size", (1,), "float32"))
    assert (truth(mod, X, np.float32([73])) == X.reshape(24)).all()
    with pytest.raises(Unmodelled, match="rounding may change"):
        truth(mod, X, np.float32([72]))


def test_operators_that_change_nothing():
    def hinted(b, x):
        b.emit(relax.op.print(x, format="{}"))
        return b.emit(relax.op.multiply(relax.op.builtin.stop_lift_params(x), relax.const(np.float32(2))))

    assert (truth(module(hinted, ("x", (4, 6), "float32")), X) == 2 * X).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_network_with_a_gather_is_compared_with_every_reference(dtype):
    """TVM's importer computes the size of an axis for indices that may be negative."""
    onnx = pytest.importorskip("onnx")
    make, kinds, rng = onnx.helper.make_tensor_value_info, onnx.TensorProto, np.random.default_rng(0)
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    weights = {"w": rng.standard_normal((20, 16)), "k": rng.standard_normal((16, 8)) / 4}
    nodes = [onnx.helper.make_node("Gather", ["w", "i"], ["e"]), onnx.helper.make_node("MatMul", ["e", "k"], ["y"])]
    graph = onnx.helper.make_graph(
        nodes, "gather", [make("i", kinds.INT64, [2, 5])], [make("y", kind, [2, 5, 8])],
        [onnx.numpy_helper.from_array(array.astype(dtype), name) for name, array in weights.items()],
    )  # fmt: skip
    report = adreno_sim.check(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8))
    wanted = {"TVM llvm", "ONNX Runtime"} | ({"float64"} if dtype == "float16" else set())
    assert {row.reference for row in report.outputs} == wanted
    assert report.unchecked == [LEVEL_BOUNDS]
    assert report.verdict.startswith("ok: 3 of 3")


def test_without_a_truth_a_half_model_is_still_compared(monkeypatch):
    """One reference less takes no other with it."""

    def refuse(*_args, **_kwargs):
        raise Unmodelled("a test")

    monkeypatch.setattr(ModelTruth, "run", refuse)
    mod = module(lambda b, x: b.emit(relax.op.nn.relu(relax.op.multiply(x, x))), ("x", (4, 6), "float16"))
    report = adreno_sim.check(mod, target="buffer")
    assert {row.reference for row in report.outputs} == {"TVM llvm"}
    assert report.verdict.startswith("ok:")
    assert "outputs: how far rounding may take them is not known: no truth is made of a test" in report.unchecked


def test_a_verdict_needs_an_output_that_somebody_judged(monkeypatch):
    from adreno_sim.golden.errors import NoReferenceError
    from adreno_sim.golden.model_reference import ModelReference

    def refuse(*_args, **_kwargs):
        raise NoReferenceError("a test")

    mod = module(lambda b, x: b.emit(relax.op.nn.relu(x)), ("x", (4, 6), "float16"))
    monkeypatch.setattr(ModelReference, "run", refuse)
    monkeypatch.setattr(ModelTruth, "run", lambda *a, **k: (_ for _ in ()).throw(Unmodelled("a test")))
    report = adreno_sim.check(mod, target="buffer")
    assert report.verdict.startswith("ok, in part: 1 of 1 kernels checked")
    assert "no output compared" in report.verdict
    assert not adreno_sim.check(mod, target="buffer", strict=True).ok
