"""Layers by number: counting, recasting, leaving them out of layout conversion; precision per layer and the search."""

import json

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from validators import validator  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim import AdrenoSimError  # noqa: E402
from adreno_sim.cli.main import main  # noqa: E402
from adreno_sim.compiler.layers import LayoutConfig, convert_layout, count_layers, layer_names, recast  # noqa: E402
from adreno_sim.compiler.memory_scopes.demand import bindings, op_name  # noqa: E402
from adreno_sim.compiler.precision.local_error import LayerError, local_errors, relative_error  # noqa: E402
from adreno_sim.compiler.precision.search import search  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.compiler.tvm_bridge.read import kind  # noqa: E402
from adreno_sim.compiler.tvm_bridge.versions import type_of  # noqa: E402
from adreno_sim.golden.model_reference import ModelReference  # noqa: E402

pytestmark = pytest.mark.tvm


def weight(*shape, scale=1.0):
    values = np.random.default_rng(sum(shape)).standard_normal(shape) / np.sqrt(np.prod(shape[1:])) * scale
    return relax.const(values.astype("float32"))


def resnet_like():
    """Four convolutions, the first of 3 channels as in a ResNet; a residual; a matrix product."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 3, 16, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            a = builder.emit(relax.op.nn.relu(builder.emit(relax.op.nn.conv2d(x, weight(8, 3, 3, 3), padding=1))))
            b = builder.emit(relax.op.nn.conv2d(a, weight(8, 8, 3, 3), padding=1))
            c = builder.emit(relax.op.nn.conv2d(b, weight(8, 8, 1, 1)))
            d = builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(c, a))))
            e = builder.emit(relax.op.nn.conv2d(d, weight(16, 8, 3, 3), strides=2, padding=1))
            flat = builder.emit(relax.op.reshape(builder.emit(relax.op.mean(e, [2, 3])), (1, 16)))
            result = builder.emit_output(builder.emit(relax.op.matmul(flat, weight(16, 10))))
        builder.emit_func_output(result)
    return builder.get()


def calls(mod):
    """The calls of `main`, in order: bindings."""
    return [b for b in bindings(mod["main"]) if kind(getattr(b, "value", None)) == "Call"]


def convolutions_of(mod):
    return [b.value for b in calls(mod) if op_name(b.value) == "relax.nn.conv2d"]


@pytest.fixture(scope="module")
def network():
    mod = resnet_like()
    x = np.random.default_rng(1).standard_normal((1, 3, 16, 16)).astype("float32")
    return mod, [x], ModelReference(mod).run([x])[0]


def test_count_layers(network):
    mod, _, _ = network
    assert count_layers(mod) == 4 == len(layer_names(mod))
    assert count_layers(mod, ["nn.conv2d", "relax.matmul"]) == 5
    assert count_layers(mod, "nn.softmax") == 0
    with pytest.raises(AdrenoSimError, match=r"relax\.nn\.nonsense: expected names"):
        count_layers(mod, "nn.nonsense")
    with pytest.raises(AdrenoSimError, match="no Relax function 'other'"):
        count_layers(mod, function="other")


@pytest.mark.each_value
@pytest.mark.parametrize("out_dtype", ["float16", "float32"])
@pytest.mark.parametrize("skip", [(), (0,), (0, -1), (1, 2)])
def test_recast_changes_the_chosen_layers_only(network, skip, out_dtype):
    mod, inputs, expected = network
    made = recast(mod, "float16", out_dtype, skip_layers=skip)
    found = convolutions_of(made)
    assert len(found) == 4
    for number, call in enumerate(found):
        kept = number in {s % 4 for s in skip}
        assert [str(type_of(arg).dtype) for arg in call.args] == (["float32"] * 2 if kept else ["float16"] * 2)
        assert str(type_of(call).dtype) == ("float32" if kept else out_dtype)
    others = [op_name(b.value) for b in calls(made) if op_name(b.value) != "relax.astype"]
    assert others == [op_name(b.value) for b in calls(mod)]
    assert relative_error(ModelReference(made).run(inputs)[0], expected) < 0.02
    assert count_layers(mod) == 4, "the module given is as it was"
    assert str(type_of(convolutions_of(mod)[0].args[0]).dtype) == "float32", "the module given is as it was"


def test_no_cast_between_layers_that_agree(network):
    """The second and third convolutions follow each other: nothing is cast there and back."""
    mod, _, _ = network
    made = recast(mod, "float16")
    second, third = convolutions_of(made)[1:3]
    assert third.args[0].same_as(next(b.var for b in calls(made) if b.value.same_as(second)))


def test_recast_skipping_everything_changes_nothing(network):
    mod, _, _ = network
    tvm.ir.assert_structural_equal(recast(mod, "float16", skip_layers=range(4)), mod)


def test_integers_are_exact():
    """Small whole numbers go through int8 layers with int32 sums unchanged."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 4, 6, 6), "float32"))
    generator = np.random.default_rng(0)
    kernel = relax.const(generator.integers(-8, 8, (8, 4, 3, 3)).astype("float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.nn.conv2d(x, kernel)))
        builder.emit_func_output(result)
    mod = builder.get()
    made = recast(mod, "int8", "int32")
    assert str(type_of(convolutions_of(made)[0]).dtype) == "int32"
    data = [generator.integers(-8, 8, (1, 4, 6, 6)).astype("float32")]
    np.testing.assert_array_equal(ModelReference(made).run(data)[0], ModelReference(mod).run(data)[0])
    report = adreno_sim.check(made, data, device="sim:adreno-740", target="buffer")
    assert report.ok, report


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "float12"}, "expected a float or integer type"),
        ({"dtype": "bool"}, "expected a float or integer type"),
        ({"dtype": "float16", "skip_layers": [4]}, r"skip_layers: 4, expected numbers from -4 to 3"),
        ({"dtype": "float16", "skip_layers": [-5]}, r"skip_layers: -5"),
        ({"dtype": "float16", "ops": ()}, "expected names of Relax operators"),
    ],
)
def test_bad_requests(network, options, said):
    with pytest.raises(AdrenoSimError, match=said):
        recast(network[0], **options)


def test_a_constant_that_does_not_fit_is_refused(network):
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.matmul(x, relax.const(np.full((4, 4), 300, "float32")))))
        builder.emit_func_output(result)
    with pytest.raises(AdrenoSimError, match="layer 0: a constant of 300 to 300 does not fit int8"):
        recast(builder.get(), "int8", "int32", "matmul")


def packed(mod):
    return [str(call.attrs.data_layout) for call in convolutions_of(mod)]


def test_layout_config(network):
    """TVM itself leaves the first layer, of 3 channels."""
    mod, _, _ = network
    assert packed(convert_layout()(mod)) == ["NCHW", "NCHW4c", "NCHW4c", "NCHW4c"]
    with LayoutConfig(skip_layers=[1, -1]):
        assert packed(convert_layout()(mod)) == ["NCHW", "NCHW", "NCHW4c", "NCHW"]
        with LayoutConfig(skip_layers=[2]):
            assert packed(convert_layout()(mod)) == ["NCHW", "NCHW4c", "NCHW", "NCHW4c"]
        assert packed(convert_layout()(mod))[1] == "NCHW"
    assert LayoutConfig.current() is None
    with LayoutConfig(skip_layers=[7]), pytest.raises(RuntimeError, match="skip_layers: 7"):  # TVM's, around a pass's own
        convert_layout()(mod)


@pytest.mark.parametrize("pipeline", ["fixed", "stock"])
def test_the_pipeline_heeds_the_scope(network, pipeline):
    from adreno_sim.compiler.lower.pipeline import lower

    mod, _, _ = network

    def packed_kernels():
        return {name for name in lower(mod, "texture", pipeline).sources if "NCHWc" in name}

    everywhere = packed_kernels()
    with LayoutConfig(skip_layers=[1, 2, 3]):
        assert everywhere
        assert not packed_kernels()


@pytest.mark.slow  # test_layer_options.py checks layouts, types and layers left alone on a smaller network
def test_the_workflow(network):
    """First layer left alone in layout and type, the others in float16 textures: right on the device, within the bound."""
    mod, inputs, expected = network
    made = recast(mod, "float16", "float32", skip_layers=[0])
    with LayoutConfig(skip_layers=[0, 2]):
        report = adreno_sim.check(made, inputs, device="sim:adreno-740", target="texture")
    assert report.ok, report
    assert relative_error(ModelReference(made).run(inputs)[0], expected) < 5e-3


def test_local_errors(network):
    mod, inputs, _ = network
    errors = local_errors(mod, inputs, "float16", "float32", ("relax.nn.conv2d", "relax.matmul"))
    assert [layer.operator for layer in errors] == ["nn.conv2d"] * 4 + ["matmul"]
    assert all(1e-6 < layer.error < 4e-3 for layer in errors)
    exact = local_errors(mod, inputs, "float32", "float32", ("relax.nn.conv2d",))
    assert all(layer.error == 0 for layer in exact)


def test_relative_error():
    ones = np.ones(4, "float32")
    assert relative_error(ones, ones) == 0
    assert relative_error(np.array([1, 1, 1, 1.5], "float32"), ones) == pytest.approx(0.5)
    assert relative_error(np.array([1, 1, 1, np.inf], "float32"), ones) == np.inf
    assert relative_error(np.array([np.inf, 1], "float32"), np.array([np.inf, 1], "float32")) == 0
    assert relative_error(np.zeros(0), np.zeros(0)) == 0


def of_errors(values):
    return [LayerError(n, f"l{n}", "op", (1,), error, 1.0, 1.0) for n, error in enumerate(values)]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 3))
def test_search_finds_the_fewest_where_errors_add_up(values, bound):
    """For a network whose error is the sum of its layers', the greedy answer is the fewest layers to skip."""

    def evaluate(skip):
        return sum(error for n, error in enumerate(values) if n not in skip)

    found = search(of_errors(values), evaluate, bound, most_runs=100)
    assert found.best is not None
    assert evaluate(found.best) <= bound
    fewest = next(k for k in range(len(values) + 1) if sum(sorted(values)[: len(values) - k]) <= bound)
    assert len(found.best) == fewest


def test_search_says_when_nothing_helps():
    found = search(of_errors([0.1, 0.2]), lambda skip: 5.0, 1.0, 10)
    assert found.best is None
    assert set(found.tried) == {frozenset(), frozenset({0, 1})}


def test_search_keeps_to_its_runs():
    ran = []
    found = search(of_errors([0.1] * 64), lambda skip: ran.append(skip) or 64.0 - len(skip), 10.0, 5)
    assert (len(ran) == 5 and found.best == frozenset(range(64))) or found.tried[found.best] <= 10.0


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory):
    onnx = pytest.importorskip("onnx")
    helper, generator = onnx.helper, np.random.default_rng(3)
    kernels = [
        onnx.numpy_helper.from_array((generator.standard_normal((4, 4, 3, 3)) / 6).astype("float32"), f"w{n}") for n in range(2)
    ]
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"]), helper.make_node("Conv", ["a", "w1"], ["y"])]
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4, size, size]) for name, size in (("x", 8), ("y", 4))
    )
    model = helper.make_model(
        helper.make_graph(nodes, "two", [x], [y], kernels), opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    path = tmp_path_factory.mktemp("model") / "two.onnx"
    onnx.save(model, str(path))
    return path


def test_precision_command(onnx_file, tmp_path, capsys):
    data, bundle = tmp_path / "precision.json", tmp_path / "half.asim"
    assert main(["precision", str(onnx_file), "--json", str(data), "--save", str(bundle)]) == 0
    written = json.loads(data.read_text())
    validator("precision").validate(written)
    assert written["ok"]
    assert written["skip"] == []
    assert 0 < written["error"] <= 0.01
    assert len(written["layers"]) == 2
    assert "recast every layer" in capsys.readouterr().out
    assert main(["check", str(bundle), "--json", "-"]) in (0, 1)
    capsys.readouterr()
    assert main(["precision", str(onnx_file), "--bound", "1e-5", "--json", str(data)]) == 0
    assert json.loads(data.read_text())["skip"] == [0, 1]
    capsys.readouterr()
    assert main(["precision", str(onnx_file), "--bound", "1e-30", "--save", str(tmp_path / "none.asim")]) == 1
    assert f"nothing was written to {tmp_path / 'none.asim'}" in capsys.readouterr().out
    assert not (tmp_path / "none.asim").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--bound", "0"], "expected a positive number"),
        (["--ops", "nn.softmax"], "there is nothing to recast"),
        (["--dtype", "string"], "expected a float or integer type"),
        (["--runs", "1"], "expected 2 or more"),
        (["--json", "/nowhere/x.json"], "cannot write"),
    ],
)
def test_bad_input_of_the_command(onnx_file, capsys, args, said):
    assert main(["precision", str(onnx_file), *args]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.representative
def test_a_device_that_is_wrong_within_the_bound_fails(onnx_file, tmp_path, capsys, monkeypatch):
    """It is off by 0.5% where recasting may cost 1%: no type is to blame."""
    right = vm.run
    monkeypatch.setattr(vm, "run", lambda *given, **more: [array * np.float32(1.005) for array in right(*given, **more)])
    data, bundle = tmp_path / "precision.json", tmp_path / "half.asim"
    assert main(["precision", str(onnx_file), "--json", str(data), "--save", str(bundle)]) == 1
    written = json.loads(data.read_text())
    validator("precision").validate(written)
    assert not written["ok"]
    assert written["error"] <= 0.01
    assert written["reference"] == "float64"
    assert len(written["wrong"]) == 1
    assert "does not compute the recast network" in capsys.readouterr().out
    assert not bundle.exists()
