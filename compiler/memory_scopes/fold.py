"""Takes back a copy from a texture to a buffer that directly follows its producer: the producer writes the buffer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import key, kind, memory_scope
from ..tvm_bridge.versions import import_tvm, type_of
from .define import with_device
from .demand import bindings, op_name, operands
from .rules import GLOBAL, is_texture

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def fold_scope_changes() -> Pass:
    """Module pass: OptimizeToVDeviceForScopeChange. Dead producers are left to DeadCodeElimination."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, function in mod.functions_items():
            if isinstance(function, tvm.relax.Function):
                mod.update_func(var, _mutator(mod, function).visit_expr(function))
        return mod

    return tvm.transform.module_pass(transform, opt_level=1, name="adreno_sim.FoldScopeChange")


def foldable(function: Any) -> dict[int, Any]:
    """Copies that a producer can do without: by key of the to_vdevice call, the call_tir that writes its source.

    The source must be read by that copy alone.
    """
    readers: Counter[int] = Counter()
    producers: dict[int, Any] = {}
    copies: list[Any] = []
    for binding in bindings(function):
        value = getattr(binding, "value", None)
        if value is None or kind(value) != "Call":
            continue
        readers.update(key(arg) for arg in operands(value) if kind(arg) in ("Var", "DataflowVar"))
        if op_name(value) == "relax.call_tir":
            producers[key(binding.var)] = value
        elif op_name(value) == "relax.to_vdevice":
            copies.append(value)
    found = {}
    for copy in copies:
        source = key(copy.args[0])
        to = str(copy.attrs.dst_vdevice.memory_scope)
        if source in producers and readers[source] == 1 and to == GLOBAL:
            result = type_of(copy.args[0])
            if kind(result) in ("TensorType", "TensorStructInfo") and is_texture(memory_scope(result)):
                found[key(copy)] = producers[source]
    return found


def _mutator(mod: Any, function: Any) -> Any:
    relax = import_tvm().relax
    producers = foldable(function)

    class Fold(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            producer = producers.get(key(call))
            if producer is None:
                return self.visit_expr_post_order(call)
            result = with_device(type_of(call.args[0]), call.attrs.dst_vdevice)
            rewritten = self.visit_expr_post_order(producer)
            return self.builder_.normalize(relax.Call(rewritten.op, list(rewritten.args), rewritten.attrs, [result]))

    return relax.expr_functor.mutator(Fold)(mod)
