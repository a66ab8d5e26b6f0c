"""ONNX models in which every name is hostile: what TVM and this project say of them does no harm."""

from __future__ import annotations

from pathlib import Path

import hostile_text
import pytest
from hostile_text import PARAMS, TEXTS

from adreno_sim.cli.main import main

pytestmark = [pytest.mark.e2e, pytest.mark.tvm]


@pytest.fixture(params=PARAMS)
def model(request, tmp_path, monkeypatch):
    """The path of a model; every name in it ends with the text, without what is no text."""
    onnx = pytest.importorskip("onnx")
    text = "".join(char for char in TEXTS[request.param] if not "\ud800" <= char <= "\udfff")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    names = {name: f"{text} {name}" for name in ("x", "w", "a", "b", "y")}
    nodes = [
        helper.make_node("Conv", [names["x"], names["w"]], [names["a"]], name=f"{text} conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", [names["a"]], [names["b"]], name=f"{text} relu", doc_string=text),
        helper.make_node("Add", [names["b"], names["a"]], [names["y"]], name=text),
    ]
    shape = helper.make_tensor_value_info
    weight = helper.make_tensor(names["w"], floats, [4, 4, 3, 3], [0.1] * 144)
    inputs, outputs = [shape(names["x"], floats, [1, 4, 8, 8])], [shape(names["y"], floats, [1, 4, 8, 8])]
    graph = helper.make_graph(nodes, text, inputs, outputs, [weight])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, producer_name=text)
    monkeypatch.chdir(tmp_path)
    onnx.save(made, "model.onnx")
    return "model.onnx"


COMMANDS = {
    "check": ("--json", "out.json", "--html", "out.html", "--sarif", "out.sarif", "--notes"),
    "footprint": ("--json", "out.json", "--html", "out.html", "--svg", "out.svg", "--markdown", "out.md"),
    "scopes": ("--html", "out.html", "--all"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model(model, capfd, command):
    code = main([command, model, *COMMANDS[command]])
    out, err = capfd.readouterr()
    assert code in (0, 1, 2, 3), err
    for said in (out, err):
        hostile_text.check_printed(said)
        assert "Traceback (most" not in said
        assert "internal error" not in said
    hostile_text.check_outputs()


def test_a_test_file_for_a_model(model, capfd):
    Path(model).rename("x\"; import os; os.abort() #'\\n\n.onnx")
    (path,) = Path().glob("*.onnx")
    code = main(["init", str(path), "-o", "test_x.py"])
    hostile_text.check_printed("".join(capfd.readouterr()))
    assert code == 0
    file = Path("test_x.py").resolve()
    names = {"__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    assert names["MODEL"] == Path.cwd() / path
    assert main(["init", str(path), "-o", "test_y.py", "--workflow", "github"]) == 2
    assert "expected a path of letters" in capfd.readouterr().err
