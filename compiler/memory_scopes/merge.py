"""Makes one copy of several: a tensor that is copied to the same scope twice is copied once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import key
from ..tvm_bridge.versions import import_tvm
from .demand import op_name

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def merge_copies() -> Pass:
    """Module pass: a later equal to_vdevice becomes another name of the first. RemoveRedundantAssignments then drops it.

    A copy made inside a branch serves only that branch.
    """
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, function in mod.functions_items():
            if isinstance(function, tvm.relax.Function):
                mod.update_func(var, _mutator(mod).visit_expr(function))
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.MergeCopies")


def _mutator(mod: Any) -> Any:
    relax = import_tvm().relax

    class Merge(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.made: dict[tuple[int, str], Any] = {}

        def visit_var_binding_(self, binding: Any) -> None:
            value = binding.value
            if not isinstance(value, relax.Call) or op_name(value) != "relax.to_vdevice":
                super().visit_var_binding_(binding)
                return
            copy = (key(value.args[0]), str(value.attrs.dst_vdevice.memory_scope))
            first = self.made.get(copy)
            if first is None:
                self.made[copy] = binding.var
                super().visit_var_binding_(binding)
                return
            self.builder_.emit_normalized(relax.VarBinding(binding.var, self.visit_expr(first)))

        def visit_if_(self, branch: Any) -> Any:
            outside = dict(self.made)
            result = super().visit_if_(branch)
            self.made = outside
            return result

    return relax.expr_functor.mutator(Merge)(mod)
