"""Tuned schedules in a model: each function that was tuned gets the best one of the database, the others what they got before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.pass_pipelines import clone
from ..tvm_bridge.read import kind
from ..tvm_bridge.versions import import_tvm
from .cancel import cancel_copies, staged_params
from .constant_weights import constant_weights, place_in_textures
from .store import NEVER, TuningStore, digest_of
from .tasks import cuts, isolate, params_of, prim_funcs
from .variants import KEY

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass

NAME = "adreno_sim.ApplyTuned"


class TunedSchedules:
    """The best schedules of a tuning folder. applied: what became of each function that was tuned, filled while compiling.

    Raises AdrenoSimError if the folder is none of `tune`'s.
    """

    first_schedule = NAME
    """The pass before which no function is scheduled yet."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = os.fspath(folder)
        self.applied: dict[str, str] = {}
        self._store = TuningStore(folder)
        self._flat: dict[str, Any] = {}

    def add_passes(self, passes: list[Pass]) -> list[Pass]:
        """The Relax passes with two more: one sees functions as they were tuned, before scopes are written into them; one
        schedules them, before TVM's rules schedule the rest."""
        transform = import_tvm().transform
        scope, schedule = cuts(passes)
        remember = transform.module_pass(self._remember, opt_level=0, name="adreno_sim.RememberUnscoped")
        apply = transform.module_pass(self._apply, opt_level=0, name=NAME)
        return [*passes[:scope], remember, *passes[scope:schedule], apply, *passes[schedule:]]

    def _remember(self, module: IRModule, _context: Any) -> IRModule:
        """Keep the functions as they were tuned; constants that a schedule stages in textures become textures."""
        self._flat = prim_funcs(module)
        target = import_tvm().target.Target.current(allow_none=False)
        constants = constant_weights(module, target)
        staged = {name: self._staged(function) & constants.get(name, frozenset()) for name, function in self._flat.items()}
        return place_in_textures(module, target, staged)

    def _staged(self, function: Any) -> frozenset[int]:
        """The parameters that the schedule found for a function only copies into textures."""
        flat = isolate(function)
        record = self._best(flat) if self._store.database.has_workload(flat) else None
        if record is None or self._default_is_best(flat, record):
            return frozenset()
        schedule = import_tvm().s_tir.Schedule(flat)
        record.trace.apply_to_schedule(schedule, False)
        return frozenset(staged_params(schedule, params_of(flat["main"])).values())

    def _apply(self, module: IRModule, _context: Any) -> IRModule:
        changed = clone(module)
        for var, function in module.functions_items():
            name = str(var.name_hint)
            if kind(function) == "PrimFunc" and name in self._flat:
                scheduled = self._best_schedule(name, isolate(self._flat[name]), function)
                if scheduled is not None:
                    changed[var] = scheduled
        self._flat = {}
        return changed

    def _best_schedule(self, name: str, flat: IRModule, scoped: Any) -> Any:
        """The function with the best schedule found for it; None if it was not tuned, or nothing beat the default one."""
        tvm = import_tvm()
        if not self._store.database.has_workload(flat):
            return None
        record = self._best(flat)
        if record is None:
            self.applied[name] = "default schedule: no candidate was accepted"
            return None
        if self._default_is_best(flat, record):
            self.applied[name] = "default schedule: no candidate was better"
            return None
        schedule = tvm.s_tir.Schedule(isolate(scoped))
        try:
            record.trace.apply_to_schedule(schedule, False)
            gone = cancel_copies(schedule)
        except tvm.s_tir.ScheduleError as error:
            self.applied[name] = f"default schedule: the tuned one does not fit here ({str(error).strip().splitlines()[-1]})"
            return None
        variant = str(schedule.get(schedule.get_sblock("root")).annotations[KEY])
        forwarded = f"; staging copies cancelled: {len(gone)}" if gone else ""
        self.applied[name] = f"{variant}{forwarded}"
        return with_attributes_of(schedule.mod["main"], scoped)

    def _default_is_best(self, flat: IRModule, record: Any) -> bool:
        """Whether the schedule without tuning ranks no worse than this record."""
        rank = (self._store.default(digest_of(flat)) or {}).get("rank")
        return rank is not None and rank <= float(record.run_secs[0])

    def _best(self, flat: IRModule) -> Any:
        """The accepted record that ranks first."""
        found = self._store.database.get_top_k(self._store.database.commit_workload(flat), 1)
        return found[0] if found and float(found[0].run_secs[0]) < NEVER else None


def with_attributes_of(function: Any, other: Any) -> Any:
    """The scheduled function with the attributes of the one it replaces, known as scheduled."""
    attributes = {str(name): value for name, value in dict(other.attrs or {}).items()}
    for name in dict(function.attrs or {}):
        if str(name) not in attributes:
            function = function.without_attr(name)
    return function.with_attr({**attributes, "tirx.is_scheduled": True})
