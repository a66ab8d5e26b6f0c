"""Proves what scoping must have established: uses agree with scopes, no copy is left that need not be, textures are 5D."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from ...records import dataclass
from ..tvm_bridge.read import buffer_param, key, kind, memory_scope
from ..tvm_bridge.versions import import_tvm, type_of, var_name
from .demand import bindings, callee, is_tensor, op_name, operands, sizes
from .fold import foldable
from .rules import GLOBAL, is_texture


@dataclass(frozen=True)
class Violation:
    """A broken invariant: "error" for what gives wrong code, "warning" for an unnecessary copy; where, and what is wrong."""

    severity: Literal["error", "warning"]
    function: str
    tensor: str
    text: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.function}: {self.tensor}: {self.text}"


def violations(module: Any) -> list[Violation]:
    """What is wrong with the scopes of a module after SpecializePrimFuncBasedOnCallSite; empty if nothing is."""
    relax = import_tvm().relax
    found: list[Violation] = []
    for var, function in module.functions_items():
        if isinstance(function, relax.Function):
            found += _Checker(module, str(var.name_hint)).check(function)
    return found


class _Checker:
    def __init__(self, module: Any, name: str):
        self.module, self.name = module, name
        self.found: list[Violation] = []

    def check(self, function: Any) -> list[Violation]:
        for param in function.params:
            self.shape(param)
        for binding in bindings(function):
            value = getattr(binding, "value", None)
            if value is None or kind(value) != "Call":
                continue
            self.shape(binding.var)
            if op_name(value) == "relax.call_tir":
                self.call(binding.var, value)
        self.copies(function)
        return self.found

    def wrong(self, var: Any, text: str, severity: Literal["error", "warning"] = "error") -> None:
        self.found.append(Violation(severity, self.name, var_name(var), text))

    def shape(self, var: Any) -> None:
        """A texture has five dimensions, the innermost of 4."""
        if not is_tensor(var) or not is_texture(memory_scope(type_of(var))):
            return
        shape = sizes(var)
        if shape is None or len(shape) != 5 or shape[4] != 4:
            self.wrong(var, f"scope {memory_scope(type_of(var))} on shape {shape}: expected 5 dimensions, the innermost of 4")

    def call(self, var: Any, call: Any) -> None:
        """The PrimFunc's buffers have the scopes of what is passed, operands and results."""
        function = self.module[call.args[0]]
        infos = [info for param in function.params if (info := buffer_param(function, param)) is not None]
        types = [type_of(arg) for arg in operands(call)]
        results = getattr(type_of(var), "fields", None)
        types += list(results) if results is not None else [type_of(var)]
        for number, (info, passed) in enumerate(zip(infos, types, strict=False)):
            scope = memory_scope(passed)
            if info.scope != scope:
                self.wrong(var, f"{callee(call)} declares its buffer {number} {info.scope}, the tensor passed is {scope}")

    def copies(self, function: Any) -> None:
        """No copy within a scope, none that its producer could do without, no two of one tensor to one scope."""
        needless = foldable(function)
        made: Counter[tuple[int, str]] = Counter()
        for binding in bindings(function):
            value: Any = getattr(binding, "value", None)
            if value is None or kind(value) != "Call" or op_name(value) != "relax.to_vdevice":
                continue
            source, to = value.args[0], str(value.attrs.dst_vdevice.memory_scope) or GLOBAL
            made[key(source), to] += 1
            if memory_scope(type_of(source)) == to:
                self.wrong(binding.var, f"a copy from {to} to the same scope", "warning")
            if key(value) in needless:
                self.wrong(binding.var, "a copy of a texture to a buffer, which its producer could write itself", "warning")
            if made[key(source), to] > 1:
                self.wrong(binding.var, f"{var_name(source)} is copied to {to} a second time", "warning")
