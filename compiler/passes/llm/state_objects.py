"""state-objects: functions that take, give back or create an object, as a KV cache, compile for textures.

ConvertLayout leaves a tuple with an item that is not a tensor out of its dataflow block ("should not rewrite or delete any
global-scope Var"), and AnnotateCustomMemoryScope takes a call that gives an object for one of `call_tir` ("Expect output type").
0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm, var_name
from ..base import Fix, after_first, before_first, before_layout

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
    """A block without its tuples that hold objects, and these in a separate block."""
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


def leave_out_makers() -> tuple[Pass, Pass]:
    """Two passes: the first takes functions that give objects alone out of the module, the second puts them back: they hold no
    tensors."""
    tvm = import_tvm()
    makers: dict[Any, Any] = {}

    def take(mod: Any, _ctx: Any) -> Any:
        makers.clear()
        for var, func in mod.functions_items():
            if isinstance(func, tvm.relax.Function) and read.kind(read.return_type(func)) == "AnyType":
                makers[var] = func
        for var in makers:
            del mod[var]
        return mod

    def put_back(mod: Any, _ctx: Any) -> Any:
        for var, func in makers.items():
            mod[var] = func
        makers.clear()
        return mod

    def as_pass(transform: Any, name: str) -> Pass:
        return tvm.transform.module_pass(transform, opt_level=0, name=f"adreno_sim.{name}")

    return as_pass(take, "LeaveOutMakers"), as_pass(put_back, "PutMakersBack")


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before ConvertLayout, and around the pass that decides scopes."""
    if any(item.info.name == ANNOTATE for item in passes):
        take, put_back = leave_out_makers()
        passes = after_first(before_first(passes, ANNOTATE, take), ANNOTATE, put_back)
    return before_layout(passes, target, make_tuples_outside())


FIX = Fix(
    name="state-objects",
    versions=("0.27",),
    summary="functions that take, give back or create a KV cache compile for textures",
    relax=add,
)
