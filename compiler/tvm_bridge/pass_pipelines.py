"""Looking into a TVM pass pipeline, and cutting one at a named pass, with pass instruments only."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from .versions import import_tvm, tvm_series, type_of

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass

CONTAINERS = ("sequential", "_pipeline")
"""Names of passes that only run other passes."""


def clone(mod: IRModule) -> IRModule:
    """A module whose functions can be replaced without changing `mod` (ApplyDefaultSchedule writes into its input)."""
    return import_tvm().IRModule(dict(mod.functions_items()), attrs=mod.attrs, global_infos=mod.global_infos)


def with_own_constants(mod: IRModule) -> IRModule:
    """A copy of `mod` whose Relax functions hold constant nodes of their own, over the same data.

    TVM's AnnotateCustomMemoryScope writes virtual devices into the types of constants in place; without this the
    module a caller handed in would be spoilt for every other target.
    """
    fresh = clone(mod)
    mutator = _constants_mutator()(mod)
    for var, func in mod.functions_items():
        if isinstance(func, import_tvm().relax.Function):
            fresh[var] = mutator.visit_expr(func)
    return fresh


@functools.cache  # TVM keeps the class of each mutator
def _constants_mutator() -> Any:
    relax = import_tvm().relax
    older = tvm_series() != "0.27"

    class Fresh(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.made: dict[int, Any] = {}

        def fresh(self, op: Any) -> Any:
            key = int(op.__chandle__())
            if key not in self.made:
                make = relax.Constant if older else import_tvm().ir.GenericConst
                self.made[key] = make(op.data if older else op.value, type_of(op))
            return self.made[key]

        def visit_constant_(self, op: Any) -> Any:
            return self.fresh(op)

        def visit_generic_const_(self, op: Any) -> Any:
            return self.fresh(op)

    return relax.expr_functor.mutator(Fresh)


@contextmanager
def watching(*watchers: object) -> Iterator[None]:
    """A pass context in which TVM calls those of `should_run`, `run_before_pass`, `run_after_pass` which each watcher has."""
    with import_tvm().transform.PassContext(instruments=[_make_instrument(watcher) for watcher in watchers]):
        yield


def _make_instrument(watcher: object) -> Any:
    """Made by TVM's own constructor: its Python decorator makes a class for each instrument, and no class ever goes."""
    hooks = (getattr(watcher, name, None) for name in ("should_run", "run_before_pass", "run_after_pass"))
    return import_tvm().get_global_func("instrument.PassInstrument")(type(watcher).__name__, None, None, *hooks)


class Snapshot:
    """Keeps a copy of the module the first time the named pass starts ("before") or ends ("after").

    Passes nested in another pass do not count: constant folding compiles small modules of its own on the way.
    """

    def __init__(self, name: str, when: Literal["before", "after"]):
        self.module: IRModule | None = None
        self._name, self._when = name, when
        self._open: list[str] = []

    @property
    def open_pass(self) -> str:
        """The innermost pass that has begun and not ended: that which failed, after an error; "" for none."""
        return next((name for name in reversed(self._open) if name not in CONTAINERS), "")

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        if self._when == "before":
            self._take(mod, info.name)
        self._open.append(info.name)

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        self._open.pop()
        if self._when == "after":
            self._take(mod, info.name)

    def _take(self, mod: IRModule, name: str) -> None:
        nested = any(outer not in CONTAINERS for outer in self._open)
        if name == self._name and not nested and self.module is None:
            self.module = clone(mod)


class _Window:
    """Lets only the passes from `start` (None = the first) up to, not including, the first one of `stops` run.

    without: `start` itself does not run either.
    """

    def __init__(self, start: str | None, stops: set[str], without: bool = False):
        self._start, self._stops, self._without = start, stops, without
        self._running = start is None
        self.stopped_at: str | None = None

    def should_run(self, _mod: IRModule, info: Any) -> bool:
        if info.name in CONTAINERS:
            return True
        if self.stopped_at is not None:
            return False
        if not self._running:
            self._running = info.name == self._start
            return self._running and not self._without
        if info.name in self._stops:
            self.stopped_at = info.name
            return False
        return self._running


def run_with_insertions(
    pipeline: Pass,
    mod: IRModule,
    insertions: Mapping[str, Callable[[IRModule], IRModule]],
    watchers: Sequence[object] = (),
    instead: Mapping[str, Pass] | None = None,
) -> IRModule:
    """Run `pipeline` with further passes put in: `insertions` maps the name of a pass to what runs just before it, `instead` to
    what runs in its place.

    The pipeline's own passes run once each, in order, unchanged. It is run once per piece, with the passes outside the
    piece switched off by an instrument, so that no list of TVM's passes is kept here. watchers: as `watching` takes them.
    """
    start: str | None = None
    replaced = instead or {}
    stops = {*insertions, *replaced}
    while True:
        window = _Window(start, stops, start in replaced)
        with watching(window, *watchers):
            mod = pipeline(mod)
        if window.stopped_at is None:
            return mod
        start = window.stopped_at
        stops.discard(start)
        for added in (insertions, replaced):
            if start in added:
                mod = added[start](mod)
