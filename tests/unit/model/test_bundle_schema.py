"""The schema of a bundle's model.json: made from the dataclasses, true of a bundle, and not of a damaged one."""

import json
import zipfile

import jsonschema
import pytest
from validators import validator

from adreno_sim import schemas
from adreno_sim.compiler.artifact.host_function import BufferParam, BufferRef, Const, HostFunction, Launch
from adreno_sim.compiler.artifact.model import CompiledModel, KernelCode, KernelParamInfo, TensorInfo
from adreno_sim.compiler.artifact.vm_function import Reg, Return, VMFunction


@pytest.fixture
def document(tmp_path):
    one = Const(1, "int64")
    launch = Launch("k", (BufferRef("x"),), (one, one, one), (one, one, one))
    CompiledModel(
        name="net",
        target="t",
        tvm_version="0.27",
        pipeline="fixed",
        fixes=(),
        inputs=(TensorInfo("x", ("n", 4), "float32"),),
        results=TensorInfo("output", ("n", 4), "float32"),
        kernels={"k": KernelCode("k", "kernel void k(global float* x) {}", (KernelParamInfo("x", "buffer", "float32"),))},
        host_functions={"f": HostFunction("f", (BufferParam("x", (one,), "float32"),), (launch,))},
        functions={"main": VMFunction("main", ("x",), (Return(Reg("x")),))},
        constants={},
    ).save(tmp_path / "net.asim")
    with zipfile.ZipFile(tmp_path / "net.asim") as archive:
        return json.loads(archive.read("model.json"))


def test_a_bundle_fits(document):
    schema = schemas.load("bundle")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["schema"] == "adreno-sim/bundle/1"
    assert schema["$id"] == "adreno-sim:bundle/1"


@pytest.mark.share()
@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(schema="adreno-sim/bundle/2"),
        lambda d: d.update(extra=1),
        lambda d: d.pop("kernels"),
        lambda d: d["functions"]["main"]["body"].append({"op": "NoSuchInstruction"}),
        lambda d: d["host_functions"]["f"]["body"][0].update(groups=[]),
        lambda d: d["inputs"][0].update(shape=[1.5]),
    ],
)
def test_a_damaged_one_does_not(document, damage):
    damage(document)
    assert not validator("bundle").is_valid(document)
