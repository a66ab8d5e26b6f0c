"""The passes that decide scopes as a `Scoping` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.errors import OptionError
from ..passes.base import SCHEDULE, before_first
from ..schedules.blocks import schedule_rule
from ..schedules.weight_texels import schedule_weight_texels
from ..tvm_bridge.versions import import_tvm
from .decision import Settle, choose_last, choose_most
from .define import define_vdevice
from .fold import fold_scope_changes
from .lift import lift_packing
from .merge import merge_copies
from .scoping import NO_TEXTURES, RULES, TVMS, Scoping

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

    from .define import Watch

ANNOTATE, FOLD = "AnnotateCustomMemoryScope", "FoldVDeviceScopeChange"
"""TVM's passes that decide scopes, and that take back copies that producers can do without."""

_SETTLE: dict[str, Settle] = dict(zip(RULES, (choose_last, choose_most), strict=True))


def find_settle(scoping: Scoping) -> Settle:
    """Who wins where consumers disagree."""
    return _SETTLE[scoping.rule]


def list_passes(scoping: Scoping, target: Any, watch: Watch | None = None) -> list[tuple[str, Pass]]:
    """The steps instead of TVM's AnnotateCustomMemoryScope, each with its name. watch: see `define_vdevice`."""
    transform = import_tvm().relax.transform
    merge = [("MergeCopies", merge_copies())] if scoping.rule == "fewest-copies" else []
    return [
        ("DefineVDevice", define_vdevice(target, find_settle(scoping), watch, scoping.weights)),
        ("DeadCodeElimination", transform.DeadCodeElimination()),
        ("RealizeVDevice", transform.RealizeVDevice()),
        *merge,
        ("RemoveRedundantAssignments", transform.CanonicalizeBindings()),
    ]


def annotate(scoping: Scoping, target: Any) -> Pass:
    """The steps as one pass, with the name of TVM's."""
    return import_tvm().transform.Sequential([step for _, step in list_passes(scoping, target)], name=ANNOTATE)


def replace_scoping(passes: list[Pass], target: Target, scoping: Scoping) -> list[Pass]:
    """A texture target's passes, with those of this package instead of TVM's two if TVM's do not do what is asked for,
    and the schedule for weights in textures.

    OptionError for a target without textures, which has nothing to decide.
    """
    if scoping == TVMS:
        return passes
    if "texture" not in target.keys:
        name = "rule" if scoping.rule != TVMS.rule else "weights"
        raise OptionError(name, f"{getattr(scoping, name)}: {NO_TEXTURES}")
    own: dict[str, Callable[[], Any]] = {ANNOTATE: lambda: annotate(scoping, target), FOLD: fold_scope_changes}
    replaced = [own[step.info.name]() if step.info.name in own else step for step in passes]
    if scoping.weights == TVMS.weights:
        return replaced
    replaced = lift_packing(replaced, fold_scope_changes().info.name)
    return before_first(replaced, SCHEDULE, schedule_rule("WeightTexels", schedule_weight_texels))
