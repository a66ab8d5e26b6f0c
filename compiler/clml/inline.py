"""Inlines composite functions and subgraphs of Relax modules."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm

Emit = Callable[[Any], Any]


def as_main(function: Any, mod: Any) -> Any:
    """A module whose `main` computes what the subgraph `function` computes, without inner functions and attributes.

    mod: defines the PrimFuncs that `function` calls.
    """
    tvm = import_tvm()
    relax = tvm.relax
    builder = relax.BlockBuilder()
    params = [relax.Var(read.var_name(param), read.type_of(param)) for param in function.params]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(replay(function, params, builder.emit))
        builder.emit_func_output(result)
    called: dict[Any, Any] = {}

    def visit(expr: Any) -> None:
        if read.kind(expr) == "GlobalVar" and read.kind(mod[expr]) == "PrimFunc":
            called[expr] = mod[expr]

    relax.analysis.post_order_visit(function, visit)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): builder.get()["main"], **called})


def inline_functions(mod: Any, names: Container[str]) -> Any:
    """`mod` with every call of the functions `names` inlined, and these functions removed."""
    tvm = import_tvm()
    relax = tvm.relax
    kept = {var.name_hint: function for var, function in mod.functions_items() if var.name_hint in names}
    if not kept:
        return mod

    class Mutator(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            name = str(call.op.name_hint) if read.kind(call.op) == "GlobalVar" else ""
            return replay(kept[name], call.args, self.builder_.emit) if name in kept else call

    mutator = relax.expr_functor.mutator(Mutator)(mod)
    for var, function in mod.functions_items():
        if isinstance(function, relax.Function) and var.name_hint not in kept:
            mutator.builder_.update_func(var, mutator.visit_expr(function))
    found = mutator.builder_.get()
    found = tvm.IRModule(
        {v: f for v, f in found.functions_items() if v.name_hint not in kept}, attrs=mod.attrs, global_infos=mod.global_infos
    )
    return tvm.transform.Sequential([relax.transform.CanonicalizeBindings(), relax.transform.DeadCodeElimination()])(found)


def rename_functions(mod: Any, names: Mapping[str, str]) -> Any:
    """`mod` with functions under other names: old -> new."""
    tvm = import_tvm()
    relax = tvm.relax
    fresh: dict[str, Any] = {}
    for var, function in mod.functions_items():
        if var.name_hint in names:
            fresh[var.name_hint] = tvm.ir.GlobalVar(names[var.name_hint])
            relax.expr._update_type(fresh[var.name_hint], read.type_of(function))

    class Mutator(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            name = str(call.op.name_hint) if read.kind(call.op) == "GlobalVar" else ""
            return relax.Call(fresh[name], call.args, call.attrs, list(call.ty_args)) if name in fresh else call

    mutator = relax.expr_functor.mutator(Mutator)(mod)
    functions = {}
    for var, function in mod.functions_items():
        if var.name_hint in fresh:
            functions[fresh[var.name_hint]] = function.with_attr("global_symbol", names[var.name_hint])
        else:
            functions[var] = mutator.visit_expr(function) if isinstance(function, relax.Function) else function
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def replay(function: Any, args: Any, emit: Emit) -> Any:
    """Emit the calls of `function` on `args`, those of functions bound inside it included; the result's expression."""
    known = {read.key(param): arg for param, arg in zip(function.params, args, strict=True)}
    inner: dict[int, Any] = {}
    for block in function.body.blocks:
        for binding in block.bindings:
            value, key = binding.value, read.key(binding.var)
            if read.kind(value) == "Function":
                inner[key] = value
            elif read.kind(value) == "Call" and read.key(value.op) in inner:
                known[key] = replay(inner[read.key(value.op)], [_substitute(arg, known) for arg in value.args], emit)
            elif read.kind(value) == "Call":
                known[key] = emit(_substitute(value, known))
            else:
                known[key] = _substitute(value, known)
    return _substitute(function.body.body, known)


def _substitute(expr: Any, known: dict[int, Any]) -> Any:
    """`expr` with variables replaced."""
    relax = import_tvm().relax
    if read.key(expr) in known:
        return known[read.key(expr)]
    kind = read.kind(expr)
    if kind == "Tuple":
        return relax.Tuple([_substitute(item, known) for item in expr.fields])
    if kind == "TupleGetItem":
        source = _substitute(expr.tuple_value, known)
        return source.fields[expr.index] if read.kind(source) == "Tuple" else relax.TupleGetItem(source, expr.index)
    if kind == "Call":
        return relax.Call(expr.op, [_substitute(arg, known) for arg in expr.args], expr.attrs, list(expr.ty_args))
    return expr
