"""A float32 module as one that stores float16."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import AdrenoSimError, UncompiledError
from ...memory.spilled import drop_resident_pages, spill
from ..tvm_bridge.read import key, kind, op_name, type_of
from ..tvm_bridge.tensors import constant_array, tensor_of
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

DTYPES = ("float32", "float16")


def with_storage(module: IRModule, dtype: str, accumulate: str = "float32") -> IRModule:
    """The module as it is for "float32"; for "float16" TVM's ToMixedPrecision: tensors are float16, sums `accumulate`.

    Inputs and outputs keep their types; constants are rounded here, once. AdrenoSimError for another dtype,
    UncompiledError if TVM's pass fails, as on a call of a function that its importer wrote itself (ONNX's Pad).
    """
    for name in (dtype, accumulate):
        if name not in DTYPES:
            raise AdrenoSimError(f"dtype {name!r}: expected one of {', '.join(DTYPES)}")
    if dtype == "float32":
        return module
    try:
        mixed = import_tvm().relax.transform.ToMixedPrecision(accumulate)(_without_clips(module))
    except Exception as error:  # whatever TVM raises
        said = shorten(next(iter(str(error).splitlines()), ""), 200, placeholder=" ...")
        raise UncompiledError(
            f"unsupported: TVM's ToMixedPrecision fails on this module: {type(error).__name__}: {said}; next: give a model "
            "that is in float16 itself, or check it in float32"
        ) from error
    return _store_constants(mixed)


def _without_clips(module: IRModule) -> IRModule:
    """Clips of floats as a minimum and a maximum: TVM's pass takes the limits of a clip for tensors, and fails."""
    relax = import_tvm().relax

    class Expand(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            if op_name(call) != "relax.clip" or not (dtype := str(type_of(call.args[0]).dtype)).startswith("float"):
                return call
            low, high = (relax.const(_number(limit), dtype) for limit in call.args[1:])
            return relax.op.maximum(self.builder_.normalize(relax.op.minimum(call.args[0], high)), low)

    mutator = relax.expr_functor.mutator(Expand)(module)
    for var, function in module.functions_items():
        if kind(function) == "Function":
            mutator.builder_.update_func(var, mutator.visit_expr(function))
    return mutator.builder_.get()


def _number(limit: Any) -> float:
    """A number that TVM holds as a PrimValue up to 0.26, as a PrimExpr from 0.27 on."""
    while not isinstance(limit, int | float):
        limit = limit.value
    return float(limit)


def _store_constants(module: IRModule) -> IRModule:
    """Casts of constants as constants: how a weight is rounded is part of the model, and no device's choice.

    Their errors would be the same for every element that the weight is used for, which no variance says.
    """
    relax = import_tvm().relax
    stored: dict[int, Any] = {}  # tensors, by key of the variable that stands for the cast

    def note(cast: Any, var: Any) -> None:
        array = constant_array(cast.args[0]) if kind(cast) == "Call" and op_name(cast) == "relax.astype" else None
        if array is not None and array.dtype.kind == "f" and kind(var) == "DataflowVar":
            dtype = str(type_of(var).dtype)
            with np.errstate(over="ignore"):
                stored[key(var)] = tensor_of(spill(array.astype(dtype)))
            drop_resident_pages()

    class Store(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_var_binding_(self, binding: Any) -> None:
            if key(binding.var) not in stored:
                super().visit_var_binding_(binding)

        def visit_dataflow_var_(self, var: Any) -> Any:
            return relax.const(stored[key(var)]) if key(var) in stored else super().visit_dataflow_var_(var)

    functions = [(var, function) for var, function in module.functions_items() if kind(function) == "Function"]
    mutator = relax.expr_functor.mutator(Store)(module)
    for var, function in functions:
        for block in getattr(function.body, "blocks", ()):
            for binding in block.bindings:
                note(getattr(binding, "value", None), binding.var)
        mutator.builder_.update_func(var, mutator.visit_expr(function))
    return mutator.builder_.get()
