"""Rewriting Relax calls one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .versions import import_tvm

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def rewrite_calls(name: str, operators: Sequence[str], rewrite: Callable[[Any, Any], Any]) -> Pass:
    """A module pass that replaces each call of `operators` by `rewrite(builder, call)`; it may return the call itself."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        mutator = _call_mutator()(mod, operators, rewrite)
        for var, func in mod.functions_items():
            if isinstance(func, tvm.relax.Function):
                mutator.builder_.update_func(var, mutator.visit_expr(func))
        return mutator.builder_.get()

    return tvm.transform.module_pass(transform, opt_level=0, name=f"adreno_sim.{name}")


@functools.cache  # TVM keeps the class of each mutator
def _call_mutator() -> Any:
    relax = import_tvm().relax

    class Rewrite(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any, operators: Sequence[str], rewrite: Callable[[Any, Any], Any]) -> None:
            super().__init__(mod)
            self.operators, self.rewrite = operators, rewrite

        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            return self.rewrite(self.builder_, call) if getattr(call.op, "name", "") in self.operators else call

    return relax.expr_functor.mutator(Rewrite)
