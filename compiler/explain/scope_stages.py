"""Runs the scoping stages one by one and keeps the module after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, UnsupportedError
from ...records import dataclass
from ..memory_scopes.decision import Decision
from ..memory_scopes.demand import Demand
from ..memory_scopes.fold import fold_scope_changes
from ..memory_scopes.scoping import TVMS, Scoping
from ..memory_scopes.scoping_passes import ANNOTATE, FOLD, annotate, list_passes
from ..passes.base import Fix
from ..tvm_bridge.pass_pipelines import clone, with_own_constants

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass
    from tvm.target import Target

LAST = "SpecializePrimFuncBasedOnCallSite"


@dataclass(frozen=True)
class Stage:
    """A step by its name in the design (or TVM's), and the pass that does it."""

    name: str
    run: Pass


@dataclass
class StagedModule:
    """The module after every stage, in order, and what was asked and decided on the way."""

    modules: dict[str, IRModule] = field(default_factory=dict)
    demands: list[Demand] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @property
    def final(self) -> IRModule:
        return self.modules[LAST]

    def at(self, name: str) -> IRModule:
        """The module after a stage; AdrenoSimError lists the stages there are."""
        if name not in self.modules:
            raise AdrenoSimError(f"stage {name!r}: expected one of {', '.join(self.modules)}")
        return self.modules[name]


def stages(target: Target, fixes: Sequence[Fix] = (), scoping: Scoping = TVMS, staged: StagedModule | None = None) -> list[Stage]:
    """The stages for a texture target: TVM's passes, the fixes of `fixes`, and the scoping of this package.

    staged: receives demands and decisions while the passes run.
    """
    from ..lower.pipeline import relax_passes

    if "texture" not in target.keys:
        raise UnsupportedError("unsupported: scopes are decided for texture targets; every tensor of this target is in a buffer")

    def watch(demand: Demand, decisions: dict[int, Decision]) -> None:
        if staged is not None:
            staged.demands.append(demand)
            staged.decisions += decisions.values()

    found: list[Stage] = []
    for item in relax_passes(target, fixes):
        name = item.info.name
        if name == ANNOTATE:
            found += [Stage(*step) for step in list_passes(scoping, target, watch)]
        elif name == FOLD:
            found.append(Stage("OptimizeToVDeviceForScopeChange", fold_scope_changes()))
        else:
            found.append(Stage(name, item))
        if name == LAST:
            return _number_stages(found)
    raise UnsupportedError(f"unsupported: TVM's pipeline for {target} has no pass {LAST}")


def _number_stages(found: list[Stage]) -> list[Stage]:
    """The stages with a number behind a name that comes more than once: LegalizeOps, LegalizeOps.2."""
    seen: dict[str, int] = {}
    named = []
    for stage in found:
        seen[stage.name] = seen.get(stage.name, 0) + 1
        named.append(Stage(stage.name if seen[stage.name] == 1 else f"{stage.name}.{seen[stage.name]}", stage.run))
    return named


def run_stages(
    module: IRModule, target: Target, fixes: Sequence[Fix] = (), rule: str = "tvm", weights: str = "buffer"
) -> StagedModule:
    """Run all stages on a Relax module. rule, weights: see `Scoping`. Raises UnsupportedError if TVM's passes cannot."""
    from ..lower.pipeline import reason

    staged = StagedModule()
    with target:
        steps = stages(target, fixes, Scoping(rule, weights), staged)
        module = with_own_constants(module)
        for step in steps:
            try:
                module = step.run(module)
            except AdrenoSimError:
                raise
            except Exception as error:  # TVM raises whatever its C++ and Python layers raise
                raise UnsupportedError(f"unsupported: stage {step.name} fails on this module: {reason(error)}") from error
            staged.modules[step.name] = clone(module)
    return staged


def annotate_scopes(target: Any, rule: str = "tvm", weights: str = "buffer") -> Pass:
    """One pass instead of TVM's AnnotateCustomMemoryScope."""
    return annotate(Scoping(rule, weights), target)
