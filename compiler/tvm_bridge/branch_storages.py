"""Storages of branches: TVM's StaticPlanBlockMemory gives a tensor of one branch the storage that the other one allocates.

It follows both branches as if one ran after the other. At run time the storage does not exist: TVM's virtual machine ends the
process with a segmentation fault. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .versions import import_tvm, tvm_series

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

ALLOC_STORAGE = "relax.memory.alloc_storage"
ALLOC_TENSOR = "relax.memory.alloc_tensor"


def has_branches(mod: Any) -> bool:
    """Returns whether a Relax function of the module has an `if`."""
    relax = import_tvm().relax
    found: list[bool] = []
    for _, func in mod.functions_items():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, lambda node: found.append(True) if isinstance(node, relax.If) else None)
    return bool(found)


def split_branch_storages() -> Pass:
    """Module pass after StaticPlanBlockMemory: a tensor whose storage is allocated in another branch gets one of its own, of the
    same size. What is allocated before a branch stays shared."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        if has_branches(mod):
            for var, func in mod.functions_items():
                if isinstance(func, tvm.relax.Function):
                    mod[var] = _split(mod, func)
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.SplitBranchStorages")


def _split(mod: Any, func: Any) -> Any:
    relax = import_tvm().relax

    class Split(relax.PyExprMutator):  # type: ignore[name-defined]
        """calls: of every storage's variable, what allocates it. dominating: those that are allocated on every way here."""

        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.calls: dict[int, Any] = {}
            self.dominating: set[int] = set()

        def visit_seq_expr_(self, seq: Any) -> Any:
            outer = set(self.dominating)
            seq = super().visit_seq_expr_(seq)
            self.dominating = outer
            return seq

        def visit_var_binding_(self, binding: Any) -> None:
            name = op_name(binding.value)
            if name == ALLOC_STORAGE:
                self.calls[var_key(binding.var)] = binding.value
                self.dominating.add(var_key(binding.var))
            if name != ALLOC_TENSOR or (key := var_key(binding.value.args[0])) in self.dominating:
                super().visit_var_binding_(binding)
                return
            storage = self.builder_.emit(relax.op.memory.alloc_storage(*self.calls[key].args), "storage")
            call = relax.op.memory.alloc_tensor(storage, *binding.value.args[1:])
            self.builder_.emit_normalized(relax.VarBinding(binding.var, with_type_of(call, binding.value)))

    return relax.expr_functor.mutator(Split)(mod).visit_expr(func)


def op_name(value: Any) -> str:
    """Returns the name of the operator that an expression calls; "" for anything else."""
    return str(getattr(getattr(value, "op", None), "name", ""))


def var_key(var: Any) -> int:
    """Returns what tells a variable from others."""
    return int(var.__chandle__())


def with_type_of(call: Any, like: Any) -> Any:
    """Returns `call` with the type of `like` (its virtual device included)."""
    relax = import_tvm().relax
    if tvm_series() == "0.25":
        relax.expr._update_struct_info(call, like.struct_info)
    else:
        relax.expr._update_type(call, like.ty)
    return call
