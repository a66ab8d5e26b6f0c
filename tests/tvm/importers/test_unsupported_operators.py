"""What TVM does not compile is refused in a line: operator, node, whose limit it is, what to do next."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from relax_models import convolutions

from adreno_sim.base.errors import UncompiledError, UnsupportedError
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.reduce_failure.beginnings import RelaxBeginnings
from adreno_sim.compiler.reduce_failure.search import find_culprit
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytestmark = pytest.mark.tvm

IMAGE = [1, 4, 8, 8]


def model(nodes, inputs=(("x", IMAGE),), constants=(), opset=17):
    """An ONNX model; inputs: name, shape and maybe type."""
    infos = [helper.make_tensor_value_info(name, *(kind or [TensorProto.FLOAT]), shape) for name, shape, *kind in inputs]
    outputs = [onnx.ValueInfoProto(name=name) for name in nodes[-1].output]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "g", infos, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def weight(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def node(kind, *inputs, name="n1", **attributes):
    return helper.make_node(kind, [*inputs], ["y"], name=name, **attributes)


CONV = helper.make_node("Conv", ["x", "w"], ["c"], name="first", pads=[1, 1, 1, 1])
KERNEL = ("w", weight(8, 4, 3, 3))

IMPORT = {
    "lacking": (model([node("Det", "x")], [("x", [2, 3, 3])]), "Det", "does not import it"),
    "channels": (model([node("Conv", "x", "w")], constants=[("w", weight(8, 5, 3, 3))]), "Conv", "TVM's importer refuses it"),
    "pads": (model([node("Pad", "x", "p")], [("x", IMAGE), ("p", [8], TensorProto.INT64)]), "Pad", "TVM's importer refuses it"),
    "k": (model([node("TopK", "x", "k")], [("x", IMAGE), ("k", [1], TensorProto.INT64)]), "TopK", "TVM's importer refuses it"),
}
IMPORT["k"][0].graph.node[0].output.append("i")

LOWER = {
    "indices": (model([node("NonZero", "x")]), "texture", "NonZero"),
    "indices in buffers": (model([node("NonZero", "x")]), "buffer", "NonZero"),
    "groups": (
        model([CONV, node("ReduceL2", "c", axes=[1]), helper.make_node("Relu", ["y"], ["z"], name="last")], constants=[KERNEL]),
        "texture",
        "ReduceL2",
    ),
}


@pytest.mark.parametrize("case", IMPORT)
def test_what_the_importer_refuses(case):
    source, operator, whose = IMPORT[case]
    with pytest.raises(UnsupportedError) as refused:
        compile_model(source, target="buffer")
    text = str(refused.value)
    assert text.startswith(f"unsupported: ONNX operator {operator} (node n1): ")
    assert whose in text
    assert "; next: " in text
    assert "\n" not in text


@pytest.mark.skipif(tvm_series() != "0.27", reason="what fails, and where, differs between versions")
@pytest.mark.parametrize("case", LOWER)
def test_what_lowering_does_not_take(case):
    source, target, operator = LOWER[case]
    with pytest.raises(UncompiledError) as refused:
        compile_model(source, target=target)
    text = str(refused.value)
    assert f"; it begins with ONNX operator {operator} (node n1); next: " in text
    assert "\n" not in text
    assert "TVM's fixed pipeline fails" in text or "adreno-sim does not have" in text
    assert ("--target buffer, where it compiles" in text) == (case == "groups")


def test_what_tvms_own_pipeline_leaves_as_it_is():
    source = model([node("CumSum", "x", "a")], constants=[("a", np.array(1))])
    with pytest.raises(UncompiledError, match=r"TVM's pipeline leaves .*it begins with ONNX operator CumSum \(node n1\); next: "):
        compile_model(source, target="buffer", pipeline="stock")


def test_a_type_that_is_not_here():
    source = model([node("Add", "x", "x")], [("x", [4, 4], TensorProto.BFLOAT16)])
    with pytest.raises(UnsupportedError, match="x is bfloat16: adreno-sim has no such elements; make it float16 or float32"):
        compile_model(source, target="buffer")


def test_the_operator_of_a_relax_module_is_found_by_bisection():
    tried = []

    def attempt(module):
        tried.append(module)
        if "R.nn.max_pool2d" in module.script():
            raise UncompiledError("fails")

    culprit = find_culprit(RelaxBeginnings(convolutions()), attempt)
    assert culprit is not None
    assert culprit.name.startswith("relax.nn.max_pool2d (which gives lv")
    assert "R.nn.max_pool2d" in culprit.module.script()
    assert culprit.module.script().count("R.nn.conv2d") == 1
    assert len(tried) <= 4


def test_nothing_is_blamed_where_every_beginning_compiles():
    assert find_culprit(RelaxBeginnings(convolutions()), lambda module: None) is None
