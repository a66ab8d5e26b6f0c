"""Computes chosen operators in another element type, with casts where types meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ..memory_scopes.demand import op_name
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, type_of
from .casts import cast, numeric
from .hwnc import convert_hwnc
from .numbering import CONV2D, CONVOLUTIONS, LAYERS, full_names, function_of, layers, skipped_layers


def recast(
    mod: Any,
    dtype: str,
    out_dtype: str | None = None,
    ops: str | Iterable[str] | None = CONVOLUTIONS,
    skip_layers: Iterable[int] = (),
    function: str = "main",
) -> Any:
    """A copy of a Relax module in which the calls of `ops` take `dtype` and give `out_dtype` (default: `dtype`).

    ops: operators by name; None = all that can give another type than they take (LAYERS: convolutions and matrix products).
    Operands are cast before such a call and its result back to the type it had, except between two such calls that agree;
    constants are cast here. Layers in `skip_layers`, and all other operators, are untouched. There is no quantisation
    intelligence: integer types take values as they are, rounded towards zero. int4, which OpenCL C has not, is computed in HWNC,
    two elements in a byte, with sums in int32: see `convert_hwnc`.
    Raises AdrenoSimError for unknown operators, types and layer numbers, and for a constant that does not fit the type;
    UnsupportedError for int4 where there is no such kernel.
    """
    names = full_names(ops)
    found = layers(function_of(mod, function), names)
    skip = skipped_layers(len(found), skip_layers)
    if dtype == "int4":
        return _recast_int4(mod, out_dtype or "int32", found, skip, function)
    made, out = numeric(dtype), numeric(out_dtype or dtype)
    chosen = {key(binding.value) for number, binding in enumerate(found) if number not in skip}
    constants: dict[int, np.ndarray] = {}  # by key of the node; cast here, as no error gets through TVM's mutator whole
    for number, binding in enumerate(found):
        for arg in binding.value.args if number not in skip else ():
            array = constant_array(arg)
            if array is not None and array.dtype.kind in "fiu":
                constants[key(arg)] = cast(array, made, number)
    mutator = _mutator(mod, chosen, constants, made, out)
    for var, body in mod.functions_items():
        if str(var.name_hint) == function:
            mutator.builder_.update_func(var, mutator.visit_expr(body))
    return import_tvm().relax.transform.DeadCodeElimination()(mutator.builder_.get())


def _recast_int4(mod: Any, out_dtype: str, found: list[Any], skip: set[int], function: str) -> Any:
    """The module with its convolutions in int4. found: the layers in question; skip: numbers of those that stay."""
    if out_dtype != "int32":
        raise UnsupportedError(f"unsupported: recast from int4 to {out_dtype}: sums of int4 are int32 (out_dtype)")
    for number, binding in enumerate(found):
        name = op_name(binding.value)
        if number not in skip and name != CONV2D:
            raise UnsupportedError(
                f"unsupported: layer {number} in int4: {name.removeprefix('relax.')} has no kernel for it, nn.conv2d alone has "
                '(ops=["nn.conv2d"], or skip_layers leaves it alone)'
            )
    convolutions = [binding for binding in found if op_name(binding.value) == CONV2D]
    stay = {key(binding.value) for number, binding in enumerate(found) if number in skip}
    return convert_hwnc(mod, "int4", [n for n, b in enumerate(convolutions) if key(b.value) in stay], function)


def _mutator(mod: Any, chosen: set[int], constants: dict[int, np.ndarray], dtype: str, out_dtype: str) -> Any:
    relax = import_tvm().relax

    class Recast(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.native: dict[int, Any] = {}  # results of recast calls before they were cast back, by original variable

        def visit_var_binding_(self, binding: Any) -> None:
            call = binding.value
            if kind(call) != "Call" or key(call) not in chosen:
                super().visit_var_binding_(binding)
                return
            args = [self.operand(arg) for arg in call.args]
            result = self.builder_.emit(rebuild_call(call, args, out_dtype))
            if str(type_of(result).dtype) != out_dtype:
                result = self.builder_.emit(relax.op.astype(result, out_dtype))
            self.native[key(binding.var)] = result
            before = str(type_of(binding.var).dtype)
            back = result if before == out_dtype else relax.op.astype(result, before)
            self.builder_.emit_normalized(relax.VarBinding(binding.var, self.builder_.normalize(back)))

        def operand(self, arg: Any) -> Any:
            """An operand in `dtype`; anything but a numeric tensor stays."""
            held = getattr(type_of(arg), "dtype", None)
            if held is None or np.dtype(str(held)).kind not in "fiu":
                return self.visit_expr(arg)
            if key(arg) in constants:
                return relax.const(constants[key(arg)], dtype)
            native = self.native.get(key(arg))
            if native is not None and str(type_of(native).dtype) == dtype:
                return native
            new = self.visit_expr(arg)
            return new if str(held) == dtype else self.builder_.emit(relax.op.astype(new, dtype))

    return relax.expr_functor.mutator(Recast)(mod)


def rebuild_call(call: Any, args: list[Any], out_dtype: str) -> Any:
    """The same operator call on other operands, with `out_dtype` as its output type where the operator has that attribute."""
    relax = import_tvm().relax
    name = str(call.op.name)
    if name not in LAYERS:
        return relax.Call(call.op, args, call.attrs)
    if name == "relax.matmul":
        return relax.op.matmul(*args, out_dtype=out_dtype)
    attrs = call.attrs
    names = ["strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout"]
    if name.endswith("_transpose"):
        names.append("output_padding")
    values = {name: getattr(attrs, name) for name in names}
    plain = {name: str(value) if name.endswith("layout") else value for name, value in values.items()}
    for name in ("strides", "padding", "dilation", "output_padding"):
        if name in plain:
            plain[name] = tuple(int(number) for number in plain[name])
    plain["groups"] = int(plain["groups"])
    operator = getattr(relax.op.nn, str(call.op.name).rpartition(".")[2])
    return operator(*args, **plain, out_dtype=out_dtype)
