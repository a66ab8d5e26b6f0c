"""plan-coefficient: the memory plan reserves what textures need, not four times (float32) or twice (float16) as much.

TVM's StaticPlanBlockMemory multiplies every size by the item size. For textures the size is in bytes already, so their
storages come out 4 or 2 times too large, and buffers that fit are not given such storages by size. 0.25 to 0.27.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...base.specs import ImageSpec, TensorSpec
from ...records import dataclass
from ..run.texture_views import ROW_ALIGNMENT, planned_nbytes
from ..tvm_bridge.branch_storages import ALLOC_STORAGE, ALLOC_TENSOR, op_name, var_key, with_type_of
from ..tvm_bridge.static_plan import Life, plan_storages
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def replan_storages() -> Pass:
    """Module pass after StaticPlanBlockMemory: plan again with right sizes, by the same rules (`static_plan`).

    Functions with branches, or with storages of symbolic size, keep TVM's plan.
    """
    return place_tensors("adreno_sim.ReplanStorages", _by_tvms_rules)


def place_tensors(name: str, place: Callable[[Sequence[PlannedTensorVar]], CoefficientPlacement]) -> Pass:
    """Module pass after StaticPlanBlockMemory: moves the planned tensors to the storages and offsets that `place` returns."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, func in mod.functions_items():
            if isinstance(func, tvm.relax.Function):
                tensors = _planned_tensors(func)
                if tensors:
                    mod[var] = _rewrite(mod, func, tensors, place(tensors))
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


@dataclass(frozen=True)
class CoefficientPlacement:
    """sizes: bytes of each storage. storage_of, offsets: for each tensor. kinds: (scope, dtype) of each storage, None = those of
    the storage that TVM gave its first tensor."""

    sizes: tuple[int, ...]
    storage_of: tuple[int, ...]
    offsets: tuple[int, ...]
    kinds: tuple[str, str] | None = None


@dataclass
class PlannedTensorVar:
    """A planned tensor: its variable, its first and last step, and the arguments of the storage TVM gave it."""

    var: Any
    first: int
    last: int
    storage_call: Any


def _planned_tensors(func: Any) -> list[PlannedTensorVar]:
    """The tensors in planned storages of a function; empty for branches and symbolic sizes, which keep TVM's plan."""
    relax = import_tvm().relax
    bindings = [binding for block in func.body.blocks for binding in block.bindings]
    if any(isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.If) for binding in bindings):
        return []
    storages: dict[int, Any] = {}
    planned: dict[int, PlannedTensorVar] = {}
    owner: dict[int, set[int]] = {}  # variable -> the planned tensors it may alias
    for step, binding in enumerate(bindings):
        used = {root for var in _free_vars(binding.value) for root in owner.get(var_key(var), ())}
        for root in used:
            planned[root].last = step
        name = op_name(binding.value)
        if name == ALLOC_STORAGE:
            storages[var_key(binding.var)] = binding.value
        elif name == ALLOC_TENSOR:
            call = storages[var_key(binding.value.args[0])]
            planned[var_key(binding.var)] = PlannedTensorVar(binding.var, step, step, call)
            owner[var_key(binding.var)] = {var_key(binding.var)}
        elif used:
            owner[var_key(binding.var)] = used
    for root in {root for var in _free_vars(func.body.body) for root in owner.get(var_key(var), ())}:
        planned[root].last = len(bindings)
    sizes = [call.args[0].values[0] for call in storages.values()]
    return list(planned.values()) if all(isinstance(size, import_tvm().tirx.IntImm) for size in sizes) else []


def _free_vars(expr: Any) -> list[Any]:
    relax = import_tvm().relax
    found: list[Any] = []
    relax.analysis.post_order_visit(expr, lambda node: found.append(node) if isinstance(node, relax.Var) else None)
    return found


def tensor_nbytes(kind: Any) -> int:
    """Bytes of a tensor of constant shape: rows of a texture are padded to the target's image_base_address_alignment."""
    shape = tuple(int(size) for size in shape_values(kind) or ())
    scope = str(kind.vdevice.memory_scope) if kind.vdevice is not None else "global"
    spec = TensorSpec(shape, str(kind.dtype), scope)
    image = spec.lower()
    if not isinstance(image, ImageSpec):
        return spec.nbytes
    return planned_nbytes(image, int(kind.vdevice.target.attrs.get("image_base_address_alignment", ROW_ALIGNMENT)))


def _by_tvms_rules(tensors: Sequence[PlannedTensorVar]) -> CoefficientPlacement:
    lives = [
        Life(tensor_nbytes(type_of(t.var)), t.first, t.last, (str(t.storage_call.args[2]), str(t.storage_call.args[3])))
        for t in tensors
    ]
    plan = plan_storages(lives)
    return CoefficientPlacement(plan.sizes, plan.storage_of, (0,) * len(tensors))


def _rewrite(mod: Any, func: Any, tensors: list[PlannedTensorVar], plan: CoefficientPlacement) -> Any:
    """`func` with the storages of the new plan, each made just before the first tensor in it."""
    return _plan_mutator()(mod, tensors, plan).visit_expr(func)


@functools.cache  # TVM keeps the class of each mutator
def _plan_mutator() -> Any:
    relax = import_tvm().relax

    class Replan(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any, tensors: list[PlannedTensorVar], plan: CoefficientPlacement) -> None:
            super().__init__(mod)
            self.tensors, self.plan = tensors, plan
            self.number = {var_key(tensor.var): i for i, tensor in enumerate(tensors)}
            self.made: dict[int, Any] = {}

        def visit_var_binding_(self, binding: Any) -> None:
            name = op_name(binding.value)
            if name == ALLOC_STORAGE:
                return
            if name != ALLOC_TENSOR:
                super().visit_var_binding_(binding)
                return
            tensor, plan = self.number[var_key(binding.var)], self.plan
            storage = plan.storage_of[tensor]
            if storage not in self.made:
                size = relax.ShapeExpr([plan.sizes[storage]])
                device, *kinds = self.tensors[tensor].storage_call.args[1:]
                call = relax.op.memory.alloc_storage(size, device, *(plan.kinds or kinds))
                self.made[storage] = self.builder_.emit(call, "storage")
            call = relax.op.memory.alloc_tensor(self.made[storage], plan.offsets[tensor], *binding.value.args[2:])
            self.builder_.emit_normalized(relax.VarBinding(binding.var, with_type_of(call, binding.value)))

    return relax.expr_functor.mutator(Replan)


def add_replanning(passes: list[Pass], target: Target) -> list[Pass]:
    """Run right after TVM's planner, for targets with textures."""
    if "texture" not in target.keys:
        return passes
    (planner,) = (i for i, item in enumerate(passes) if item.info.name == "StaticPlanBlockMemory")
    return [*passes[: planner + 1], replan_storages(), *passes[planner + 1 :]]


FIX = Fix(
    name="plan-coefficient",
    versions=ALL_VERSIONS,
    summary="textures take their own size in the memory plan, not four (float32) or two (float16) times as much",
    relax=add_replanning,
)
