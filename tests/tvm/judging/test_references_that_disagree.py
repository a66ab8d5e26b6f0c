"""References that contradict each other, and networks whose outputs the last place of a weight decides."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tvm")

import adreno_sim
from adreno_sim.compiler.check.outputs import Circumstances, judge_outputs
from adreno_sim.findings import Kind
from adreno_sim.golden import instability, model_reference
from adreno_sim.golden.instability import measure_movement, nudge
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = pytest.mark.tvm

onnx = pytest.importorskip("onnx")

RIGHT = np.float32([1, 2, 3])


def judge(got, references, movement=None):
    reports, findings = judge_outputs(references, ["y"], [np.float32(got)], Circumstances(True), movement=movement)
    return {row.reference: (row.ok, bool(row.vacuous)) for row in reports}, [finding.kind for finding in findings]


AGREES, SAYS_NOTHING, DIFFERS = (True, False), (True, True), (False, False)


def test_tvms_reference_decides_nothing_against_the_models_own_runtime():
    rows, kinds = judge(RIGHT, {"TVM llvm": [RIGHT + 1], "ONNX Runtime": [RIGHT]})
    assert rows == {"TVM llvm": SAYS_NOTHING, "ONNX Runtime": AGREES}
    assert kinds == [Kind.UNINFORMATIVE]


def test_the_models_own_runtime_decides_against_the_device():
    rows, kinds = judge(RIGHT + 1, {"TVM llvm": [RIGHT + 1], "ONNX Runtime": [RIGHT]})
    assert rows == {"TVM llvm": AGREES, "ONNX Runtime": DIFFERS}
    assert kinds == [Kind.WRONG_VALUE]


def test_a_device_that_equals_no_reference_is_wrong():
    rows, kinds = judge(RIGHT + 2, {"TVM llvm": [RIGHT + 1], "ONNX Runtime": [RIGHT]})
    assert rows == {"TVM llvm": DIFFERS, "ONNX Runtime": DIFFERS}
    assert kinds == [Kind.WRONG_VALUE] * 2


IMPORT, PASS = "TVM's import of the model changed the meaning", "a pass before scheduling changed the meaning: Some"


@pytest.mark.parametrize(
    ("got", "llvm", "own", "stages"),
    [(RIGHT + 1, RIGHT + 1, RIGHT, [IMPORT]), (RIGHT + 1, RIGHT, RIGHT, [PASS, PASS]), (RIGHT[:2], RIGHT[:2], RIGHT, [IMPORT]),
     (RIGHT, RIGHT, RIGHT, [])],
)  # fmt: skip
def test_the_stage_is_named_that_changed_the_meaning(got, llvm, own, stages):
    """Where the reference that starts from the import agrees, and the model's own runtime does not, it is the import."""
    asked = []
    references = {"TVM llvm": [llvm], "PyTorch": [own]}
    _, findings = judge_outputs(references, ["y"], [got], Circumstances(True), wrong_pass=lambda: asked.append(1) or "Some")
    assert [finding.message.partition("PrimFunc says")[2] for finding in findings] == [
        f", so {stage}" if stage is PASS else f", and so does TVM llvm: {stage}" for stage in stages
    ]
    assert len(asked) == (PASS in stages)
    _, findings = judge_outputs(references, ["y"], [got], Circumstances(False))
    assert not any("changed the meaning" in finding.message for finding in findings)


@pytest.mark.parametrize(("moved", "row"), [(0.9, SAYS_NOTHING), (0.01, DIFFERS)])
def test_an_output_that_its_reference_does_not_settle_says_nothing(moved, row):
    asked = []

    def movement(reference):
        asked.append(reference)
        return [moved]

    rows, kinds = judge(RIGHT + 1, {"ONNX Runtime": [RIGHT]}, movement)
    assert rows == {"ONNX Runtime": row}
    assert asked == ["ONNX Runtime"]
    assert kinds == [Kind.UNINFORMATIVE if row is SAYS_NOTHING else Kind.WRONG_VALUE]
    judge(RIGHT, {"ONNX Runtime": [RIGHT]}, movement)
    assert asked == ["ONNX Runtime"], "it is measured only where something differs"


def test_a_nan_is_excused_by_no_movement():
    rows, _ = judge([np.nan, 2, 3], {"ONNX Runtime": [RIGHT]}, lambda reference: [1e9])
    assert rows == {"ONNX Runtime": DIFFERS}


def test_a_nudge_is_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.float32([1, -3, 1e-20, 0, np.inf])
    moved = nudge(x, rng)
    assert (np.abs(moved[:3] - x[:3]) == np.spacing(np.abs(x[:3]))).all()
    assert (moved[3:] == x[3:]).all()
    assert abs(nudge(np.float32([1]), rng, "float16")[0] - 1) == 2.0**-10
    assert (nudge(np.arange(3), rng) == np.arange(3)).all()
    assert measure_movement(lambda rng: [nudge(x[:3], rng)])[0] in (0, 2 * np.spacing(np.float32(3)), np.spacing(np.float32(3)))


def bucketed(scale):
    """Rows of a table chosen by a rounded sum: with a large scale one unit in the last place chooses another row."""
    make, kinds = onnx.helper.make_node, onnx.TensorProto
    rng = np.random.default_rng(1)
    weights = {
        "w": (rng.standard_normal((8, 4)) * scale).astype(np.float32),
        "table": rng.standard_normal((64, 3)).astype(np.float32),
        "size": np.float32(64),
    }
    nodes = [
        make("MatMul", ["x", "w"], ["m"]), make("Floor", ["m"], ["f"]), make("Mod", ["f", "size"], ["r"], fmod=1),
        make("Abs", ["r"], ["a"]), make("Cast", ["a"], ["i"], to=kinds.INT64), make("Gather", ["table", "i"], ["y"]),
    ]  # fmt: skip
    shapes = [onnx.helper.make_tensor_value_info(n, kinds.FLOAT, s) for n, s in (("x", [4, 8]), ("y", [4, 4, 3]))]
    graph = onnx.helper.make_graph(
        nodes, "bucketed", shapes[:1], shapes[1:], [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()]
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.share()
@pytest.mark.parametrize("scale", [1.0, 1e7])
def test_a_reference_that_is_off_is_believed_only_where_it_settles_the_output(monkeypatch, scale):
    """Each reference gives the rows of another input: an error where the network is stable, no statement where it is not."""
    monkeypatch.setattr(instability, "RUNS", 1)  # of either scale one tells enough, and each compiles the network
    run = model_reference.ModelReference.run
    onnx_run = model_reference.run_onnx
    monkeypatch.setattr(model_reference.ModelReference, "run", lambda *args: [np.roll(x, 1, 0) for x in run(*args)])
    monkeypatch.setattr(model_reference, "run_onnx", lambda *args: [np.roll(x, 1, 0) for x in onnx_run(*args)])
    report = adreno_sim.check(bucketed(scale), target="buffer")
    judged = {(row.ok, bool(row.vacuous)) for row in report.outputs if row.reference == "ONNX Runtime"}
    assert judged == {SAYS_NOTHING if scale > 1 else DIFFERS}, str(report)


@pytest.mark.parametrize(("scale", "moves"), [(1.0, False), (1e7, True)])
def test_movement_is_measured_with_each_runtime(scale, moves):
    from adreno_sim.compiler.check.whole_model.references import measure_movement as measure
    from adreno_sim.compiler.compile import read_model
    from adreno_sim.compiler.importers.inputs import make_inputs
    from adreno_sim.compiler.lower.compile_options import CompileOptions

    model = read_model(bucketed(scale), CompileOptions().reading)
    arrays = make_inputs(model, None, 0, {})
    for name in ("ONNX Runtime", "TVM llvm"):
        (moved,) = measure(model, "float32", arrays, name)
        assert (moved > 0.1) == moves, name
        assert moves or moved < 1e-5, name
    assert measure(model, "float32", arrays, "float64") is None


def test_a_float_remainder_has_a_truth():
    """Next to a whole quotient a remainder may be off by the divisor; elsewhere it may not."""
    report = adreno_sim.check(bucketed(1.0), target="buffer")
    assert report.verdict.startswith("ok: 2 of 2 kernels checked"), (report.verdict, report.unchecked)


@pytest.mark.parametrize("version", [8, 14, 99])
def test_a_newer_file_format_keeps_its_runtime(version):
    model = bucketed(1.0)
    model.ir_version = version
    report = adreno_sim.check(model, target="buffer")
    assert {row.reference for row in report.outputs} == {"TVM llvm", "ONNX Runtime"}
    assert report.unchecked == [LEVEL_BOUNDS]
