"""Operators of networks that people have, against ONNX Runtime, which runs what the file says."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import adreno_sim
from adreno_sim.compiler.importers.onnx_file import take_model
from adreno_sim.golden.model_reference import run_onnx

pytestmark = pytest.mark.tvm

RANDOM = np.random.default_rng(4)
OLD = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2]) < (1, 24)
"""Python 3.10's ONNX Runtime, 1.23: it knows no opset 24, and masks what is causal before it caps the scores, not after."""
HEADS = {"q": (1, 4, 5, 8), "k": (1, 2, 6, 8), "v": (1, 2, 6, 8)}
IMAGE = {"x": (1, 4, 9, 10)}
SCALES = {
    "xs": np.float32(0.03), "xz": np.uint8(128), "ys": np.float32(0.05), "yz": np.uint8(120),
    "ws": np.array([0.01, 0.02] * 3, "float32"), "wz": np.zeros(6, "int8"),
}  # fmt: skip


def draw(*shape: int) -> np.ndarray:
    return (RANDOM.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype("float32")


def model(nodes: list[Any], inputs: dict[str, tuple[int, ...]], constants: dict[str, Any], opset: int) -> Any:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def attend(*more: str, opset: int = 23, **attributes: Any) -> Any:
    constants = {"m": np.tril(np.ones((5, 6), bool))} if more else {}
    return model([helper.make_node("Attention", ["q", "k", "v", *more], ["y"], **attributes)], HEADS, constants, opset)


def quantised(per_channel: bool) -> Any:
    """A convolution of bytes with a bias, between floats."""
    scales = SCALES if per_channel else {**SCALES, "ws": np.float32(0.01), "wz": np.int8(0)}
    constants = {**scales, "w": RANDOM.integers(-100, 100, (6, 4, 3, 3)).astype("int8"), "b": np.arange(6, dtype="int32") * 100}
    operands = ["xq", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("QLinearConv", operands, ["yq"], pads=[1, 1, 1, 1]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    return model(nodes, IMAGE, constants, 13)


def beside_convolution(*nodes: Any, opset: int = 18, **constants: Any) -> Any:
    """Nodes from "c", six channels of a convolution, to "y"."""
    first = helper.make_node("Conv", ["x", "first"], ["c"], pads=[1, 1, 1, 1])
    return model([first, *nodes], IMAGE, {"first": draw(6, 4, 3, 3), **constants}, opset)


def resize(**attributes: Any) -> Any:
    sizes = np.array([1, 6, 7, 23])
    return beside_convolution(helper.make_node("Resize", ["c", "", "", "sizes"], ["y"], **attributes), sizes=sizes)


def whole(weights: np.ndarray) -> Any:
    """A convolution of bytes to whole numbers, as dynamic quantisation writes it."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "scale", "zero"]),
        helper.make_node("ConvInteger", ["xq", "w", "zero"], ["sums"], name="whole", pads=[1, 1, 1, 1]),
        helper.make_node("Cast", ["sums"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["floats", "scale"], ["y"]),
    ]
    return model(nodes, IMAGE, {"w": weights}, 13)


BYTES = RANDOM.integers(-100, 100, (6, 4, 3, 3)).astype("int8")


CASES: dict[str, Any] = {
    "attention": attend,
    "attention-causal": lambda: attend(is_causal=1, softcap=2.0),
    "attention-mask": lambda: attend("m", scale=0.5),
    "celu": lambda: beside_convolution(helper.make_node("Celu", ["c"], ["y"], alpha=0.5)),
    "quantised": lambda: quantised(False),
    "quantised-channels": lambda: quantised(True),
    "resize-align-corners": lambda: resize(mode="linear", coordinate_transformation_mode="align_corners"),
    "resize-half-pixel": lambda: resize(mode="linear"),
    "last-squeeze": lambda: beside_convolution(
        helper.make_node("GlobalAveragePool", ["c"], ["g"]), helper.make_node("Squeeze", ["g", "at"], ["y"]), at=np.array([-1])
    ),
    "layer-norm": lambda: beside_convolution(
        helper.make_node("LayerNormalization", ["c", "g"], ["y"], axis=1), g=draw(6, 9, 10)
    ),
    "row": lambda: beside_convolution(helper.make_node("Add", ["c", "row"], ["y"]), row=draw(10)),
    "hard-swish": lambda: beside_convolution(helper.make_node("HardSwish", ["c"], ["y"])),
    "lp-norm": lambda: beside_convolution(helper.make_node("LpNormalization", ["c"], ["y"], axis=1)),
    "lp-norm-1": lambda: beside_convolution(helper.make_node("LpNormalization", ["c"], ["y"], p=1)),
    "rotary": lambda: model(
        [helper.make_node("RotaryEmbedding", ["q", "cos", "sin"], ["y"])],
        {"q": (1, 2, 5, 8)}, {"cos": draw(1, 5, 4), "sin": draw(1, 5, 4)}, 23,
    ),
    "scatter": lambda: beside_convolution(
        helper.make_node("ScatterElements", ["c", "at", "updates"], ["y"], axis=2),
        at=RANDOM.permutation(9)[None, None, :4, None].repeat(6, 1).repeat(10, 3), updates=draw(1, 6, 4, 10),
    ),
    "swish": lambda: beside_convolution(helper.make_node("Swish", ["c"], ["y"], alpha=1.5), opset=24),
    "whole": lambda: whole(BYTES),
    "gelu": lambda: beside_convolution(helper.make_node("Gelu", ["c"], ["y"], approximate="tanh"), opset=20),
}  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.each_value
@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("name", CASES)
def test_operators_are_right_on_both_targets(name: str, target: str) -> None:
    report = adreno_sim.check(CASES[name](), target=target)
    judged = "ONNX Runtime" in {output.reference for output in report.outputs}
    refused = OLD and any("ONNX Runtime" in why and "Opset 24" in why for why in report.unchecked)
    assert report.ok, report
    assert judged or (name == "swish" and refused), report


@pytest.mark.parametrize("name", ["attention", "attention-causal", "attention-mask", "celu", "quantised", "quantised-channels"])
def test_what_is_expanded_computes_the_same(name: str) -> None:
    from adreno_sim.compiler.importers.onnx_functions import expand_operators
    from adreno_sim.compiler.importers.onnx_graph import simplify
    from adreno_sim.golden.onnx_model import LargeArrays

    proto, arrays = CASES[name](), LargeArrays()
    feeds = {value.name: draw(*(dim.dim_value for dim in value.type.tensor_type.shape.dim)) for value in proto.graph.input}
    if OLD and name == "attention-causal":
        expected = ReferenceEvaluator(proto).run(None, feeds)[0]
    else:
        expected = run_onnx(take_model(proto), feeds)[0]
    known = {node.op_type for node in proto.graph.node} - {"Attention", "Celu", "QLinearConv"}
    plain = simplify(expand_operators(simplify(proto, arrays), arrays, known), arrays)
    assert not {"Attention", "Celu", "QLinearConv"} & {node.op_type for node in plain.graph.node}
    found = run_onnx(take_model(plain), feeds)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 + 0.051 * (name.startswith("quantised")))


def test_sums_that_floats_do_not_hold_are_refused() -> None:
    with pytest.raises(adreno_sim.UnsupportedError, match=r"ConvInteger \(node whole\)"):
        adreno_sim.check(whole(np.full((6, 4, 30, 30), 127, "int8")), target="buffer")


def test_functions_that_opencl_lacks_are_refused_by_name() -> None:
    arc = beside_convolution(helper.make_node("Atan", ["c"], ["y"], name="arc"))
    with pytest.raises(adreno_sim.UnsupportedError, match=r"calls atanf, .*ONNX operator Atan \(node arc\)"):
        adreno_sim.check(arc, target="buffer", pipeline="stock")
    assert adreno_sim.check(beside_convolution(helper.make_node("Sin", ["c"], ["y"])), target="buffer", pipeline="stock").ok
    assert adreno_sim.check(arc, target="buffer").ok


def test_empty_parts_are_left_out() -> None:
    """RotaryEmbedding is defined by a Split into everything and nothing."""
    from adreno_sim.compiler.importers.onnx_graph import simplify
    from adreno_sim.golden.onnx_model import LargeArrays

    def split(*sizes: int, kept: tuple[str, ...]) -> list[str]:
        parts = [f"p{number}" for number in range(len(sizes))]
        nodes = [helper.make_node("Split", ["x", "sizes"], parts, axis=1), helper.make_node("Concat", kept, ["y"], axis=1)]
        plain = simplify(model(nodes, IMAGE, {"sizes": np.array(sizes)}, 18), LargeArrays())
        feeds = {"x": draw(*IMAGE["x"])}
        (found,) = onnxruntime.InferenceSession(plain.SerializeToString()).run(None, feeds)
        (expected,) = onnxruntime.InferenceSession(model(nodes, IMAGE, {"sizes": np.array(sizes)}, 18).SerializeToString()).run(
            None, feeds
        )
        np.testing.assert_array_equal(found, expected)
        return [node.op_type for node in plain.graph.node]

    assert split(4, 0, kept=("p0", "p1")) == ["Identity"]
    assert split(1, 0, 3, kept=("p2", "p1", "p0")) == split(1, 3, kept=("p1", "p0")) == ["Split", "Concat"]


def test_modes_that_tvm_reads_otherwise_are_refused() -> None:
    def rearrange(**mode: str) -> Any:
        node = helper.make_node("SpaceToDepth", ["x"], ["y"], name="rearrange", blocksize=2, **mode)
        return model([node], {"x": (1, 3, 4, 6)}, {}, 13)

    with pytest.raises(adreno_sim.UnsupportedError, match=r"SpaceToDepth \(node rearrange\) with mode=CRD"):
        adreno_sim.check(rearrange(mode="CRD"), target="buffer")
    assert adreno_sim.check(rearrange(), target="buffer").ok


def test_results_that_the_importer_makes_up_are_computed() -> None:
    node = helper.make_node("LayerNormalization", ["c", "g"], ["n", "mean", "deviation"], axis=1)
    total = helper.make_node("Add", ["n", "mean"], ["y"])
    report = adreno_sim.check(beside_convolution(node, total, g=draw(6, 9, 10)), target="buffer")
    assert report.ok, report
    assert "ONNX Runtime" in {output.reference for output in report.outputs}, report


def test_a_normalisation_in_training_is_refused() -> None:
    def normalise(**attributes: int) -> Any:
        ones = {name: np.ones(6, "float32") for name in ("scale", "bias", "mean", "variance")}
        more = ["m", "v"] if attributes else []
        node = helper.make_node("BatchNormalization", ["c", *ones], ["y", *more], name="norm", **attributes)
        return beside_convolution(node, **ones)

    with pytest.raises(adreno_sim.UnsupportedError, match=r"BatchNormalization \(node norm\) with training_mode=1.*model.eval"):
        adreno_sim.check(normalise(training_mode=1), target="buffer")
    assert adreno_sim.check(normalise(), target="buffer").ok


def test_what_is_known_is_left() -> None:
    from adreno_sim.compiler.importers.onnx_functions import expand_operators
    from adreno_sim.golden.onnx_model import LargeArrays

    proto = CASES["hard-swish"]()
    assert expand_operators(proto, LargeArrays(), {"Conv", "HardSwish"}) is proto
    assert isinstance(proto, onnx.ModelProto)


def infinities(**which: int) -> Any:
    """1 where there is an infinity that is asked for."""
    values = np.array([[np.inf], [0], [-np.inf]] * 3, "float32")
    nodes = [
        helper.make_node("Add", ["x", "values"], ["all"]),
        helper.make_node("IsInf", ["all"], ["found"], **which),
        helper.make_node("Cast", ["found"], ["y"], to=TensorProto.FLOAT),
    ]
    return model(nodes, IMAGE, {"values": values}, 20)


@pytest.mark.parametrize(
    "which", [{}, {"detect_negative": 0}, {"detect_positive": 0}, {"detect_negative": 0, "detect_positive": 0}]
)
def test_infinities_of_one_sign(which: dict[str, int]) -> None:
    report = adreno_sim.check(infinities(**which), target="buffer")
    assert report.ok, report
    assert "ONNX Runtime" in {output.reference for output in report.outputs}, report


@pytest.mark.parametrize(
    "attributes",
    [
        {"output_shape": [20, 21]},
        {"output_shape": [19, 22], "auto_pad": "SAME_UPPER"},
        {"output_shape": [17, 18]},
        {"output_shape": [1, 6, 19, 22], "dilations": [2, 1]},
        {"pads": [1, 0, 0, 1]},
    ],
)
def test_transposed_convolutions_of_a_given_shape(attributes: dict[str, Any]) -> None:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], **attributes)
    report = adreno_sim.check(model([node], IMAGE, {"w": draw(4, 6, 3, 3)}, 13), target="buffer")
    assert report.ok, report
    assert "ONNX Runtime" in {output.reference for output in report.outputs}, report


def test_the_mask_of_a_dropout_keeps_all() -> None:
    nodes = [
        helper.make_node("Dropout", ["x"], ["kept", "mask"]),
        helper.make_node("Cast", ["mask"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["kept", "ones"], ["y"]),
    ]
    report = adreno_sim.check(model(nodes, IMAGE, {}, 13), target="buffer")
    assert report.ok, report
    assert "ONNX Runtime" in {output.reference for output in report.outputs}, report


@pytest.mark.parametrize("training", [True, False])
def test_a_dropout_in_training_is_refused(training: bool) -> None:
    node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"], name="drop")
    source = model([node], IMAGE, {"ratio": np.float32(0.5), "training": np.bool_(training)}, 13)
    if training:
        with pytest.raises(adreno_sim.UnsupportedError, match=r"Dropout \(node drop\) with training_mode.*model.eval"):
            adreno_sim.check(source, target="buffer")
    else:
        assert adreno_sim.check(source, target="buffer").ok


def test_a_filter_that_the_importer_leaves_out_is_refused() -> None:
    def shrink(**attributes: int) -> Any:
        node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="shrink", mode="cubic", **attributes)
        return model([node], {"x": (1, 4, 8, 10)}, {"s": np.array([1, 1, 0.5, 0.5], "float32")}, 18)

    with pytest.raises(adreno_sim.UnsupportedError, match=r"Resize \(node shrink\) with antialias=1"):
        adreno_sim.check(shrink(antialias=1), target="buffer")
    assert adreno_sim.check(shrink(), target="buffer").ok


@pytest.mark.parametrize(("mode", "refused"), [("half_pixel", True), ("asymmetric", True), ("align_corners", False)])
def test_a_scale_that_the_importer_loses_is_refused(mode: str, refused: bool) -> None:
    """9 by a half are 4 of which coordinates are doubled; the importer takes them by 9 / 4."""
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="shrink", mode="linear", coordinate_transformation_mode=mode)
    source = model([node], IMAGE, {"s": np.array([1, 1, 0.5, 0.5], "float32")}, 18)
    if refused:
        with pytest.raises(adreno_sim.UnsupportedError, match=r"Resize \(node shrink\) with scales that give no whole sizes"):
            adreno_sim.check(source, target="buffer")
    else:
        assert adreno_sim.check(source, target="buffer").ok


@pytest.mark.parametrize("scales", [[1, 2, 1, 1], [2, 1, 2, 2]])
def test_a_resize_of_batch_or_channels_is_refused(scales: list[int]) -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="grow", mode="nearest")
    with pytest.raises(adreno_sim.UnsupportedError, match=r"Resize \(node grow\) of the batch or of channels"):
        adreno_sim.check(model([node], IMAGE, {"s": np.array(scales, "float32")}, 18), target="buffer")


@pytest.mark.parametrize(
    ("given", "values", "attributes"),
    [
        ("s", np.array([3, 2], "float32"), {"axes": [3, 2]}),
        ("sizes", np.array([20, 27]), {"axes": [3, 2]}),
        ("sizes", np.array([20, 27]), {"axes": [-1, -2], "keep_aspect_ratio_policy": "not_larger"}),
        ("sizes", np.array([27, 20]), {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}),
    ],
)
def test_a_resize_of_some_axes(given: str, values: np.ndarray, attributes: dict[str, Any]) -> None:
    inputs = ["x", "", "s"] if given == "s" else ["x", "", "", "sizes"]
    source = model([helper.make_node("Resize", inputs, ["y"], mode="nearest", **attributes)], IMAGE, {given: values}, 18)
    report = adreno_sim.check(source, target="buffer")
    assert report.ok, report
    assert "ONNX Runtime" in {output.reference for output in report.outputs}, report


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_clip_is_folded_where_its_operand_is_constant_in_the_end(target: str) -> None:
    """TVM makes functions of a Clip in halves, and folded them after they were bound to the target: "expected opencl"."""
    text = """<ir_version: 8, opset_import: ["" : 17]> case (float16[3, 1] x) => (float16[3, 1] z)
    <float16[3, 1] w = {14694, 45149, 47398}, int64[1] zero = {0}, int64[1] one = {1}, float16 lo = {46080}, float16 hi = {14848}>
    { empty = Slice(x, zero, zero, one)  all = Concat<axis = 1>(empty, w)  y = Clip(all, lo, hi)  z = Add(x, y) }"""
    report = adreno_sim.check(onnx.parser.parse_model(text), target=target)
    assert report.ok
    assert {output.reference for output in report.outputs} >= {"TVM llvm", "ONNX Runtime"}
