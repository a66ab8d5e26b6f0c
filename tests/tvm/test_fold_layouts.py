"""Folding in NumPy gives the constants TVM's own folding gives, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operators import OPERATORS

from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower import pipeline
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.tvm_bridge.pass_pipelines import Snapshot, watching, with_own_constants
from adreno_sim.compiler.tvm_bridge.tensors import constant_array
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

pytestmark = pytest.mark.tvm


def constants(name: str) -> list[np.ndarray]:
    arrays = extract(pipeline.lower(OPERATORS[name](), "texture")).constants
    return sorted(arrays.values(), key=lambda array: (array.shape, array.tobytes()))


@pytest.mark.parametrize("name", ["residual_block", "batch_norm", "clip", "conv2d_bias_relu", "conv2d_depthwise", "conv2d_half"])
def test_the_same_constants_as_tvm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = constants(name)
    monkeypatch.setattr(pipeline, "fold_layouts", _nothing)
    tvms = constants(name)
    assert len(here) == len(tvms) > 0
    for ours, theirs in zip(here, tvms, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours, theirs)


def test_tvm_has_nothing_left_to_fold() -> None:
    """Before TVM's FoldConstant runs, no call of the main function has only constants for operands."""
    tvm = import_tvm()
    target = make_target("texture")
    snapshot = Snapshot("FoldConstant", "before")
    with target, watching(snapshot):
        steps = pipeline.relax_passes(target, ())
        tvm.transform.Sequential(steps)(with_own_constants(OPERATORS["batch_norm"]()))
    assert snapshot.module is not None
    bindings = [binding for block in snapshot.module["main"].body.blocks for binding in block.bindings]
    calls = [binding.value for binding in bindings if type(binding.value).__name__ == "Call"]
    assert calls
    assert not [call for call in calls if call.args and all(constant_array(arg) is not None for arg in call.args)]


def _nothing() -> Any:
    return import_tvm().transform.Sequential([])
