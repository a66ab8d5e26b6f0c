"""Which of the model's operators each call of a lowered module does.

Before TVM fuses operators, variables carry their names; a fused call has none. A call after fusing is followed to the calls that
it was made of: those with the same callee and the same arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from .operator_names import bindings, name_of
from .pass_pipelines import Snapshot
from .read import key, kind, op_name

if TYPE_CHECKING:
    from tvm import IRModule

Calls = list[tuple[str, tuple[str, ...]]]
"""Calls of one function in order: what is called, and the names of the operators that it does."""

FUSION = "FuseOps"


@dataclass
class FusionWatch:
    """Follows operators through TVM's fusion: two watchers for `pass_pipelines.watching`."""

    before: Snapshot = field(default_factory=lambda: Snapshot(FUSION, "before"))
    after: Snapshot = field(default_factory=lambda: Snapshot(FUSION, "after"))

    def operators(self) -> dict[str, Calls]:
        """Function of the module -> its calls after fusing; empty where no operator was fused."""
        if self.before.module is None or self.after.module is None:
            return {}
        return {
            name: list(_calls(self.before.module[name], function, self.after.module))
            for name, function in _functions(self.after.module).items()
            if name in _functions(self.before.module)
        }


def match_calls(calls: Calls, called: Sequence[str]) -> list[tuple[str, ...]]:
    """Operators of each of `called`, functions in the order in which a lowered program calls them.

    Later passes leave calls out and give a function another name, but keep the order.
    """
    found: list[tuple[str, ...]] = [()] * len(called)
    matcher = SequenceMatcher(None, [name for name, _ in calls], list(called), autojunk=False)
    for what, begin, end, first, last in matcher.get_opcodes():
        if what == "equal" or (what == "replace" and end - begin == last - first):
            found[first:last] = [operators for _, operators in calls[begin:end]]
    return found


def _functions(mod: IRModule) -> dict[str, Any]:
    """The Relax functions that are not groups of fused operators."""
    return {var.name_hint: f for var, f in mod.functions_items() if kind(f) == "Function" and not _is_group(f)}


def _is_group(function: Any) -> bool:
    return bool(function.attrs) and "Primitive" in function.attrs


def _calls(before: Any, after: Any, mod: IRModule) -> Iterator[tuple[str, tuple[str, ...]]]:
    names = _NamedValues(before)
    groups = {var.name_hint: f for var, f in mod.functions_items() if kind(f) == "Function" and _is_group(f)}
    values: dict[int, Any] = {}
    for binding in bindings(after.body):
        value: Any = getattr(binding, "value", None)
        group = groups.get(str(value.op.name_hint)) if kind(value) == "Call" and kind(value.op) == "GlobalVar" else None
        if group is None:
            values[key(binding.var)], name = names.find(value, values)
            callee = _callee(value)
            if callee:
                yield callee, (name,) if name else ()
            continue
        inside = {key(p): names.describe(a, values) for p, a in zip(group.params, value.args, strict=True)}
        done: list[str] = []
        for inner in bindings(group.body):
            inside[key(inner.var)], name = names.find(getattr(inner, "value", None), inside)
            done += [name] if name and name not in done else []
        values[key(binding.var)] = names.describe(group.body.body, inside)
        yield str(value.op.name_hint), tuple(done)


def _callee(value: Any) -> str:
    """The function that a call_tir calls; "" for anything else."""
    if kind(value) != "Call" or not op_name(value).startswith("relax.call_tir"):
        return ""
    return str(value.args[0].name_hint)


class _NamedValues:
    """The values of a function before fusing by how they are computed, each with the operator that it belongs to."""

    def __init__(self, function: Any):
        self.values: dict[Any, list[tuple[int, str]]] = {}
        names: dict[int, Any] = {}
        for binding in bindings(function.body):
            how = self.describe(getattr(binding, "value", None), names)
            self.values.setdefault(how, []).append((key(binding.var), name_of(binding.var)))
            names[key(binding.var)] = key(binding.var)

    def find(self, value: Any, known: dict[int, Any]) -> tuple[Any, str]:
        """The value before fusing that is computed as `value` is, and its operator; of equals the first that is not found yet."""
        how = self.describe(value, known)
        there = self.values.get(how)
        if not there:
            return how, ""
        return there.pop(0) if len(there) > 1 else there[0]

    def describe(self, expr: Any, known: dict[int, Any]) -> Any:
        """How an expression is computed; variables are what `known` says, those of the function's parameters are themselves."""
        what = kind(expr)
        if what in ("Var", "DataflowVar"):
            return known.get(key(expr), key(expr))
        if what == "Call":
            return ("call", self.describe(expr.op, known), *(self.describe(arg, known) for arg in expr.args))
        if what == "Tuple":
            return ("tuple", *(self.describe(item, known) for item in expr.fields))
        if what == "TupleGetItem":
            return ("item", self.describe(expr.tuple_value, known), int(expr.index))
        if what == "GlobalVar":
            return str(expr.name_hint)
        return key(expr) if what in ("Constant", "GenericConst", "Op") else (what, str(expr))
