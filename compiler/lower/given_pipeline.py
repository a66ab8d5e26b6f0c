"""A Relax pipeline that the caller gives instead of ours, and what its functions were before it scheduled them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

from ...base.errors import AdrenoSimError
from ..tvm_bridge import read
from ..tvm_bridge.pass_pipelines import watching
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass
    from tvm.target import Target

GIVEN = "given"
"""What reports call such a pipeline."""

GivenPipeline = Union["Pass", Callable[["IRModule"], "IRModule"]]

_OF_OTHER_MODULES = ("FoldConstant", "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR")
"""Passes that lower small modules of their own, whose functions may have the same names."""

_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")
"""What a module holds until its Relax functions are lowered for the VM."""


def run_given(pipeline: GivenPipeline, mod: IRModule, target: Target) -> tuple[IRModule, IRModule]:
    """The module at VM level, and its PrimFuncs as they last were without threads.

    Where the pipeline does not lower Relax functions for the VM, TVM's Adreno passes do. Raises AdrenoSimError if it
    returns no module; whatever the pipeline raises.
    """
    tvm = import_tvm()
    history = _Unscheduled()
    history.look(mod)
    with target, watching(history):
        lowered = pipeline(mod)
        if not isinstance(lowered, tvm.IRModule):
            raise AdrenoSimError(f"pipeline: it returned {type(lowered).__name__}: expected an IRModule")
        if _calls_functions(lowered):
            stages = tvm.relax.pipeline
            rest = [*stages.dataflow_lower_passes(target), *stages.finalize_passes(target)]
            lowered = tvm.transform.Sequential(rest)(lowered)
    return lowered, history.of(lowered)


def _calls_functions(mod: IRModule) -> bool:
    """Whether a Relax function still calls PrimFuncs as `call_tir` does."""
    relax = import_tvm().relax
    found: list[bool] = []
    for _, function in mod.functions_items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(
                function,
                lambda node: found.append(True) if isinstance(node, relax.Call) and read.op_name(node) in _CALLS else None,
            )
    return bool(found)


class _Unscheduled:
    """Watches passes: for each function by name, every version without threads, the last one last."""

    def __init__(self) -> None:
        self._versions: dict[str, list[Any]] = {}
        self._seen: dict[int, Any] = {}  # keeps them alive: a handle may be used again
        self._open: list[str] = []

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        self.look(mod)
        self._open.append(info.name)

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        self._open.pop()
        self.look(mod)

    def look(self, mod: IRModule) -> None:
        if any(name in _OF_OTHER_MODULES for name in self._open):
            return
        prim_func = import_tvm().tirx.PrimFunc
        for var, function in mod.functions_items():
            if isinstance(function, prim_func) and read.key(function) not in self._seen:
                self._seen[read.key(function)] = function
                if not _has_threads(function):
                    self._versions.setdefault(var.name_hint, []).append(function)

    def of(self, lowered: IRModule) -> IRModule:
        """For each PrimFunc of the lowered module its last version without threads that takes the same, else itself."""
        prim_func = import_tvm().tirx.PrimFunc
        found = {}
        for var, function in lowered.functions_items():
            if isinstance(function, prim_func):
                alike = [one for one in self._versions.get(var.name_hint, ()) if _signature(one) == _signature(function)]
                found[var] = alike[-1] if alike else function
        return import_tvm().IRModule(found, attrs=lowered.attrs)


def _has_threads(function: Any) -> bool:
    return any(
        (read.kind(node) == "For" and node.thread_binding is not None)
        or (read.kind(node) == "AttrStmt" and str(node.attr_key) == "thread_extent")
        for node in read.walk(function.body)
    )


def _signature(function: Any) -> list[str]:
    """Types and known sizes of the parameters; names of symbols may differ."""
    texts = []
    for param in function.params:
        info = read.buffer_param(function, param)
        if info is None:
            texts.append(read.dtype_of(param))
        else:
            sizes = [str(dim) if read.kind(dim) == "IntImm" else "?" for dim in info.shape]
            texts.append(f"{info.dtype}[{', '.join(sizes)}]")
    return texts
