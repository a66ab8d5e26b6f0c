"""Folding in NumPy gives the constants TVM's own folding gives, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operators import OPERATORS

from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower import pipeline
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.passes.fold_layouts import split_and_permute
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


LAYOUTS = {
    "last axis from the first": (lambda o, i, h: (o // 4, i, h, o % 4), (2, 6, 3, 4)),
    "lane first": (lambda o, i, h: (o % 4, o // 4, i, h), (4, 2, 6, 3)),
    "two axes split": (lambda o, i, h: (o // 4, i // 3, h, o % 4, i % 3), (2, 2, 3, 4, 3)),
    "in three parts": (lambda o, i, h: (o // 2 % 2, o // 4, o % 2, i, h), (2, 2, 2, 6, 3)),
    "exchanged": (lambda o, i, h: (h, i, o), (3, 6, 8)),
    "axis of one": (lambda o, i, h: (o // 4, i, h, o % 4, np.int64(0)), (2, 6, 3, 4, 1)),
    "part of one": (lambda o, i, h: (o // 8, i, h, o % 8), (1, 6, 3, 8)),
}
OTHERS = {
    "backwards": (lambda o, i, h: (7 - o, i, h), (8, 6, 3)),
    "turned": (lambda o, i, h: ((o + 1) % 8, i, h), (8, 6, 3)),
    "lanes backwards": (lambda o, i, h: (o // 4, i, h, 3 - o % 4), (2, 6, 3, 4)),
    "joined": (lambda o, i, h: (o * 6 + i, h), (48, 3)),
}


@pytest.mark.parametrize("name", [*LAYOUTS, *OTHERS])
def test_a_layout_that_splits_and_exchanges_axes_is_a_view(name: str) -> None:
    array = np.arange(8 * 6 * 3).reshape(8, 6, 3)
    index, shape = {**LAYOUTS, **OTHERS}[name]
    where = index(*np.indices(array.shape, sparse=True))
    found = split_and_permute(array, where, shape)
    if name in OTHERS:
        assert found is None
        return
    moved = np.empty(shape, array.dtype)
    moved[tuple(np.broadcast_arrays(*where))] = array
    assert found is not None
    assert np.shares_memory(found, array)
    np.testing.assert_array_equal(found, moved)


def _nothing() -> Any:
    return import_tvm().transform.Sequential([])
