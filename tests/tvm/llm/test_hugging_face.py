"""Transformers of Hugging Face through torch.export, in textures and in buffers: every output against PyTorch.

PyTorch and transformers are no dependencies: CONTRIBUTING.md says how these tests are run.
"""

import functools

import pytest

pytest.importorskip("tvm")
pytest.importorskip("torch")
pytest.importorskip("transformers")
from hugging_face import MODELS, export

from adreno_sim import check
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.findings import Severity

pytestmark = [pytest.mark.tvm, pytest.mark.slow]

export_once = functools.cache(export)


@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_pytorch(name, target):
    program, arrays = export_once(name)
    given = {item.name: array for item, array in zip(load_model(program).inputs, arrays, strict=True)}
    report = check(program, given, target=target)
    assert report.ok and not [finding for finding in report.findings if finding.severity is Severity.ERROR]
    judged = {output.reference: (output.ok, output.vacuous) for output in report.outputs}
    assert judged == {"TVM llvm": (True, False), "PyTorch": (True, False)}
    assert report.checked >= 0.7 * report.kernels_in_model
