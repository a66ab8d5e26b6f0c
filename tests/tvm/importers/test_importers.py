"""Models in: ONNX files, TVMScript files, Relax modules; and one clear error for each that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from operators import OPERATORS

from adreno_sim import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.importers.inputs import make_inputs
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.importers.model import Model, ModelInput

pytestmark = pytest.mark.tvm


def save(path: Path, nodes: list[Any], shape: list[Any], name: str = "x") -> Path:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    proto = helper.make_model(helper.make_graph(nodes, "graph", inputs, outputs), opset_imports=[helper.make_opsetid("", 12)])
    proto.ir_version = 8
    onnx.save(proto, path)
    return path


def test_onnx_inputs_keep_their_order_and_get_valid_names(tmp_path: Path) -> None:
    file = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["gpu_0/data.0"], ["y"])], ["n", 3, 8, 8], "gpu_0/data.0")
    model = load_model(file)
    assert model.name == "m"
    assert model.inputs == (ModelInput("gpu_0_data_0", (1, 3, 8, 8), "float32"),)
    assert model.onnx is not None
    assert model.onnx.proto.graph.input[0].name == "gpu_0_data_0"


def test_the_file_is_not_changed_by_importing_it(tmp_path: Path) -> None:
    proto = onnx.load(save(tmp_path / "m.onnx", [helper.make_node("Dropout", ["x"], ["y"])], ["n", 3]))
    before = proto.SerializeToString()
    load_model(proto, {"x": (2, 3)})
    assert proto.SerializeToString() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "without a single node"),
        (b"not a model at all", "not a readable ONNX model"),
        (b"\x08\x07", "without a single node"),
    ],
)
def test_broken_onnx_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "broken.onnx"
    file.write_bytes(content)
    with pytest.raises(AdrenoSimError, match=message) as caught:
        load_model(file)
    assert "broken.onnx" in str(caught.value)


def test_a_truncated_file_is_an_error_not_a_crash(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.onnx", [helper.make_node("Relu", ["x"], ["y"])], [1, 3]).read_bytes()
    for length in range(1, len(whole), 7):
        (tmp_path / "cut.onnx").write_bytes(whole[:length])
        with pytest.raises(AdrenoSimError):
            load_model(tmp_path / "cut.onnx")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.onnx", "no such file"),
        (".", "is a folder"),
        ("m.txt", "expected a .onnx.*json$"),
        ("m.cl", "next: adreno-sim init .*m.cl"),
    ],
)
def test_paths_that_are_no_model(tmp_path: Path, name: str, message: str) -> None:
    for file in ("m.txt", "m.cl"):
        (tmp_path / file).write_text("hello")
    with pytest.raises(AdrenoSimError, match=message):
        load_model(tmp_path / name)


def test_an_unknown_operator_is_named_with_its_node(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Frobnicate", ["a"], ["y"], name="odd", domain="my.ops")]
    file = save(tmp_path / "m.onnx", nodes, [1, 3])
    with pytest.raises(UnsupportedError, match=r"unsupported: ONNX operator my\.ops\.Frobnicate \(node odd\)"):
        load_model(file)


def test_an_operator_tvm_lacks_is_named_with_its_node(tmp_path: Path) -> None:
    file = save(tmp_path / "m.onnx", [helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="lstm_1", hidden_size=2)], [1, 1, 2])
    with pytest.raises(UnsupportedError, match=r"ONNX operator LSTM \(node lstm_1\)"):
        load_model(file)


def test_a_node_tvm_cannot_convert_is_named(tmp_path: Path) -> None:
    file = save(tmp_path / "m.onnx", [helper.make_node("LRN", ["x"], ["y"], name="norm", size=3)], [1, 3])
    with pytest.raises((UnsupportedError, AdrenoSimError), match=r"LRN|norm"):
        load_model(file)


MODULE = """
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Small:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y: R.Tensor((2, 3), "float32") = R.add(x, x)
        return y
"""


def test_a_tvmscript_file(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(MODULE)
    model = load_model(tmp_path / "small.py")
    assert model.inputs == (ModelInput("x", (2, 3), "float32"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "expected one TVMScript module at top level, found none"),
        (MODULE + "Other = Small\n", "found Small, Other"),
        ("def f(:\n", "SyntaxError"),
        ("raise RuntimeError('no')\n", "RuntimeError: no"),
    ],
)
def test_python_files_without_a_module(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.py").write_text(text)
    with pytest.raises(AdrenoSimError, match=message):
        load_model(tmp_path / "m.py")


def test_a_module_needs_main() -> None:
    from adreno_sim.compiler.tvm_bridge.versions import import_tvm

    with pytest.raises(AdrenoSimError, match="no Relax function 'main'; its functions are none"):
        load_model(import_tvm().IRModule({}))


def test_other_objects_are_refused() -> None:
    with pytest.raises(AdrenoSimError, match="model of type int"):
        load_model(3)  # type: ignore[arg-type]


def test_symbolic_dimensions_can_be_bound_or_left() -> None:
    module = OPERATORS["symbolic_batch"]()
    assert load_model(module).inputs[0].symbols == ("n",)
    assert load_model(module, {"x0": (5, 20)}).inputs[0].shape == (5, 20)
    with pytest.raises(AdrenoSimError, match="shape 5x21 does not fit input 'x0', which is nx20"):
        load_model(module, {"x0": (5, 21)})
    with pytest.raises(AdrenoSimError, match="shape given for 'y', but the inputs are x0"):
        load_model(module, {"y": (5, 20)})


# Inputs

IMAGE = Model("m", None, (ModelInput("image", (1, 3, 6, 8), "float32"),))
PAIR = Model("m", None, (ModelInput("a", ("n", 4), "float32"), ModelInput("b", ("n", 2), "int64")))


def test_seeded_inputs_follow_seed_and_name() -> None:
    first, again, other = (make_inputs(PAIR, seed=seed) for seed in (1, 1, 2))
    assert first["a"].shape == (2, 4)
    assert first["b"].shape == (2, 2)
    assert first["a"].dtype == np.float32
    assert first["b"].dtype == np.int64
    np.testing.assert_array_equal(first["a"], again["a"])
    assert not np.array_equal(first["a"], other["a"])
    assert make_inputs(PAIR, shapes={"a": (7, 4)})["b"].shape == (7, 2)


def test_inputs_from_npz(tmp_path: Path) -> None:
    arrays = {"a": np.ones((3, 4), "float32"), "b": np.zeros((3, 2), "int32")}
    np.savez(tmp_path / "in.npz", **arrays)
    read = make_inputs(PAIR, tmp_path / "in.npz")
    assert list(read) == ["a", "b"]
    assert read["b"].dtype == np.int64


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.ones((3, 4), "float32")}, "inputs given: a; the model's are a, b"),
        ({"a": np.ones((3, 5), "float32"), "b": np.zeros((3, 2), "int64")}, "input 'a': expected nx4, got 3x5"),
        ({"a": np.ones((3, 4), "float32"), "b": np.zeros((3, 2), "float32")}, "input 'b': expected int64, got float32"),
    ],
)
def test_inputs_that_do_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "in.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(AdrenoSimError, match=message):
        make_inputs(PAIR, tmp_path / "in.npz")


def test_a_picture_is_resized_and_scaled(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (16, 12), (255, 0, 128)).save(tmp_path / "p.png")
    array = make_inputs(IMAGE, tmp_path / "p.png")["image"]
    assert array.shape == (1, 3, 6, 8)
    assert array.flags.c_contiguous
    np.testing.assert_allclose(array[0, :, 2, 3], [1.0, -1.0, 128 / 127.5 - 1], atol=1e-6)


def test_a_picture_in_channels_last_grey_and_bytes(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("L", (4, 5), 77).save(tmp_path / "p.png")
    grey = Model("m", None, (ModelInput("x", (1, 5, 4, 1), "uint8"),))
    np.testing.assert_array_equal(make_inputs(grey, tmp_path / "p.png")["x"], np.full((1, 5, 4, 1), 77))


@pytest.mark.parametrize(
    ("name", "message"), [("none.png", "no such file"), ("text.png", "not a readable picture"), ("text.npz", "npz")]
)
def test_files_that_are_no_input(tmp_path: Path, name: str, message: str) -> None:
    pytest.importorskip("PIL")
    for broken in ("text.png", "text.npz"):
        (tmp_path / broken).write_text("text")
    with pytest.raises(AdrenoSimError, match=message):
        make_inputs(IMAGE, tmp_path / name)


def test_a_picture_for_something_that_is_no_picture(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image").new("L", (4, 5)).save(tmp_path / "p.png")
    with pytest.raises(AdrenoSimError, match=r"expected 1xCxHxW or 1xHxWxC"):
        make_inputs(Model("m", None, (ModelInput("x", (1, 4, 5), "float32"),)), tmp_path / "p.png")
    with pytest.raises(AdrenoSimError, match=r"the model has inputs a, b; give a \.npz"):
        make_inputs(PAIR, tmp_path / "p.png")
