"""Planners as Relax passes: the model runs and agrees, in the bytes that the planner gives the same model afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from adreno_sim.backends.open import open_device  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError  # noqa: E402
from adreno_sim.compiler.artifact.model import CompiledModel  # noqa: E402
from adreno_sim.compiler.doctor.models import residual  # noqa: E402
from adreno_sim.compiler.extract.module import extract  # noqa: E402
from adreno_sim.compiler.lower.pipeline import lower, relax_passes  # noqa: E402
from adreno_sim.compiler.lower.targets import make_target  # noqa: E402
from adreno_sim.compiler.passes.registry import choose  # noqa: E402
from adreno_sim.compiler.plan.apply import replan  # noqa: E402
from adreno_sim.compiler.plan.planning_pass import plan_memory, with_planner  # noqa: E402
from adreno_sim.compiler.plan.rules import DeviceRules  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.golden.model_reference import ModelReference  # noqa: E402

pytestmark = pytest.mark.tvm


def compiled(planner: str | None, device: Any, pipeline: str = "fixed") -> CompiledModel:
    passed = None if planner is None else plan_memory(planner, device)
    return extract(lower(residual(), make_target("texture", device.info.limits), pipeline, planner=passed))


@pytest.mark.parametrize("planner", ["unified", "arena", "tvm-fixed"])
def test_a_planner_in_the_pipeline(planner: str, adreno: Any) -> None:
    model = compiled(planner, adreno)
    assert model.plan is not None
    x = np.random.default_rng(0).standard_normal(model.inputs[0].shape).astype("float32")
    (found,) = vm.run(model, [x], adreno)
    (expected,) = ModelReference(residual()).run([x])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    rules = DeviceRules.of_device(adreno)
    afterwards = replan(compiled(None, adreno), planner, rules)
    assert afterwards.plan is not None
    assert model.plan.summary.planned == afterwards.plan.summary.planned


def test_tvm_alone_plans_more() -> None:
    device = open_device("sim:adreno-740")
    stock, fixed = compiled("tvm", device), compiled("tvm-fixed", device)
    assert stock.plan is not None
    assert fixed.plan is not None
    assert stock.plan.summary.planned > 2 * fixed.plan.summary.planned


def test_tensors_side_by_side_in_one_storage(adreno: Any) -> None:
    model = compiled("arena", adreno)
    assert model.plan is not None
    assert any(tensor.offset for tensor in model.plan.tensors)


def test_what_cannot_be_is_refused(adreno: Any) -> None:
    with pytest.raises(AdrenoSimError, match="planner 'unifed' does not exist"):
        plan_memory("unifed", adreno)
    with pytest.raises(UnsupportedError, match="its storages are textures"):
        compiled("texture-pool", adreno)
    apart = open_device("sim:adreno-650")
    with pytest.raises(AdrenoSimError, match="no image2d_array over a buffer"):
        compiled("arena", apart)
    with pytest.raises(AdrenoSimError, match="StaticPlanBlockMemory 0 times"):
        with_planner([], plan_memory("tvm"))


def test_it_stands_where_tvms_pass_stood(adreno: Any) -> None:
    target = make_target("texture")
    with target:
        passes = relax_passes(target, choose())
        names = [item.info.name for item in with_planner(passes, plan_memory("unified", adreno))]
    before = [item.info.name for item in passes]
    assert names.index("adreno_sim.PlanMemory") == before.index("StaticPlanBlockMemory")
    assert "StaticPlanBlockMemory" not in names
    assert "adreno_sim.ReplanStorages" not in names
