"""Any planner as a Relax pass, instead of TVM's StaticPlanBlockMemory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...backends.open import open_device
from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.specs import TensorSpec
from ...device.protocol import Device
from ..passes.plan_coefficient import CoefficientPlacement, PlannedTensorVar, place_tensors
from ..tvm_bridge.read import memory_scope
from ..tvm_bridge.versions import import_tvm, shape_values, type_of, var_name
from .allocation import Allocation
from .planners import find, plan
from .problem import Item, Problem
from .rules import DeviceRules, spec_of

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

TVM_PASS = "StaticPlanBlockMemory"

OWN_PASS = "adreno_sim.ReplanStorages"
"""The fix of TVM's plan, which is not needed with a planner."""

ANY = ("global", "uint8")
"""Scope and element type of a storage that buffers and textures share: both are views of its bytes."""


def plan_memory(planner: str, device: str | Device | DeviceRules | None = None) -> Pass:
    """A pass that replaces StaticPlanBlockMemory: that pass, and its tensors placed again by `planner`.

    planner: a name of `planners.PLANNERS`; "tvm" is TVM's pass alone. device: whose pitch rule, alignments and limits
    hold; None = ADRENO_SIM_DEVICE, else sim:adreno-740. Functions with branches or storages of symbolic size keep TVM's plan.
    The pass raises AdrenoSimError if a planner puts tensors where the device makes no view of them. AdrenoSimError here for an
    unknown planner or device, UnsupportedError for a planner whose storages are textures of given extents instead of bytes.
    """
    tvm = import_tvm()
    find(planner)
    static = tvm.relax.transform.StaticPlanBlockMemory()
    if planner == "tvm":
        return static
    rules = device if isinstance(device, DeviceRules) else _rules(device)

    def choose(tensors: Sequence[PlannedTensorVar]) -> CoefficientPlacement:
        problem = Problem(tuple(_item(n, t, rules) for n, t in enumerate(tensors)), "main", rules.size, rules.max_allocation)
        found = plan(planner, problem)
        _refuse(found, rules)
        return CoefficientPlacement(found.storages, found.storage_of, found.offsets, ANY)

    return tvm.transform.Sequential([static, place_tensors(f"adreno_sim.Plan[{planner}]", choose)], name="adreno_sim.PlanMemory")


def with_planner(passes: Sequence[Pass], planner: Pass) -> list[Pass]:
    """A list of Relax passes with `planner` where TVM's stands. AdrenoSimError if it does not stand once."""
    names = [item.info.name for item in passes]
    if names.count(TVM_PASS) != 1:
        raise AdrenoSimError(f"the passes have {TVM_PASS} {names.count(TVM_PASS)} times: expected once")
    kept = [item for item in passes if item.info.name != OWN_PASS]
    return [planner if item.info.name == TVM_PASS else item for item in kept]


def _rules(device: str | Device | None) -> DeviceRules:
    return DeviceRules.of_device(open_device(device) if device is None or isinstance(device, str) else device)


def _item(number: int, tensor: PlannedTensorVar, rules: DeviceRules) -> Item:
    kind: Any = type_of(tensor.var)
    shape = tuple(int(size) for size in shape_values(kind) or ())
    spec = TensorSpec(shape, str(kind.dtype), memory_scope(kind))
    name, size = f"{var_name(tensor.var)}.{number}", max(1, rules.size(spec))
    end, alignment = tensor.last + 1, rules.alignment(spec)
    return Item(name, size, tensor.first, end, spec.scope, spec.dtype, shape, spec.nbytes, alignment)


def _refuse(found: Allocation, rules: DeviceRules) -> None:
    """Raise for a plan that the device cannot hold."""
    if found.slots:
        raise UnsupportedError(f"unsupported: planner {found.planner} as a pass: its storages are textures, not bytes")
    reasons = found.violations()
    for item, offset in zip(found.problem.items, found.offsets, strict=True):
        if offset and item.is_texture and not rules.image_views:
            reasons.append(f"texture {item.id} at offset {offset:,}: the device has no image2d_array over a buffer")
        if offset % rules.alignment(spec_of(item)):
            reasons.append(f"{item.id} at offset {offset:,}: expected a multiple of {rules.alignment(spec_of(item)):,} bytes")
    if reasons:
        raise AdrenoSimError(f"plan {found.planner} does not fit {rules.device}: {reasons[0]}")
