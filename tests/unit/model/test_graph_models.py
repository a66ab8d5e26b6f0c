"""A compiled model with a subgraph for OpenCL ML, written by hand: it runs, is saved and read without TVM."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import AdrenoSimError, DeviceError, UnsupportedError
from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.model import CompiledModel, GraphCode, OffloadDecision, TensorInfo
from adreno_sim.compiler.artifact.validate import validate
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.run.vm import run
from adreno_sim.mlops.graph import Entry, Graph, Node

SHAPE = (1, 4, 3, 5)
SHAPES = (SHAPE,)
GRAPH = Graph(
    (
        Node("input", "x", SHAPES, ("float32",)),
        Node("const", "c", SHAPES, ("float32",)),
        Node("kernel", "openclml.relax.subtract", SHAPES, ("float32",), (Entry(1), Entry(0))),
        Node("kernel", "openclml.relax.nn.relu", SHAPES, ("float32",), (Entry(2),)),
    ),
    (Entry(3), Entry(2)),
)
DIMS = tuple(h.Const(size, "int64") for size in SHAPE)


def _param(name, access):
    return h.BufferParam(name, DIMS, "float32", "global", access)


RUN = h.HostFunction(
    "clml_0",
    (_param("x", "read"), _param("a", "write"), _param("b", "write")),
    (h.RunGraph("clml_0", (h.BufferRef("x"),), (h.BufferRef("a"), h.BufferRef("b"))),),
    golden="clml_0",
)


def _allocated(name):
    return (
        v.AllocStorage(f"{name}_storage", v.ShapeLiteral((240,)), "global", "float32"),
        v.AllocTensor(name, f"{name}_storage", 0, v.ShapeLiteral(SHAPE), "float32", "global"),
    )


BODY = (
    *_allocated("a"),
    *_allocated("b"),
    v.CallHost("clml_0", (v.Reg("x"), v.Reg("a"), v.Reg("b"))),
    v.MakeTuple("result", (v.Reg("a"), v.Reg("b"))),
    v.Return(v.Reg("result")),
)


def _constant():
    return np.arange(60, dtype=np.float32).reshape(SHAPE) / 60


@pytest.fixture
def model():
    info = TensorInfo("x", SHAPE, "float32")
    made = CompiledModel(
        name="graph",
        target="qcom/adreno-opencl-clml",
        tvm_version="none",
        pipeline="fixed",
        fixes=(),
        inputs=(info,),
        results=replace(info, name="output"),
        kernels={},
        host_functions={"clml_0": RUN},
        functions={"main": v.VMFunction("main", ("x",), BODY)},
        constants={"constant_0": _constant()},
        graphs={"clml_0": GraphCode("clml_0", GRAPH.to_json(), {"c": "constant_0"})},
        offload=(OffloadDecision("clml_0", ("subtract", "relu"), 120, True, "by hand"),),
    )
    validate(made)
    return made


def test_it_runs(model):
    x = np.random.default_rng(0).uniform(-1, 1, SHAPE).astype("float32")
    device = adreno_sim.open_device("sim:adreno-740")
    first, second = run(model, {"x": x}, device)
    assert np.array_equal(second, _constant() - x)
    assert np.array_equal(first, np.maximum(second, 0))
    assert device.pool_stats().used == 0


def test_it_needs_the_extension(model):
    with pytest.raises(UnsupportedError, match=r"graph clml_0: .*adreno-640 has no cl_qcom_ml_ops"):
        run(model, {"x": np.zeros(SHAPE, "float32")}, adreno_sim.open_device("sim:adreno-640"))


def test_its_plan_has_the_tensors_of_the_program(model):
    plan = extract_plan(model)
    assert [(tensor.id, tensor.written) for tensor in plan.tensors] == [("a", 4), ("b", 4)]


def test_a_bundle_holds_the_graph_as_json(model, tmp_path):
    path = tmp_path / "model.asim"
    model.save(path)
    loaded = CompiledModel.load(path)
    assert loaded == model
    assert loaded.graphs == model.graphs
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("graphs/clml_0.json"))["heads"] == [[3, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: replace(m, graphs={}), "runs unknown graph"),
        (lambda m: replace(m, constants={}), "constant 'c' is missing"),
        (lambda m: replace(m, graphs={"clml_0": replace(m.graphs["clml_0"], source="{}")}), "expected a list of nodes"),
        (lambda m: replace(m, graphs={"a b": replace(m.graphs["clml_0"], name="a b")}), "unknown graph|bad graph name"),
    ],
)
def test_what_does_not_fit_together_is_refused(model, change, words):
    with pytest.raises(AdrenoSimError, match=words):
        validate(change(model))


def test_a_constant_that_is_not_what_its_node_says(model):
    model.constants["constant_0"] = np.zeros(3, np.float32)
    with pytest.raises(DeviceError, match="constant c: expected float32"):
        run(model, {"x": np.zeros(SHAPE, "float32")}, adreno_sim.open_device("sim:adreno-740"))
