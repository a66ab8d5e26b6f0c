"""Cases of a sweep: what of a model decides whether its result still holds, what people read, and processes without a report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adreno_sim.base.processes import isolation
from adreno_sim.render.sweep import markdown
from adreno_sim.sweep import child
from adreno_sim.sweep.case import Case, Result, cases
from adreno_sim.sweep.outcome import read_outcome
from adreno_sim.sweep.run import Sweep

CASE = Case("m.asim", "0" * 64, "sim:adreno-740", "")


def write_model(path: Path, weights: np.ndarray, outside: bool) -> None:
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info
    x, y = value("x", onnx.TensorProto.FLOAT, [4]), value("y", onnx.TensorProto.FLOAT, [4])
    tensor = onnx.numpy_helper.from_array(weights, "w")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x], [y], [tensor])
    path.parent.mkdir(exist_ok=True)
    onnx.save(onnx.helper.make_model(graph), path, save_as_external_data=outside, location="w.data", size_threshold=0)


def find_key(path: Path) -> str:
    (case,) = cases([str(path)], ["sim:adreno-740"], ["texture"])
    return case.key


def test_weights_in_another_file_are_the_models(tmp_path: Path) -> None:
    """Weights that changed beside an unchanged .onnx had the result of the former ones."""
    path, data = tmp_path / "m.onnx", tmp_path / "w.data"
    write_model(path, np.ones(4, np.float32), outside=True)
    first, model = find_key(path), path.read_bytes()
    assert find_key(path) == first
    data.write_bytes(np.full(4, 2, np.float32).tobytes())
    changed = find_key(path)
    assert path.read_bytes() == model
    data.unlink()
    assert len({first, changed, find_key(path)}) == 3
    data.write_bytes(np.ones(4, np.float32).tobytes())
    assert find_key(path) == first


def test_a_model_without_such_files_is_its_own_bytes(tmp_path: Path) -> None:
    write_model(tmp_path / "m.onnx", np.ones(4, np.float32), outside=False)
    (tmp_path / "garbage.onnx").write_bytes(b"location of nothing")
    first = find_key(tmp_path / "m.onnx")
    (tmp_path / "w.data").write_bytes(b"1234")
    assert find_key(tmp_path / "m.onnx") == first
    assert find_key(tmp_path / "garbage.onnx")


def test_models_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = ["a/m.asim", "b/m.asim", "a/other.asim"]
    for path in paths:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(path.encode())
    found = cases(paths, ["sim:adreno-740"], ["texture"])
    assert [case.label for case in found] == ["a/m.asim", "b/m.asim", "other"]
    assert [case.model for case in found] == ["m", "m", "other"]
    result = Result(child._outcome_without_report(2, "error: no", 0.0))
    lines = markdown.text(Sweep(tuple((case, result) for case in found))).splitlines()
    assert [line.split("|")[1].strip() for line in lines if "| sim:" in line] == ["a/m.asim", "b/m.asim", "other"]
    assert cases(paths[:1], ["sim:adreno-740"], ["texture"])[0].label == "m"


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [(0, "crashed", 2), (1, "crashed", 2), (5, "crashed", 2), (130, "crashed", 2)]
    + [(2, "failed", 2), (3, "unsupported", 3), (4, "internal-error", 4)],
)
def test_a_process_that_leaves_no_report_has_no_verdict(
    monkeypatch: pytest.MonkeyPatch, code: int, status: str, exit_code: int
) -> None:
    """Exit code 0 was a model that is ok, and one that no command has was an internal error of the sweep."""
    monkeypatch.setattr(child.isolation, "run", lambda *args: isolation.ChildOutcome(code))
    result = child.run_case(CASE, 1.0)
    assert (result.outcome.status, result.outcome.exit_code, result.report) == (status, exit_code, None)
    assert Sweep(((CASE, result),)).exit_code == exit_code
    assert read_outcome(json.loads(json.dumps(vars(result.outcome)))) == result.outcome
