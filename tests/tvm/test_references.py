"""TVM's llvm code, which judges every kernel, agrees with NumPy on the main operators; ONNX Runtime agrees with both."""

import numpy as np
import numpy_operators as operators
import pytest

pytest.importorskip("tvm")
from tvm import relax

import adreno_sim
from adreno_sim import AdrenoSimError
from adreno_sim.compiler.importers.onnx_file import take_model
from adreno_sim.golden import model_reference
from adreno_sim.results.comparison import compare
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = pytest.mark.tvm
op = relax.op.nn


def draw(*shapes):
    generator = np.random.default_rng(len(shapes) + sum(shapes[0]))
    return [generator.standard_normal(shape).astype("float32") for shape in shapes]


def run(build, arrays):
    """One Relax function of the arrays, on TVM's llvm target."""
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(a.shape, "float32")) if hasattr(relax, "TensorStructInfo")
              else relax.Var(f"x{i}", relax.TensorType(a.shape, "float32")) for i, a in enumerate(arrays)]  # fmt: skip
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.normalize(build(*params)))
    (result,) = model_reference.ModelReference(builder.get()).run(arrays)
    return result


CASES = {
    "conv2d": (
        lambda x, w: op.conv2d(x, w, strides=(2, 1), padding=(1, 2), dilation=(1, 2)),
        lambda x, w: operators.conv2d(x, w, (2, 1), (1, 2), (1, 2)),
        [(2, 6, 9, 11), (8, 6, 3, 3)],
    ),
    "conv2d_groups": (
        lambda x, w: op.conv2d(x, w, padding=(1, 1), groups=3),
        lambda x, w: operators.conv2d(x, w, padding=(1, 1), groups=3),
        [(1, 6, 7, 5), (9, 2, 3, 3)],
    ),
    "conv2d_depthwise": (
        lambda x, w: op.conv2d(x, w, groups=4),
        lambda x, w: operators.conv2d(x, w, groups=4),
        [(1, 4, 8, 8), (4, 1, 3, 3)],
    ),
    "max_pool2d": (
        lambda x: op.max_pool2d(x, (3, 2), strides=(2, 2), padding=(1, 1)),
        lambda x: operators.max_pool2d(x, (3, 2), (2, 2), (1, 1)),
        [(1, 4, 10, 9)],
    ),
    "avg_pool2d": (
        lambda x: op.avg_pool2d(x, (3, 3), strides=(2, 1), padding=(1, 1)),
        lambda x: operators.avg_pool2d(x, (3, 3), (2, 1), (1, 1)),
        [(1, 4, 10, 9)],
    ),
    "avg_pool2d_with_padding": (
        lambda x: op.avg_pool2d(x, (3, 3), padding=(1, 1), count_include_pad=True),
        lambda x: operators.avg_pool2d(x, (3, 3), padding=(1, 1), count_include_pad=True),
        [(1, 4, 6, 6)],
    ),
    "softmax": (lambda x: op.softmax(x, axis=1), lambda x: operators.softmax(x, 1), [(3, 17, 5)]),
    "layer_norm": (
        lambda x, g, b: op.layer_norm(x, g, b, axes=[-2, -1]),
        lambda x, g, b: operators.layer_norm(x, g, b, (-2, -1)),
        [(3, 8, 9), (8, 9), (8, 9)],
    ),
    "matmul": (relax.op.matmul, operators.matmul, [(2, 5, 7), (2, 7, 6)]),
}


@pytest.mark.parametrize("name", CASES)
def test_tvm_llvm_agrees_with_numpy(name):
    build, expected, shapes = CASES[name]
    arrays = draw(*shapes)
    result = compare(run(build, arrays), expected(*arrays))
    assert result.ok, result
    assert not result.uninformative
    assert result.max_abs < 1e-5, result


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_is_that_of_inference(training):
    """Whatever its attribute says, as on the device: TVM's Adreno pipeline decomposes operators for inference."""
    data, gamma, beta, mean, variance = draw((2, 5, 4, 4), (5,), (5,), (5,), (5,))
    variance = np.abs(variance) + 0.5
    build = lambda *a: relax.TupleGetItem(op.batch_norm(*a, axis=1, training=training), 0)  # noqa: E731
    got = run(build, [data, gamma, beta, mean, variance])
    found = compare(got, operators.batch_norm(data, gamma, beta, mean, variance))
    assert found.ok
    assert not found.uninformative


def onnx_conv():
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.numpy_helper.from_array
    (weight,) = draw((4, 3, 3, 3))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Softmax", ["c"], ["y"], axis=1)]
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in
              (("x", [1, 3, 6, 6]), ("y", [1, 4, 6, 6]))]  # fmt: skip
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [tensor(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), weight


@pytest.mark.skipif(not model_reference.has_onnxruntime(), reason="ONNX Runtime is not installed")
def test_onnxruntime_agrees_with_numpy_and_refuses_in_one_line():
    model, weight = onnx_conv()
    (data,) = draw((1, 3, 6, 6))
    (got,) = model_reference.run_onnx(take_model(model), {"x": data, "unknown": data})
    found = compare(got, operators.softmax(operators.conv2d(data, weight, padding=(1, 1)), 1))
    assert found.ok
    assert not found.uninformative
    model.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(AdrenoSimError, match=r"^ONNX Runtime: .*NoSuchOperator") as raised:
        model_reference.run_onnx(take_model(model), {"x": data})
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(not model_reference.has_onnxruntime(), reason="ONNX Runtime is not installed")
def test_a_model_whose_file_format_is_too_new_for_onnxruntime_is_judged_by_it_too(tmp_path):
    onnx = pytest.importorskip("onnx")
    sizes = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 8])
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 8])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [sizes], [result])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, ir_version=99, opset_imports=opset), tmp_path / "new.onnx")
    report = adreno_sim.check(tmp_path / "new.onnx")
    assert report.ok
    assert [output.reference for output in report.outputs] == ["TVM llvm", "ONNX Runtime"]
    assert report.unchecked == [LEVEL_BOUNDS]
