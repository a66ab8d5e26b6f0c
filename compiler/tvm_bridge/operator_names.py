"""Names of a model's operators, carried through TVM's passes as the spans of the variables that hold their results.

A span is TVM's note of where something comes from: passes keep it where they keep the variable, and it changes no code.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .read import key, kind, op_name, type_of, var_name
from .versions import import_tvm, tvm_series

if TYPE_CHECKING:
    from tvm import IRModule


def name_of(var: Any) -> str:
    """The operator whose result the variable holds; "" if that is not known."""
    span = getattr(var, "span", None)
    return "" if span is None else str(span.source_name.name)


def with_names(mod: IRModule, names: Mapping[int, str]) -> IRModule:
    """A copy of `mod` whose variables with a key (`read.key`) in `names` carry these names."""
    mutator = _naming_mutator()(mod, names)
    changed = dict(mod.functions_items())
    for var, function in mod.functions_items():
        if kind(function) == "Function":
            changed[var] = mutator.visit_expr(function)
    return import_tvm().IRModule(changed, attrs=mod.attrs, global_infos=mod.global_infos)


@functools.cache  # TVM keeps the class of each mutator
def _naming_mutator() -> Any:
    relax = import_tvm().relax
    older = tvm_series() == "0.25"

    class Naming(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any, names: Mapping[int, str]) -> None:
            super().__init__(mod)
            self.names = dict(names)

        def named(self, var: Any) -> Any:
            name = self.names.get(key(var))
            if name is None:
                return var
            tvm = import_tvm()
            span = tvm.ir.Span(tvm.ir.SourceName(name), 1, 1, 1, 1)
            made = getattr(tvm.relax, kind(var))(var_name(var), type_of(var), span)
            self.set_var_remap(var.vid if older else var, made)
            return made

        def visit_var_def_(self, var: Any) -> Any:
            return self.named(var)

        def visit_dataflow_var_def_(self, var: Any) -> Any:
            return self.named(var)

    return relax.expr_functor.mutator(Naming)


def with_all_named(mod: IRModule) -> IRModule:
    """A copy of `mod` in which every result of an operator has a name: where it has none, the operator and the variable."""
    names = {}
    for function in mod.functions.values():
        if kind(function) == "Function":
            for binding in bindings(function.body):
                if not name_of(binding.var) and kind(getattr(binding, "value", None)) == "Call":
                    called = op_name(binding.value).removeprefix("relax.") or "call"
                    names[key(binding.var)] = f"{called} {var_name(binding.var)}"
    return with_names(mod, names) if names else mod


def bindings(body: Any) -> Iterator[Any]:
    """The bindings of a function's body in order; those of both sides of a branch before that of its result."""
    for block in getattr(body, "blocks", ()):
        for binding in block.bindings:
            value: Any = getattr(binding, "value", None)
            if kind(value) == "If":
                yield from bindings(value.true_branch)
                yield from bindings(value.false_branch)
            yield binding
