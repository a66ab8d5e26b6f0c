"""Generated integers fit what consumes them; where they do not, or a reference refuses them, no kernel is blamed."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import adreno_sim
from adreno_sim import AdrenoSimError
from adreno_sim.cli.main import main as command
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.check.whole_model import inputs as whole_model_inputs
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.importers import inputs
from adreno_sim.compiler.importers.inputs import make_inputs
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.importers.onnx_file import read_onnx
from adreno_sim.compiler.tvm_bridge.versions import tvm_series
from adreno_sim.golden.errors import RefusedInputsError
from adreno_sim.golden.model_reference import run_onnx

pytestmark = pytest.mark.tvm
gathers = pytest.mark.skipif(tvm_series() == "0.25", reason="its FoldConstant dies on the shape that an ONNX Gather asks for")


@I.ir_module
class Embedding:
    """Words, and which of two sentences they are in, as BERT embeds them: the second table has two rows."""

    @R.function
    def main(
        ids: R.Tensor((1, 6), "int64"),
        sentence: R.Tensor((1, 6), "int64"),
        words: R.Tensor((3000, 8), "float32"),
        sentences: R.Tensor((2, 8), "float32"),
    ):
        with R.dataflow():
            from_end = R.add(ids, R.const(3000, "int64"))
            a = R.take(words, R.where(R.less(ids, R.const(0, "int64")), from_end, ids), axis=0)
            b = R.take(sentences, R.astype(R.reshape(sentence, (1, 6)), "int32"), axis=0)
            c = R.add(a, b)
            R.output(c)
        return c


@I.ir_module
class Consumers:
    """One parameter for each kind of consumer, and one that nothing takes as an index."""

    @R.function
    def main(
        shifted: R.Tensor((40,), "int32"),
        hot: R.Tensor((40,), "int32"),
        mask: R.Tensor((4, 10), "int64"),
        truth: R.Tensor((4, 10), "int32"),
        lengths: R.Tensor((40,), "int32"),
        places: R.Tensor((20, 2), "int64"),
        rows: R.Tensor((5, 7), "int64"),
        plain: R.Tensor((40,), "int32"),
        flags: R.Tensor((4, 10), "bool"),
        table: R.Tensor((5, 7), "float32"),
    ):
        with R.dataflow():
            half = R.floor_divide(R.subtract(shifted, R.const(4, "int32")), R.const(2, "int32"))
            a = R.take(table, half, axis=0)
            b = R.one_hot(hot, R.prim_value(1), R.prim_value(0), depth=3)
            c = R.subtract(R.const(1.0, "float32"), R.astype(mask, "float32"))
            d = R.not_equal(truth, R.const(0, "int32"))
            e = R.less(R.expand_dims(R.arange(0, 12, 1, "int32"), 0), R.expand_dims(lengths, 1))
            f = R.gather_nd(table, places)
            g = R.gather_elements(table, rows, axis=1)
            h = R.add(plain, R.const(1, "int32"))
            i = R.logical_not(flags)
            gv = (a, b, c, d, e, f, g, h, i)
            R.output(gv)
        return gv


RANGES = {
    "shifted": (4, 13), "hot": (0, 2), "mask": (0, 1), "truth": (0, 1), "lengths": (1, 12), "places": (0, 4), "rows": (0, 6),
    "plain": (0, 7), "flags": (False, True),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_integers_are_drawn_from_the_whole_range_of_their_consumer(name):
    array = make_inputs(load_model(Consumers))[name]
    assert (array.min(), array.max()) == RANGES[name]


@I.ir_module
class Bounds:
    @R.function
    def main(
        begin: R.Tensor((2,), "int64"),
        end: R.Tensor((2,), "int64"),
        steps: R.Tensor((2,), "int64"),
        lengths: R.Tensor((30,), "int32"),
        rows: R.Tensor((30, 5), "int64"),
        x: R.Tensor((30, 5), "float32"),
    ):
        with R.dataflow():
            a = R.dynamic_strided_slice(x, begin, end, steps)
            b = R.scatter_elements(x, rows, x, axis=1)
            c = R.less_equal(R.expand_dims(lengths, 1), R.const([[0, 1, 2, 3]], "int32"))
            gv = (a, b, c)
            R.output(gv)
        return gv


def test_slices_are_not_empty_and_scatters_write_inside():
    for seed in range(5):
        drawn = make_inputs(load_model(Bounds), seed=seed)
        assert (drawn["begin"] >= 0).all()
        assert (drawn["begin"] < drawn["end"]).all()
        assert (drawn["end"] <= (30, 5)).all()
        assert (drawn["steps"] == 1).all()
        for name, bounds in {"rows": (0, 4), "lengths": (1, 4)}.items():
            assert (drawn[name].min(), drawn[name].max()) == bounds


def test_masks_leave_something_in_each_row():
    arrays = [make_inputs(load_model(Consumers), seed=seed) for seed in range(5)]
    assert all(drawn[name][:, 0].all() for drawn in arrays for name in ("mask", "truth", "flags"))


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_embeddings_are_judged_on_rows_of_the_whole_table(target):
    assert make_inputs(load_model(Embedding))["ids"].max() > 100
    report = adreno_sim.check(Embedding, target=target)
    assert report.ok, report.findings
    assert all(kernel.status != "wrong" for kernel in report.kernels), report.findings


@pytest.mark.representative
def test_a_bundle_knows_the_ranges_of_its_inputs(tmp_path):
    """Checked without golden results, and so without TVM: no index out of bounds is read."""
    compile_model(Embedding, target="buffer").save(tmp_path / "m.asim")
    assert [info.bounds for info in CompiledModel.load(tmp_path / "m.asim").inputs] == [(0, 2999), (0, 1), None, None]
    report = adreno_sim.check(tmp_path / "m.asim")
    assert report.ok
    assert not report.findings
    wrong = {"ids": np.zeros((1, 6), "int64"), "sentence": np.full((1, 6), 2)}
    tables = {"words": np.ones((3000, 8), "float32"), "sentences": np.ones((2, 8), "float32")}
    report = adreno_sim.check(tmp_path / "m.asim", {**wrong, **tables})
    assert [finding.kind.label for finding in report.findings] == ["out-of-bounds-read"]


@I.ir_module
class Computed:
    """An index that follows from float values: no range of the inputs makes it fit."""

    @R.function
    def main(x: R.Tensor((6,), "float32"), table: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            index = R.astype(R.multiply(x, R.const(100.0, "float32")), "int32")
            y = R.take(table, index, axis=0)
            R.output(y)
        return y


def test_an_index_that_no_generated_input_fits_asks_for_inputs(tmp_path, capsys):
    with pytest.raises(AdrenoSimError, match=r"^inputs: take along an axis of 4 gets the index .*; .*give --input$"):
        adreno_sim.check(Computed)
    fit = {"x": np.linspace(0, 0.035, 6, dtype="float32"), "table": np.arange(32, dtype="float32").reshape(4, 8)}
    assert adreno_sim.check(Computed, fit).ok
    with pytest.raises(AdrenoSimError, match=r"gets the index 700: expected 0 to 3$"):
        adreno_sim.check(Computed, {**fit, "x": fit["x"] * 1000})


@I.ir_module
class Written:
    """A function that somebody wrote: what it loads is an index right away."""

    @T.prim_func(private=True, s_tir=True)
    def rows(
        table: T.Buffer((T.int64(5), T.int64(8)), "float32"),
        ids: T.Buffer((T.int64(64),), "int32"),
        y: T.Buffer((T.int64(64), T.int64(8)), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(64), T.int64(8)):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = table[T.Cast("int64", ids[vi]), vj]

    @R.function
    def main(table: R.Tensor((5, 8), "float32"), ids: R.Tensor((64,), "int32")):
        cls = Written
        with R.dataflow():
            y = R.call_tir(cls.rows, (table, R.reshape(ids, (64,))), R.Tensor((64, 8), "float32"))
            R.output(y)
        return y


def test_functions_that_take_what_they_load_as_an_index():
    drawn = make_inputs(load_model(Written))["ids"]
    assert (drawn.min(), drawn.max()) == (0, 4)
    report = adreno_sim.check(Written, target="buffer")
    assert report.ok
    assert report.checked == report.kernels_in_model


def onnx_gather(tmp_path, index, nodes, count=7):
    """An ONNX model that takes `count` of 5 rows by `index`, which `nodes` make of an int64 input."""
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.numpy_helper.from_array
    table = np.random.default_rng(0).standard_normal((5, 8)).astype("float32")
    values = [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [7]),
              helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [count, 8])]  # fmt: skip
    nodes = [*nodes, helper.make_node("Gather", ["table", index], ["y"], axis=0)]
    constants = [tensor(table, "table")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "gather.onnx"
    onnx.save(model, path)
    return path


@gathers
def test_gather_is_given_indices_that_onnxruntime_takes(tmp_path):
    pytest.importorskip("onnxruntime")
    report = adreno_sim.check(onnx_gather(tmp_path, "ids", []))
    assert report.ok
    assert {output.reference for output in report.outputs} == {"TVM llvm", "ONNX Runtime"}


@gathers
def test_indices_that_no_range_fits_are_no_finding(tmp_path, capsys):
    """A sum, which intervals do not follow: that of what is drawn is too large."""
    onnx = pytest.importorskip("onnx")
    path = onnx_gather(tmp_path, "sum", [onnx.helper.make_node("ReduceSum", ["ids"], ["sum"])], count=1)
    assert command(["check", str(path)]) == 2
    said = capsys.readouterr()
    assert "give --input" in said.err
    assert "Traceback" not in said.err
    assert "wrong-value" not in said.out
    np.savez(tmp_path / "given.npz", ids=np.array([0, 1, -1, 0, 1, 0, 1]))
    assert command(["check", str(path), "--input", str(tmp_path / "given.npz")]) == 0


def test_onnxruntime_refuses_inputs_otherwise_than_models(tmp_path):
    pytest.importorskip("onnxruntime")
    model = read_onnx(onnx_gather(tmp_path, "ids", []))
    with pytest.raises(RefusedInputsError, match=r"^ONNX Runtime: .*out of data bounds"):
        run_onnx(model, {"ids": np.full(7, 5)})
    assert run_onnx(model, {"ids": np.full(7, -5)})[0].shape == (7, 8)


@gathers
def test_what_a_reference_refuses_of_generated_inputs_is_no_finding(tmp_path, monkeypatch):
    """The range checks are off, as where they do not know an operator: the refusal of ONNX Runtime ends the check."""
    pytest.importorskip("onnxruntime")
    path = onnx_gather(tmp_path, "ids", [])
    monkeypatch.setattr(whole_model_inputs, "require_valid_indices", lambda *_, **__: None)
    monkeypatch.setattr(inputs, "integer_bounds", lambda *_: {0: (5, 9)})
    with pytest.raises(AdrenoSimError, match=r"^ONNX Runtime: .*; the inputs were generated: give --input$"):
        adreno_sim.check(path)
