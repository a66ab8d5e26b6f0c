"""`adreno-sim layers`, and chosen layers in other types and layouts by options of `check` and `bundle`."""

import json

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")
onnx = pytest.importorskip("onnx")

from validators import validator  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError, OptionError  # noqa: E402
from adreno_sim.cli.main import main  # noqa: E402
from adreno_sim.compiler.artifact.model import as_compiled  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.layers.listing import list_layers  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402

pytestmark = pytest.mark.tvm


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Two convolutions of whole numbers with a relu between, then a matrix product."""
    helper, generator = onnx.helper, np.random.default_rng(3)
    shapes = {"w0": (8, 4, 1, 1), "w1": (8, 8, 3, 3), "w2": (32, 4)}
    values = {name: generator.integers(-1, 2, shape).astype("float32") for name, shape in shapes.items()}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["c"]), helper.make_node("Flatten", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "w2"], ["y"]),
    ]  # fmt: skip
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4, 4, 4])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])
    kept = [onnx.numpy_helper.from_array(array, name) for name, array in values.items()]
    graph = helper.make_graph(nodes, "small", [x], [y], kept)
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    return str(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("input") / "x.npy"
    np.save(path, np.random.default_rng(1).integers(-1, 2, (1, 4, 4, 4)).astype("float32"))
    return str(path)


def test_layers_are_listed_and_counted(file, tmp_path, capsys):
    data = tmp_path / "layers.json"
    assert main(["layers", file, "--json", str(data)]) == 0
    said = capsys.readouterr().out
    assert "small: 2 layers (nn.conv2d)" in said
    assert "2 nn.conv2d" in said
    assert "1 matmul" in said
    written = json.loads(data.read_text())
    validator("layers").validate(written)
    first, last = written["layers"]
    assert (first["number"], first["from_end"], last["from_end"]) == (0, -2, -1)
    assert first["operands"] == ["float32 1x4x4x4", "float32 8x4x1x1"]
    assert first["layout"] == "NCHW, OIHW, NCHW"
    assert main(["layers", file, "--ops", "all", "--json", str(data)]) == 0
    assert [layer["operator"] for layer in json.loads(data.read_text())["layers"]] == ["nn.conv2d", "nn.conv2d", "matmul"]


@pytest.mark.parametrize(
    ("args", "said"), [(["--ops", "nn.conv9d"], "relax.nn.conv9d: expected names"), (["--ops", ""], "operators none")]
)
def test_bad_requests(file, capsys, args, said):
    assert main(["layers", file, *args]) == 2
    assert said in capsys.readouterr().err


def kernel_types(compiled):
    """Element types of the kernels' parameters."""
    return {param.dtype for kernel in compiled.kernels.values() for param in kernel.params}


@pytest.mark.share(3)
@pytest.mark.each_value
@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize(
    "options",
    [
        {"recast": "float16:float32"},
        {"recast": "float16", "skip_layers": [0]},
        {"recast": "int8:int32"},
        {"recast": "int4", "skip_layers": [0]},
        {"recast": "int8:int32", "layout": "HWNC"},
        {"recast": "int4:int32", "layout": "HWNC", "skip_layers": [-1]},
        {"layout": "NHWC"},
        {"layout": "NHWC:OHWI", "skip_layers": [1]},
        {"layout": "default"},
    ],
    ids=str,
)
def test_checked_on_the_device_and_equal_to_the_model(adreno, file, whole, options, target):
    """Whole numbers this small are exact in every type: the outputs are those of the model as it is."""
    report = adreno_sim.check(file, whole, device=adreno, target=target, **options)
    assert report.ok, report
    assert any("are recast" in line for line in report.unchecked) == ("recast" in options)
    x = np.load(whole)
    got = vm.run(compile_model(file, target=target, **options), [x], adreno)[0]
    np.testing.assert_array_equal(got, vm.run(compile_model(file, target="buffer"), [x], adreno)[0])


def test_what_stays_and_what_changes(file):
    assert "float16" in kernel_types(compile_model(file, recast="float16"))
    assert "float16" not in kernel_types(compile_model(file, recast="float16", skip_layers=[0, 1]))

    def packed(**options):
        return sum("NCHWc" in name for name in compile_model(file, **options).kernels)

    assert packed() == packed(layout="NCHW4c") == 2
    assert packed(skip_layers=[-1]) == 1
    assert packed(layout="default") == packed(layout="NHWC") == 0
    assert packed(recast="int4", skip_layers=[0]) == 0


def test_commands(file, whole, tmp_path, capsys):
    out = tmp_path / "m.asim"
    assert main(["check", file, "--input", whole, "--recast", "float16:float32", "--skip-layers", "0"]) == 0
    assert main(["check", file, "--input", whole, "--layout", "HWNC", "--skip-layers=-1,0", "--target", "buffer"]) == 0
    assert main(["bundle", file, "-o", str(out), "--layout", "default", "--recast", "int8:int32"]) == 0
    assert "int8" in kernel_types(as_compiled(str(out)))
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"skip_layers": [2], "recast": "float16"}, AdrenoSimError, "skip_layers: 2, expected numbers from -2 to 1"),
        ({"skip_layers": [2]}, AdrenoSimError, "skip_layers: 2, expected numbers from -2 to 1"),
        ({"skip_layers": [0], "target": "buffer"}, OptionError, "skip_layers: is for recast, for layout and for texture targets"),
        ({"layout": "NCHW4c", "target": "buffer"}, OptionError, "layout: NCHW4c: is for texture targets"),
        ({"layout": "CHWN"}, AdrenoSimError, "not beside CHWN: name it"),
        ({"layout": "AB:CD"}, AdrenoSimError, "layout 'AB:CD': TVM's ConvertLayout takes no such layout"),
        ({"recast": "float12"}, AdrenoSimError, "dtype 'float12': expected a float or integer type"),
        ({"recast": "float16:"}, None, ""),
    ],
    ids=str,
)
def test_refusals(file, options, error, said):
    if error is None:
        assert compile_model(file, **options).kernels
        return
    with pytest.raises(error) as raised:
        compile_model(file, **options)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_numbers_on_the_command_line(file, capsys):
    assert main(["check", file, "--skip-layers", "first"]) == 2
    assert "expected numbers of layers, as 0,-1" in capsys.readouterr().err


def test_a_function_is_listed_as_its_module_is(file):
    from adreno_sim.compiler.importers.load import load_model

    mod = load_model(file).module
    assert list_layers(mod).layers == list_layers(mod["main"]).layers
