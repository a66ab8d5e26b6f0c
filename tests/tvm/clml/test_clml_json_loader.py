"""Graphs read by TVM's own C++: JSONRuntimeBase, from the sources in the wheel, loads what code generation wrote."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import clml_modules as modules
import pytest
import tvm
import tvm_ffi
from clml_modules import IMAGE, constant, conv, module, nn, norm
from tvm import relax

from adreno_sim.compiler.clml.partition import Offload
from adreno_sim.mlops.graph import parse
from adreno_sim.mlops.policy import OffloadPolicy
from adreno_sim.profiles.ml import NEWEST, MLCapabilities

HERE = Path(__file__).parent / "clml_loader"
TVM, FFI = Path(tvm.__file__).parent, Path(tvm_ffi.__file__).parent
JSON = TVM / "src" / "runtime" / "extra" / "contrib" / "json"

pytestmark = [
    pytest.mark.tvm,
    pytest.mark.slow,
    pytest.mark.skipif(not (JSON / "json_runtime.h").exists(), reason="this TVM's wheel has no sources"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++"),
]


@pytest.fixture(scope="module")
def loader(tmp_path_factory):
    """The program that loads a graph; json_runtime.h asks for ../../../../support/bytes_io.h."""
    folder = tmp_path_factory.mktemp("loader")
    deep = folder / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    shutil.copytree(HERE / "support", folder / "support")
    include = [HERE, deep, JSON, TVM / "include", FFI / "include"]
    libraries = [TVM / "lib", FFI / "lib"]
    command = ["g++", "-std=c++17", *(f"-I{path}" for path in include), str(HERE / "loader.cc")]
    command += [*(f"-L{path}" for path in libraries), "-ltvm_runtime", "-ltvm_ffi", *(f"-Wl,-rpath,{path}" for path in libraries)]
    done = subprocess.run([*command, "-o", str(folder / "loader")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "loader"


def _load(loader, tmp_path, mod, **options):
    offload = Offload(OffloadPolicy(capabilities=MLCapabilities(version=NEWEST), min_flops=0), **options)
    (made,) = offload.as_pass()(mod).attrs["external_mods"]
    text, names = str(made.inspect_source()), [str(name) for name in made["get_const_vars"]()]
    (tmp_path / "graph.json").write_text(text)
    done = subprocess.run([loader, tmp_path / "graph.json", *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return parse(text), done.stdout.splitlines()


def test_tvm_reads_what_was_written(loader, tmp_path):
    def make(x):
        y = relax.op.clip(norm(conv(x, 8, padding=1) + constant(1, 8, 1, 1), 8, epsilon=1e-7)[0], 0, 6)
        y = nn.max_pool2d(conv(y, 8, inputs=1, groups=8, strides=2), (2, 2), (2, 2))
        return relax.op.clip(relax.op.concat([y, y], 1), -0.5, 0.5)

    graph, lines = _load(loader, tmp_path, module(make, IMAGE), fold_batch_norm=False)
    kernels = [line for line in lines if line.startswith("kernel")]
    assert kernels == [
        "kernel openclml.clip.tuple.bn.bias.nn.conv2d 0:0 1:0 2:0 3:0 4:0 5:0 6:0 1 8 12 10 float32 padding 1 1 1 1 strides 1 1 "
        "dilation 1 1 groups 1 activation relu6 batchnorm 1 1e-07",
        "kernel openclml.nn.depthwise_conv2d 7:0 8:0 1 8 5 4 float32 padding 0 0 0 0 strides 2 2 dilation 1 1 groups 8",
        "kernel openclml.nn.max_pool2d 9:0 1 8 2 2 float32 padding 0 0 0 0 strides 2 2 dilation 1 1 pool_size 2 2",
        "kernel concatenate 10:0 10:0 1 16 2 2 float32 axis 1",
        "kernel clip 11:0 1 16 2 2 float32 a_min -0.5 a_max 0.5",
    ]
    assert [line.split()[1] for line in lines if line.startswith("constant")] == graph.constants
    assert lines[-1] == "head 12:0"


@pytest.mark.parametrize("name", [name for name in modules.OPERATORS if "mean" not in name and "adaptive" not in name])
def test_every_operator_loads(loader, tmp_path, name):
    graph, lines = _load(loader, tmp_path, modules.OPERATORS[name][1]())
    read = [line.split()[:2] for line in lines if line.split()[0] in ("input", "const", "kernel")]
    assert read == [[node.op, node.name] for node in graph.nodes]


def test_constants_out_of_order_are_refused(loader, tmp_path):
    mod = modules.OPERATORS["conv2d + bias"][1]()
    _load(loader, tmp_path, mod)
    names = parse((tmp_path / "graph.json").read_text()).constants
    done = subprocess.run([loader, tmp_path / "graph.json", *names[::-1]], capture_output=True, text=True, check=False)
    assert done.returncode != 0
