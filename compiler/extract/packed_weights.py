"""Functions whose packing of weights TVM has lifted out: callers still give them the weights unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..artifact import vm_function as vm
from ..memory_scopes.lift import INPUTS, SUFFIX
from ..tvm_bridge import read

if TYPE_CHECKING:
    from ..lower.pipeline import Lowered

PACKED = "_packed"
"""Behind the name of a function: the one that takes packed weights."""


def functions_of(mod: Any) -> dict[str, Any]:
    """The Relax functions of a module by name."""
    return {var.name_hint: function for var, function in mod.functions_items() if read.kind(function) == "Function"}


def find_lifted(lowered: Lowered) -> dict[str, Any]:
    """Functions as they were imported, by name, whose weights are packed by a function that lowering lifted out of them."""
    before, after = functions_of(lowered.imported), functions_of(lowered.relax)
    return {
        name: function
        for name, function in before.items()
        if name in after and name + SUFFIX in after and name + SUFFIX not in before and INPUTS in (function.attrs or {})
    }


def with_packing(functions: Mapping[str, vm.VMFunction], lifted: Mapping[str, Any]) -> dict[str, vm.VMFunction]:
    """The functions, those of `lifted` with their first parameters again: each packs its weights, and calls the lowered one."""
    found = dict(functions)
    for name, function in lifted.items():
        inner = name + PACKED
        while inner in found:
            inner += "_"
        found[inner] = replace(found[name], name=inner)
        found[name] = _packs_first(name, function, inner, len(found[inner].params))
    return found


def _packs_first(name: str, function: Any, inner: str, count: int) -> vm.VMFunction:
    """A function with the parameters of `function`. count: of parameters of `inner`, which follow as many inputs."""
    inputs = int(function.attrs[INPUTS])
    params = tuple(f"p{i}" for i in range(len(function.params)))
    weights = vm.MakeTuple("weights", tuple(vm.Reg(param) for param in params[inputs:]))
    packed = tuple(vm.GetItem(f"packed{i}", vm.Reg("packed"), i) for i in range(count - inputs))
    arguments = tuple(vm.Reg(param) for param in (*params[:inputs], *(item.dst for item in packed)))
    return vm.VMFunction(
        name,
        params,
        (
            weights,
            vm.CallVM("packed", name + SUFFIX, (vm.Reg("weights"),), once=True),
            *packed,
            vm.CallVM("result", inner, arguments),
            vm.Return(vm.Reg("result")),
        ),
    )
