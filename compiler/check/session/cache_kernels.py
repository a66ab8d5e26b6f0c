"""The kernels of a module's KV cache beside those of the same cache for the CPU: by their place in the call that creates it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...run.kv_cache import CREATE
from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule


def pair_cache_kernels(module: IRModule, reference: IRModule) -> dict[str, Any]:
    """PrimFuncs of the reference that say what kernels of the module's caches should compute, by the name of the kernel.

    TVM's runtime calls both with the same arguments. A pair that does not take as many is left out.
    """
    theirs = _kernels(reference)
    found: dict[str, Any] = {}
    for place, name in _kernels(module).items():
        other = theirs.get(place)
        if other is not None and len(reference[other].params) == len(module[name].params):
            found[name] = reference[other]
    return found


def _kernels(module: IRModule) -> dict[tuple[int, ...], str]:
    """Names of PrimFuncs by their place: number of the call, of the argument, and of the item where that is a tuple."""
    relax = import_tvm().relax
    calls: list[list[Any]] = []

    def visit(node: Any) -> None:
        if isinstance(node, relax.Call):
            args = [node.op, *node.args]
            names = [str(arg.global_symbol) if read.kind(arg) == "ExternFunc" else "" for arg in args]
            if CREATE in names:
                calls.append(args[names.index(CREATE) + 1 :])

    for _, function in sorted(module.functions_items(), key=lambda item: str(item[0].name_hint)):
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return {
        (number, position, item): str(value.name_hint)
        for number, args in enumerate(calls)
        for position, arg in enumerate(args)
        for item, value in enumerate(arg.fields if read.kind(arg) == "Tuple" else [arg])
        if read.kind(value) == "GlobalVar"
    }
