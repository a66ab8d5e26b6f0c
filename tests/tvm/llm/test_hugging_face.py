"""Transformers of Hugging Face through torch.export, in textures and in buffers: every output against PyTorch.

PyTorch and transformers are no dependencies: CONTRIBUTING.md says how these tests are run.
"""

import functools

import pytest

pytest.importorskip("tvm")
pytest.importorskip("torch")
pytest.importorskip("transformers")
import torch
from hugging_face import MODELS, export, tokens

from adreno_sim import UnsupportedError, check
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.findings import Severity

pytestmark = [pytest.mark.tvm, pytest.mark.slow]

export_once = functools.cache(export)


@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [None, "float16"])
def test_outputs_are_those_of_pytorch(name, target, dtype):
    program, arrays = export_once(name)
    given = {item.name: array for item, array in zip(load_model(program).inputs, arrays, strict=True)}
    report = check(program, given, target=target, dtype=dtype)
    assert report.ok
    assert not [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert all(output.ok and not output.vacuous for output in report.outputs)
    judges = {output.reference for output in report.outputs}
    if dtype is None:
        assert judges == {"TVM llvm", "PyTorch"}
    else:
        assert judges == {"float64", "TVM llvm", "PyTorch"}
    assert report.checked >= 0.7 * report.kernels_in_model


@pytest.mark.parametrize("name", ["bert", "clip", "llama"])
def test_a_program_in_half_is_refused_with_what_to_do(name):
    with pytest.raises(UnsupportedError) as refused:
        load_model(export_once(name, "float16")[0])
    said = str(refused.value)
    assert "TVM" in said
    assert said.endswith("export the model in float32, and check it with --dtype float16")
    assert "\n" not in said


def test_an_operator_that_the_importer_lacks_is_named():
    class Histogram(torch.nn.Module):
        def forward(self, x):
            return torch.histc(x, 4, 0.0, 96.0)

    program = torch.export.export(Histogram(), (tokens().float(),))
    with pytest.raises(UnsupportedError, match=r"TVM cannot import this program: it has no operator histc\.default"):
        load_model(program)


def test_an_argument_that_is_no_tensor_is_named():
    class Scaled(torch.nn.Module):
        def forward(self, x, doubled: bool):
            return x * 2 if doubled else x

    program = torch.export.export(Scaled(), (tokens(), True))
    with pytest.raises(UnsupportedError, match="program: argument doubled: TVM's importer takes tensors alone; next: "):
        load_model(program)
