"""Plans of hand-written programs, every number worked out by hand."""

from dataclasses import replace

import handmade
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.specs import TensorSpec
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.memory_plan import RUNTIME_COPY, PlannedTensor
from adreno_sim.compiler.artifact.model import TensorInfo
from adreno_sim.compiler.plan.extract import extract_plan, live_lower_bound, row_aligned_size


def lives(plan):
    return {t.id: (t.storage, t.right_bytes, t.first, t.last, t.origin) for t in plan.tensors}


def test_textures_in_two_storages():
    plan = extract_plan(handmade.texture())
    # a (2, 3, 5, 4) texture: rows of 5 texels = 80 bytes, aligned to 128; 3 high, 2 layers: 768. Dense: 480.
    assert [(s.id, s.planned_bytes, s.needed_bytes, s.planned) for s in plan.storages] == [
        ("xt", 768, 768, False),
        ("s0", 1024, 768, True),  # of t0 and t2, which TVM's planner would leave alone, since it goes to a copy
        ("s1", 1024, 768, True),
        ("out", 480, 480, False),
    ]
    assert lives(plan) == {
        "xt": ("xt", 768, 0, 3, ""),
        "t0": ("s0", 768, 2, 8, "twice"),
        "t1": ("s1", 768, 6, 12, "twice"),
        "t2": ("s0", 768, 10, 14, "twice"),
        "out": ("out", 480, 14, 16, ""),
    }
    assert {t.dense_bytes for t in plan.tensors} == {480}
    summary = plan.summary
    assert (summary.storages, summary.tensors, summary.planned, summary.right) == (2, 3, 2048, 1536)
    assert summary.live_lower_bound == 2 * 768
    assert summary.unplanned == 768
    assert summary.inflation == 2048 / 1536
    whys = [tensor.left_alone for tensor in plan.tensors]
    assert whys == [RUNTIME_COPY, "", "", "copied to another scope", RUNTIME_COPY]


def test_symbolic_sizes_follow_the_shapes_given():
    with pytest.raises(AdrenoSimError, match="input 'x' has the symbolic shape"):
        extract_plan(handmade.symbolic())
    plan = extract_plan(handmade.symbolic(), {"x": (10, 4)})
    assert [s.planned_bytes for s in plan.storages] == [160, 160]
    assert lives(plan) == {"t0": ("s0", 160, 8, 20, "add_one"), "t1": ("s1", 160, 12, 20, "add_one")}
    with pytest.raises(AdrenoSimError, match=r"main, param\[0\] \(x\), dimension 1 of \(10, 5\): expected 4, found 5"):
        extract_plan(handmade.symbolic(), {"x": (10, 5)})


def chain(*last_uses):
    """t0..tn of 64 bytes in a storage each; ti is made at 3i + 1 and used last by the call that makes tensor last_uses[i]."""
    body = []
    for i in range(len(last_uses) + 1):
        body.append(v.AllocStorage(f"s{i}", v.ShapeLiteral((64,)), "global", "uint8"))
        body.append(v.AllocTensor(f"t{i}", f"s{i}", 0, v.ShapeLiteral((4, 4)), "float32", "global"))
        sources = [j for j, last in enumerate(last_uses) if last == i] or [i - 1]
        source = v.Reg("x") if i == 0 else v.Reg(f"t{sources[0]}")
        body.append(v.CallHost("add_one", (source, v.Reg(f"t{i}"))))
    body.append(v.Return(v.Reg("x")))
    info = TensorInfo("x", (4, 4), "float32")
    return handmade.model([info], info, [handmade.ADD_ONE_HOST], body)


def test_the_lower_bound_counts_what_is_alive_together():
    assert extract_plan(chain(1, 2, 3)).summary.live_lower_bound == 128  # a chain: input and output of each call
    assert extract_plan(chain(1, 3)).summary.planned == 3 * 64
    skip = chain(2, 2)  # t0 lives until t2 is made; t1 only while it is made
    assert extract_plan(skip).summary.live_lower_bound == 128


def test_a_reshape_extends_the_life_of_what_it_names():
    body = list(chain(1).functions["main"].body)
    body.insert(3, v.Reshape("r", v.Reg("t0"), v.ShapeLiteral((16,))))
    body.insert(-1, v.Reshape("q", v.Reg("r"), v.ShapeLiteral((8, 2))))
    model = chain(1)
    model = replace(model, functions={"main": replace(model.functions["main"], body=tuple(body))})
    plan = extract_plan(model)
    assert [(t.id, t.first, t.last) for t in plan.tensors] == [("t0", 1, 7), ("t1", 5, 6)]


def test_results_of_branches_are_left_alone():
    plan = extract_plan(handmade.branch())
    assert [(s.id, s.planned, s.planned_bytes) for s in plan.storages] == [("s", False, 32)]
    assert plan.summary.constants == 32
    assert plan.summary.planned == 0
    assert plan.summary.inflation == 1.0


SIZES = [
    (TensorSpec((3, 5), "float32"), 60),
    (TensorSpec((1, 4, 28, 28, 4), "float32", "global.texture"), 4 * 28 * 28 * 16),
    (TensorSpec((1, 4, 7, 7, 4), "float32", "global.texture"), 4 * 7 * 128),  # 112 -> 128
    (TensorSpec((1, 4, 7, 7, 4), "float16", "global.texture"), 4 * 7 * 64),  # 56 -> 64
    (TensorSpec((1, 4, 7, 7, 4), "float32", "global.texture-weight"), 1 * 4 * 7 * 7 * 16),  # 3136 = 49 * 64
    (TensorSpec((1, 4, 7, 7, 4), "float32", "global.texture-nhwc"), 4 * 832),  # height 4, width 49: 784 -> 832
]


@pytest.mark.parametrize(("spec", "nbytes"), SIZES, ids=str)
def test_row_aligned_size(spec, nbytes):
    assert row_aligned_size(spec) == nbytes


spans = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(1, 100)), max_size=12)


@given(spans)
def test_the_lower_bound_against_a_timeline(spans):
    tensors = [
        PlannedTensor(str(i), "s", 0, (), "uint8", "global", size, size, min(a, b), max(a, b))
        for i, (a, b, size) in enumerate(spans)
    ]
    timeline = np.zeros(22, np.int64)
    for tensor in tensors:
        timeline[tensor.first : tensor.last + 1] += tensor.right_bytes
    assert live_lower_bound(tensors) == timeline.max()
