"""The references of kernels: their PrimFuncs before scheduling, except for those that the caller gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ..importers.model import is_prim_func
from ..tvm_bridge.versions import import_tvm
from .golden import Reference, References

if TYPE_CHECKING:
    from tvm import IRModule

    from ...golden.expectations import KernelExpectations
    from ...golden.truth.units import Units


@dataclass(frozen=True)
class KernelReferences:
    """all: of every function that has one. kernels: of those that are PrimFuncs. names: of those that were given."""

    all: Reference
    kernels: KernelExpectations
    names: Collection[str]


def settle_references(given: Mapping[str, Any], unscheduled: IRModule, units: Units, exact: bool) -> KernelReferences:
    """given: by function, a callable or a PrimFunc. unscheduled, units, exact: as `golden.expectations` takes them.

    Raises AdrenoSimError for a function that the module does not have, and for anything but a reference of it.
    """
    from ...golden.expectations import KernelExpectations
    from ...golden.given_references import GivenReferences

    tvm = import_tvm()
    own = {var.name_hint: function for var, function in unscheduled.functions_items()}
    if unknown := [name for name in given if name not in own]:
        raise AdrenoSimError(f"references of {', '.join(unknown)}: the functions are {', '.join(own) or 'none'}")
    functions = {name: reference for name, reference in given.items() if is_prim_func(reference)}
    for name, function in functions.items():
        if len(function.params) != len(own[name].params):
            raise AdrenoSimError(
                f"reference of {name}: it takes {len(function.params)} arguments, the kernel {len(own[name].params)}: "
                "expected the same"
            )
        own[name] = function.with_attr("global_symbol", name)
    callables = {name: reference for name, reference in given.items() if name not in functions}
    if not callables:
        kernels = KernelExpectations(tvm.IRModule(own), units, exact)
        return KernelReferences(kernels, kernels, set(given))
    rest = {name: function for name, function in own.items() if name not in callables}
    rounding = KernelExpectations(tvm.IRModule({name: own[name] for name in callables}), units)
    kernels = KernelExpectations(tvm.IRModule(rest), units, exact)
    return KernelReferences(References(GivenReferences(callables, rounding), kernels), kernels, set(given))
