"""A crash of ONNX Runtime on a model is named, and takes nothing else with it: neither this process nor the other references."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

pytest.importorskip("tvm")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import ModelProto, parser

import adreno_sim
from adreno_sim.golden import model_reference, result_cache
from adreno_sim.results.unwatched import LEVEL_BOUNDS

pytestmark = pytest.mark.tvm

PRODUCT = """
<ir_version: 8, opset_import: ["" : 17]>
case (TYPE[6,1,4] x) => (TYPE[1,6,2] y)
   <TYPE[4,2] w = {WEIGHTS}>
{
   t = Transpose <perm: ints = [1, 0, 2]> (x)
   y = MatMul (t, w)
}
"""


def product(dtype: str) -> ModelProto:
    weights = np.linspace(-1, 1, 8).astype(dtype)
    given = weights.view(np.uint16) if dtype == "float16" else weights  # the text of a half is its bits
    model = PRODUCT.replace("TYPE", {"float32": "float"}.get(dtype, dtype)).replace("WEIGHTS", ", ".join(map(str, given)))
    return parser.parse_model(model)


def check(model: ModelProto, dtype: str) -> adreno_sim.Report:
    x = np.linspace(-2, 2, 24).reshape(6, 1, 4).astype(dtype)
    return adreno_sim.check(model, {"x": x}, device="sim:adreno-740", target="buffer")


def test_a_product_of_halves_behind_a_transposition_is_judged():
    """Version 1.31 crashes on it. Where another does not, it judges."""
    report = check(product("float16"), "float16")
    judges = {output.reference for output in report.outputs if output.ok and not output.vacuous}
    assert report.ok
    assert "float64" in judges
    if "ONNX Runtime" not in judges:
        assert "against ONNX Runtime: ended by SIGSEGV on this model, a crash in ONNX Runtime itself" in report.unchecked
    else:
        assert report.unchecked == [LEVEL_BOUNDS]


def test_a_crash_is_named_and_the_other_reference_judges(monkeypatch):
    def crash(content: bytes) -> object:
        os.kill(os.getpid(), signal.SIGABRT)
        return None

    model = product("float32")
    with monkeypatch.context() as patched:
        patched.setattr(model_reference, "_open_session", crash)
        patched.setattr(result_cache, "load", lambda key, kind: None)  # another run's outputs
        report = check(model, "float32")
    assert report.ok
    assert [output.reference for output in report.outputs] == ["TVM llvm"]
    assert "against ONNX Runtime: ended by SIGABRT on this model, a crash in ONNX Runtime itself" in report.unchecked
    report = check(model, "float32")  # nothing of the crash is kept
    assert report.ok
    assert [output.reference for output in report.outputs] == ["TVM llvm", "ONNX Runtime"]
    assert report.unchecked == [LEVEL_BOUNDS]
