"""ONNX files whose weights go past protobuf: the same values as ONNX's own reader gives, the same refusals, and little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.importers import onnx_bytes
from adreno_sim.compiler.importers.onnx_file import read_onnx, take_model
from adreno_sim.memory import spilled

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(0)
LARGE = (300, 250)


def draw(dtype: Any, shape: tuple[int, ...] = LARGE) -> np.ndarray:
    return (RNG.standard_normal(shape) * 50).astype(dtype)


WEIGHTS = {
    "float": numpy_helper.from_array(draw("float32"), "float"),
    "half": numpy_helper.from_array(draw("float16"), "half"),
    "small": numpy_helper.from_array(draw("float32", (3,)), "small"),
    "bytes": numpy_helper.from_array(draw("int8"), "bytes"),
    "flags": numpy_helper.from_array(draw("float32") > 0, "flags"),
    "bfloat": numpy_helper.from_array(draw(ml_dtypes.bfloat16), "bfloat"),
    "nibbles": numpy_helper.from_array(RNG.integers(-8, 8, LARGE).astype(ml_dtypes.int4), "nibbles"),
    "typed": helper.make_tensor("typed", TensorProto.FLOAT, LARGE, draw("float32").reshape(-1).tolist()),
}


def model() -> onnx.ModelProto:
    """A graph with all WEIGHTS, one more in a Constant, and none of them used twice."""
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in WEIGHTS]
    nodes.append(helper.make_node("Constant", [], ["constant"], value=numpy_helper.from_array(draw("float32"))))
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = helper.make_graph(nodes, "g", [], outputs, list(WEIGHTS.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def check_same(path: Path) -> None:
    """All initialisers hold what ONNX's reader reads, the rest of the graph is as it says."""
    expected, found = onnx.load(path), read_onnx(path)
    for theirs, ours in zip(expected.graph.initializer, found.proto.graph.initializer, strict=True):
        array = numpy_helper.to_array(theirs)
        got = found.arrays.array(ours)
        assert (got.dtype, got.shape, ours.name) == (array.dtype, array.shape, theirs.name)
        assert got.tobytes() == array.tobytes(), ours.name
    for proto in (expected, found.proto):
        del proto.graph.initializer[:]
    assert found.proto == expected


@pytest.mark.parametrize("outside", [None, 0, 1024])
@pytest.mark.parametrize("least", [spilled.LEAST, 1 << 10])
def test_the_same_as_onnx_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outside: int | None, least: int) -> None:
    """outside: bytes from which tensors lie in a file beside the model's. least: from which they lie in one without a name."""
    monkeypatch.setattr(spilled, "LEAST", least)
    path = tmp_path / "m.onnx"
    kept = {} if outside is None else {"save_as_external_data": True, "location": "w.bin", "size_threshold": outside}
    onnx.save(model(), path, convert_attribute=outside == 0, **kept) if kept else onnx.save(model(), path)
    check_same(path)


def test_large_weights_lie_beside_the_graph() -> None:
    found = take_model(model())
    assert {tensor.name for tensor, _ in found.arrays.of(found.proto)} == {"float", "half", "bytes", "flags", "typed"}
    assert len(found.proto.SerializeToString()) < 700_000  # the bfloats, the nibbles, and the Constant


@pytest.mark.parametrize("cut", [0.3, 0.7, 0.99])
@pytest.mark.parametrize("text", [b"", b"\x0b", b"not a model" * 9])
def test_what_is_no_model_is_refused(tmp_path: Path, cut: float, text: bytes) -> None:
    path = tmp_path / "m.onnx"
    content = model().SerializeToString()
    path.write_bytes(text or content[: int(len(content) * cut)])
    with pytest.raises(AdrenoSimError, match=r"m\.onnx: not (a readable|an) ONNX model"):
        read_onnx(path)


def test_any_bytes_are_read_or_refused() -> None:
    """The reader of protobuf's encoding ends in ValueError, never in another error, and never takes what is not there."""
    import io

    content = bytearray(model().SerializeToString())
    for _ in range(300):
        broken = bytearray(content[: RNG.integers(1, 4000)])
        for place in RNG.integers(0, len(broken), 4):
            broken[place] = RNG.integers(0, 256)
        try:
            _, found = onnx_bytes.strip_weights(io.BytesIO(broken))
        except ValueError:
            continue
        assert all(place.start + place.nbytes <= len(broken) for place in found.values())


def beside(folder: Path, **entries: str) -> Path:
    """A model whose one weight refers to a file, as `entries` say; w.bin beside it and secret.bin above hold enough bytes."""
    (folder / "models").mkdir()
    array = draw("float32")
    for file in (folder / "models" / "w.bin", folder / "secret.bin"):
        file.write_bytes(array.tobytes())
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=LARGE, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value.format(folder=folder))
    node = helper.make_node("Identity", ["w"], ["y"])
    graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("y")], [tensor])
    path = folder / "models" / "m.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


@pytest.mark.parametrize(
    "entries",
    [
        {"location": "../secret.bin"},
        {"location": "{folder}/secret.bin"},
        {"location": "link.bin"},
        {"location": "none.bin"},
        {"location": ""},
        {"location": "w.bin", "offset": "299997"},
        {"location": "w.bin", "offset": "999999999"},
        {"location": "w.bin", "offset": "-4"},
        {"location": "w.bin", "offset": "4", "length": "300000"},
        {"location": "w.bin", "length": "999999999"},
        {"location": "w.bin", "length": "x"},
    ],
)
def test_references_that_lead_elsewhere_are_refused_as_by_onnx(tmp_path: Path, entries: dict[str, str]) -> None:
    path = beside(tmp_path, **entries)
    (path.parent / "link.bin").symlink_to(tmp_path / "secret.bin")
    try:
        array = numpy_helper.to_array(onnx.load(path).graph.initializer[0])
    except Exception as error:
        with pytest.raises(AdrenoSimError) as refused:
            adreno_sim.check(path)
        assert str(error).splitlines()[0][:40] in str(refused.value) or "broken ONNX graph" in str(refused.value)
    else:
        pytest.fail(f"ONNX reads it: {array.shape}")


@pytest.mark.parametrize("entries", [{}, {"offset": "0"}, {"length": "300000"}, {"offset": "0", "length": "300000"}])
def test_references_that_are_right_are_read(tmp_path: Path, entries: dict[str, str]) -> None:
    check_same(beside(tmp_path, location="w.bin", **entries))


IMPORT = """
import sys
from adreno_sim.compiler.importers.load import load_model
load_model(sys.argv[1])
print(int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) * 1024)  # ru_maxrss begins at the parent's
"""


@pytest.mark.parametrize(
    ("megabytes", "outside"), [(48, False), *(pytest.param(200, outside, marks=pytest.mark.slow) for outside in (False, True))]
)
def test_an_import_holds_weights_once(tmp_path: Path, megabytes: int, outside: bool) -> None:
    """In a process of its own: at most one and a half times the weights, and 300 MB for TVM and ONNX themselves."""
    columns = 1 << 20
    weight = np.random.default_rng(0).standard_normal((megabytes // 4, columns), np.float32)
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, columns])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, len(weight)])]
    graph = helper.make_graph([node], "g", inputs, outputs, [numpy_helper.from_array(weight, "w")])
    path = tmp_path / "m.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path, save_as_external_data=outside)
    search = os.pathsep.join(filter(None, [str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": search}
    command = [sys.executable, "-c", IMPORT, str(path)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(ran.stdout) <= 1.5 * weight.nbytes + 300e6
