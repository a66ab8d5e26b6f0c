"""state-objects: functions that take, give back or create an object, as a KV cache, compile for textures.

ConvertLayout leaves a tuple with an item that is no tensor out of its dataflow block ("should not rewrite or delete any
global-scope Var"), and AnnotateCustomMemoryScope takes a call that gives an object for one of `call_tir` ("Expect output type").
0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm, var_name
from ..base import Fix
from ..relax_calls import before_layout

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

ANNOTATE = "AnnotateCustomMemoryScope"


def make_tuples_outside() -> Pass:
    """Relax pass: a tuple with an object among its items is made behind the dataflow block whose result it is."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, func in mod.functions_items():
            if isinstance(func, tvm.relax.Function):
                blocks = [part for block in func.body.blocks for part in _split(block)]
                if len(blocks) > len(func.body.blocks):
                    body = tvm.relax.SeqExpr(blocks, func.body.body)
                    mod[var] = tvm.relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.MakeTuplesOutside")


def _split(block: Any) -> list[Any]:
    """A block without its tuples that hold objects, and these in a block of their own."""
    relax = import_tvm().relax
    inside: list[Any] = []
    behind: list[Any] = []
    for binding in block.bindings if read.kind(block) == "DataflowBlock" else ():
        value: Any = getattr(binding, "value", None)
        if read.kind(binding.var) != "Var" or read.kind(value) != "Tuple" or all(_is_tensor(item) for item in value.fields):
            inside.append(binding)
            continue
        items = []
        for item in value.fields:
            if read.kind(item) == "DataflowVar":
                inside.append(relax.VarBinding(relax.Var(var_name(item), read.type_of(item)), item))
                item = inside[-1].var
            items.append(item)
        behind.append(relax.VarBinding(binding.var, relax.Tuple(items)))
    return [relax.DataflowBlock(inside), relax.BindingBlock(behind)] if behind else [block]


def _is_tensor(item: Any) -> bool:
    return read.kind(read.type_of(item)) == "TensorType"


def leave_out_makers(annotate: Pass) -> Pass:
    """The pass on a module without functions that give objects alone, which then join it again: they hold no tensors."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        makers = {
            var: func
            for var, func in mod.functions_items()
            if isinstance(func, tvm.relax.Function) and read.kind(read.return_type(func)) == "AnyType"
        }
        for var in makers:
            del mod[var]
        mod = annotate(mod)
        for var, func in makers.items():
            mod[var] = func
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.LeaveOutMakers")


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before ConvertLayout, and around the pass that decides scopes."""
    around = [leave_out_makers(item) if item.info.name == ANNOTATE else item for item in passes]
    return before_layout(around, target, make_tuples_outside())


FIX = Fix(
    name="state-objects",
    versions=("0.27",),
    summary="functions that take, give back or create a KV cache compile for textures",
    relax=add,
)
