"""A model whose reference takes its process down: `check` says so in a line, with the exit code of what is not supported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import adreno_sim

pytest.importorskip("tvm")

pytestmark = [pytest.mark.e2e, pytest.mark.tvm]

MODEL = """
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("y"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] + T.Cast("float32", T.call_extern("int32", "FUNCTION", 11))

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        y = R.call_tir(cls.add, (x,), R.Tensor((4,), "float32"))
        return y
"""


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        ("raise", 3, "unsupported: TVM crashes: ended by SIGSEGV; it was at references in "),
        ("exit", 2, "the process ended with exit code 11 and without a verdict; it was at references: code of the model"),
        ("abs", 0, ""),
    ],
)
def test_a_reference_that_dies(tmp_path, function, code, said):
    (tmp_path / "model.py").write_text(MODEL.replace("FUNCTION", function))
    environment = {**os.environ, "PYTHONPATH": str(Path(adreno_sim.__file__).parents[1])}
    command = [sys.executable, "-m", "adreno_sim", "check", "model.py", "--target", "buffer"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert (done.stderr.startswith(f"error: {said}") and done.stderr.count("\n") == 1) if said else "ok: " in done.stdout


@pytest.mark.each_value
@pytest.mark.parametrize("command", ["footprint", "check", "layers"])
@pytest.mark.parametrize("inputs", [["", "x"], ["x", "x"]])
def test_an_importer_that_dies(tmp_path, command, inputs):
    """TVM takes an input without a name for a missing tensor, and reads its type."""
    onnx = pytest.importorskip("onnx")
    make, floats = onnx.helper, onnx.TensorProto.FLOAT
    values = [[make.make_tensor_value_info(name, floats, size)] for name, size in (("x", [2, 3]), ("y", None))]
    graph = make.make_graph([make.make_node("Concat", inputs, ["y"], axis=0)], "g", *values)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    environment = {**os.environ, "PYTHONPATH": str(Path(adreno_sim.__file__).parents[1])}
    line = [sys.executable, "-m", "adreno_sim", command, "model.onnx"]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if inputs[0]:
        assert done.returncode == 0, done.stderr
    else:
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
        assert done.stderr.startswith("error: unsupported: TVM ")
