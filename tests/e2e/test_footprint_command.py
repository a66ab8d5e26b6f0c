"""`adreno-sim footprint` and `check --plan` on a small network compiled with TVM, through to equal outputs."""

import json

import numpy as np
import pytest

import adreno_sim
from adreno_sim.cli.main import main
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.plan.apply import replan
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run import vm

pytestmark = [pytest.mark.e2e, pytest.mark.tvm]


@pytest.fixture(scope="module")
def bundle(small_onnx, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "small.asim"
    compile_model(small_onnx).save(path)
    return path


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_model_from_onnx(small_onnx, capsys, tmp_path, target):
    out = tmp_path / "out.json"
    code = main(["footprint", str(small_onnx), "--planners", "all", "--target", target, "--max-ratio", "1.0", "--json", str(out)])
    said = capsys.readouterr().out
    assert code == 0, said
    data = json.loads(out.read_text())
    rows = {row["planner"]: row for row in data["planners"]}
    assert rows["arena"]["total"] == rows["arena"]["bound"] >= data["lower_bound"]
    assert rows["as compiled"]["total"] == rows["tvm-fixed"]["total"]  # what the fixed pipeline plans
    assert rows["tvm"]["total"] > rows["tvm-fixed"]["total"] if target == "texture" else True
    assert all(not row["violations"] for row in data["planners"])
    step = data["advice"]["next"]
    assert step["peak_before"] == rows["as compiled"]["peak"]
    assert step["peak"] == rows[step["planner"]]["peak"]
    told = "stays" if step["peak"] == step["peak_before"] else "is"
    assert f"the peak of a run {told} {step['peak']:,} bytes" in said


def test_stock_plans_what_planner_tvm_says(small_onnx, capsys, tmp_path):
    from adreno_sim.compiler.tvm_bridge.versions import tvm_series

    if tvm_series() == "0.25":
        pytest.skip("TVM 0.25's own pipeline does not compile this network")
    out = tmp_path / "out.json"
    assert main(["footprint", str(small_onnx), "--pipeline", "stock", "--planners", "tvm", "--json", str(out)]) == 0
    capsys.readouterr()
    rows = {row["planner"]: row for row in json.loads(out.read_text())["planners"]}
    assert rows["as compiled"]["total"] == rows["tvm"]["total"]
    assert rows["as compiled"]["causes"]["inflation"] > 0


@pytest.mark.parametrize("planner", ["tvm", "tvm-fixed", "arena", "unified", "tflite-objects", "optimal"])
def test_plans_change_no_bit(bundle, planner):
    if planner == "optimal":
        pytest.importorskip("ortools")
    model = compile_model(bundle)
    device = adreno_sim.open_device("sim:adreno-740")
    x = [np.random.default_rng(1).standard_normal(info.shape, np.float32) for info in model.inputs]
    expected = vm.run(model, x, device)
    got = vm.run(replan(model, planner, DeviceRules.of_device(device)), x, device)
    assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]


def test_check_with_a_plan(small_onnx, capsys, tmp_path):
    out = tmp_path / "report.json"
    assert main(["check", str(small_onnx), "--plan", "arena", "--json", str(out)]) == 0
    said = capsys.readouterr().out
    plan = json.loads(out.read_text())["plan"]
    assert plan["planner"] == "arena"
    assert plan["storages"] == 1
    assert plan["planned"] == plan["live_lower_bound"]
    assert plan["causes"]["dense"] + plan["causes"]["padding"] == plan["planned"]
    assert "memory plan arena:" in said


def test_check_says_why_a_plan_cannot_run(bundle, capsys):
    assert main(["check", str(bundle), "--plan", "arena", "--device", "sim:adreno-650"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: plan arena cannot be applied on adreno-650: ")
    assert "cl_ext_image_from_buffer" in err
    assert main(["check", str(bundle), "--plan", "tvmfixed"]) == 2
    assert "did you mean tvm-fixed" in capsys.readouterr().err


@pytest.fixture(scope="module")
def open_onnx(tmp_path_factory):
    """Scores of each row against all rows, of a batch and a length that the file leaves open."""
    onnx = pytest.importorskip("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    nodes = [helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 2, 1]), helper.make_node("MatMul", ["x", "turned"], ["s"]),
             helper.make_node("Softmax", ["s"], ["p"], axis=-1), helper.make_node("MatMul", ["p", "x"], ["y"])]  # fmt: skip
    given = helper.make_tensor_value_info("x", types.FLOAT, ["batch", "length", 8])
    graph = helper.make_graph(nodes, "scores", [given], [helper.make_tensor_value_info("y", types.FLOAT, None)])
    path = tmp_path_factory.mktemp("open") / "scores.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_open_dimensions_of_onnx_have_bounds(open_onnx, capsys, tmp_path):
    def planned(*options):
        out = tmp_path / "footprint.json"
        assert main(["footprint", str(open_onnx), *options, "--json", str(out)]) == 0, capsys.readouterr().err
        return json.loads(out.read_text())["plan"]

    bounded = planned("--bound", "batch=1:2", "--bound", "length=4:64")
    said = capsys.readouterr().out
    high, low = (planned("--shape", f"x={shape}") for shape in ("2x64x8", "1x4x8"))
    assert bounded["summary"] == high["summary"]
    assert bounded["least"] == low["summary"]
    assert bounded["symbols"] == [{"name": "batch", "low": 1, "high": 2}, {"name": "length", "low": 4, "high": 64}]
    assert "--plan " not in said or "--shape x=2x64x8" in said
    assert main(["footprint", str(open_onnx), "--bound", "length=1:2"]) == 2
    assert "no bounds for symbolic dimension 'batch'; the model's symbols are batch, length" in capsys.readouterr().err
