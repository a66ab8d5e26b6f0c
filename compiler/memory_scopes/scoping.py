"""How scopes are decided, as an option, and the passes that decide them so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, OptionError
from ...records import dataclass
from ..passes.base import SCHEDULE, before_first
from ..schedules.blocks import schedule_rule
from ..schedules.weight_texels import schedule_weight_texels
from ..tvm_bridge.versions import import_tvm
from .decide import Settle, choose_last, choose_most
from .define import define_vdevice
from .fold import fold_scope_changes
from .lift import lift_packing
from .merge import merge_copies
from .rules import WEIGHTS

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

    from .define import Watch

ANNOTATE, FOLD = "AnnotateCustomMemoryScope", "FoldVDeviceScopeChange"
"""TVM's passes that decide scopes, and that take back copies that producers can do without."""

NO_TEXTURES = "is for texture targets; on this one every tensor is in a buffer"

_SETTLE: dict[str, Settle] = {"tvm": choose_last, "fewest-copies": choose_most}

RULES = tuple(_SETTLE)
"""How consumers that disagree are settled: as TVM's pass does, or as most of them ask, copies merged."""


@dataclass(frozen=True)
class Scoping:
    """rule: one of RULES. weights: one of WEIGHTS. AdrenoSimError for another one."""

    rule: str = "tvm"
    weights: str = "buffer"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise AdrenoSimError(f"rule {self.rule!r}: expected one of {', '.join(RULES)}")
        if self.weights not in WEIGHTS:
            raise AdrenoSimError(f"weights {self.weights!r}: expected one of {', '.join(WEIGHTS)}")

    @property
    def settle(self) -> Settle:
        """Who wins where consumers disagree."""
        return _SETTLE[self.rule]

    def passes(self, target: Any, watch: Watch | None = None) -> list[tuple[str, Pass]]:
        """The steps instead of TVM's AnnotateCustomMemoryScope, each with its name. watch: see `define_vdevice`."""
        transform = import_tvm().relax.transform
        merge = [("MergeCopies", merge_copies())] if self.rule == "fewest-copies" else []
        return [
            ("DefineVDevice", define_vdevice(target, self.settle, watch, self.weights)),
            ("DeadCodeElimination", transform.DeadCodeElimination()),
            ("RealizeVDevice", transform.RealizeVDevice()),
            *merge,
            ("RemoveRedundantAssignments", transform.CanonicalizeBindings()),
        ]

    def annotate(self, target: Any) -> Pass:
        """The steps as one pass, with the name of TVM's."""
        return import_tvm().transform.Sequential([step for _, step in self.passes(target)], name=ANNOTATE)


TVMS = Scoping()
"""What TVM's own passes do."""


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
    own: dict[str, Callable[[], Any]] = {ANNOTATE: lambda: scoping.annotate(target), FOLD: fold_scope_changes}
    replaced = [own[step.info.name]() if step.info.name in own else step for step in passes]
    if scoping.weights == TVMS.weights:
        return replaced
    replaced = lift_packing(replaced, fold_scope_changes().info.name)
    return before_first(replaced, SCHEDULE, schedule_rule("WeightTexels", schedule_weight_texels))
