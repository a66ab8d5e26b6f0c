"""Sorts, scans and samples, which TVM's Adreno pipeline leaves without kernels: against ONNX Runtime and TVM llvm."""

import numpy as np
import pytest

pytest.importorskip("tvm")
pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper
from relax_models import one_block
from tvm import relax

from adreno_sim import AdrenoSimError, UnsupportedError, check
from adreno_sim.compiler.importers.inputs import seeded_inputs
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytestmark = [pytest.mark.tvm, pytest.mark.skipif(tvm_series() != "0.27", reason="some of it is mended in 0.27 alone")]

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def onnx_model(nodes, shape, results, held, dtype=FLOAT):
    outputs = [helper.make_tensor_value_info(name, kind, size) for name, kind, size in results]
    x = helper.make_tensor_value_info("x", dtype, shape)
    graph = helper.make_graph(nodes, "m", [x], outputs, [numpy_helper.from_array(a, n) for n, a in held.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def top_k(axis, k, largest=1, shape=(3, 40), is_sorted=1):
    """The k largest after Relu, which leaves many equal values: ONNX takes those with the smaller index."""
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("TopK", ["y", "k"], ["values", "indices"], axis=axis, largest=largest, sorted=is_sorted),
    ]
    sizes = [k if a == axis % len(shape) else size for a, size in enumerate(shape)]
    return onnx_model(nodes, shape, [("values", FLOAT, sizes), ("indices", INT64, sizes)], {"k": np.array([k])})


def cum_sum(axis, exclusive=0, reverse=0, dtype=FLOAT):
    node = helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
    return onnx_model([node], (3, 40), [("y", dtype, (3, 40))], {"axis": np.array(axis)}, dtype)


MODELS = {
    "topk": lambda: top_k(-1, 30),
    "topk smallest along the first axis": lambda: top_k(0, 2, largest=0),
    "cumsum": lambda: cum_sum(1),
    "cumsum backwards, exclusive": lambda: cum_sum(0, 1, 1),
    "topk of 300": lambda: top_k(-1, 10, shape=(2, 300)),
    "topk of channels": lambda: top_k(1, 3, shape=(1, 8, 5, 6)),
    "cumsum of integers": lambda: cum_sum(1, dtype=INT64),
    "cumsum along the first axis": lambda: cum_sum(0),
    "cumsum exclusive": lambda: cum_sum(1, 1),
    "cumsum from the end": lambda: cum_sum(-1, 0, 1),
}


def all_are_judged(report):
    return {kernel.status for kernel in report.kernels} <= {"ok", "part"}


def cases(names, default):
    """Each name on both targets; all but `default` are slow."""
    found = [(name, target) for name in names for target in ("buffer", "texture")]
    return [pytest.param(*case, marks=[] if case in default else [pytest.mark.slow]) for case in found]


@pytest.mark.parametrize(("name", "target"), cases(MODELS, [("topk", "texture"), ("cumsum backwards, exclusive", "buffer")]))
def test_onnx_operators_are_right(name, target):
    report = check(MODELS[name](), target=target)
    assert report.ok
    assert not report.findings
    assert all_are_judged(report)
    assert {(output.reference, output.ok) for output in report.outputs} == {("TVM llvm", True), ("ONNX Runtime", True)}


def test_what_tvms_importer_does_not_take_is_its_limit():
    with pytest.raises(UnsupportedError, match=r"ONNX operator TopK .*TVM's importer refuses it: TopK sorted must be 1"):
        check(top_k(-1, 3, is_sorted=0))


ROWS = ("x", (2, 300), "float32")
OPERATORS = {
    "sort": lambda x: relax.op.sort(x, axis=1, descending=True),
    "argsort": lambda x: relax.op.argsort(x, axis=0),
    "cumprod": lambda x: relax.op.cumprod(x, axis=1),
    "bucketize": lambda x: relax.op.bucketize(x, relax.const(np.array([-1, 0, 1], np.float32))),
}


@pytest.mark.parametrize(("name", "target"), cases(OPERATORS, []))
def test_relax_operators_are_right(name, target):
    report = check(one_block(OPERATORS[name], ROWS), target=target)
    assert report.ok
    assert not report.findings
    assert [output.ok for output in report.outputs] == [True]
    assert all_are_judged(report)


def sampling():
    def body(prob, numbers, rows):
        return relax.op.multinomial_from_uniform(prob, numbers, rows)

    return one_block(body, ("prob", (2, 300), "float32"), ("numbers", (3, 1), "float32"), ("rows", (3, 1), "int64"))


@pytest.mark.parametrize(
    ("target", "checks"),
    [("texture", "bounds"), *(pytest.param(target, "full", marks=pytest.mark.slow) for target in ("texture", "buffer"))],
)
def test_samples_of_generated_distributions_are_right(target, checks):
    report = check(sampling(), target=target, checks=checks)
    assert report.ok
    assert not report.findings
    assert [output.ok for output in report.outputs] == [True]
    assert all_are_judged(report)


def test_distributions_are_generated_as_such():
    inputs = seeded_inputs(load_model(sampling()))
    np.testing.assert_allclose(inputs["prob"].sum(axis=1), 1, rtol=1e-5)
    assert (inputs["prob"] >= 0).all()
    assert (inputs["numbers"] >= 0).all()
    assert (inputs["numbers"] < 1).all()
    assert set(inputs["rows"].flat) <= {0, 1}


def test_a_row_that_is_none_is_refused():
    inputs = seeded_inputs(load_model(sampling()))
    inputs["rows"][2, 0] = 2
    with pytest.raises(AdrenoSimError, match="multinomial_from_uniform from 2 distributions"):
        check(sampling(), inputs, target="buffer")
