"""Convolutions of small integers in HWNC: activations by row, column, batch, channel; weights HWOI; sums in int32."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError, UnsupportedError
from ..memory_scopes.demand import sizes
from ..passes.fold_layouts import fold_layouts
from ..tvm_bridge.pass_pipelines import clone
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, type_of
from .casts import cast
from .int4 import pack_int4, packed_byte, packed_element
from .numbering import CONVOLUTIONS, function_of, layers, skipped_layers

HWNC = ("HWNC", "HWOI")
"""The layouts of data and weights."""


def convert_hwnc(mod: Any, dtype: str = "int8", skip_layers: Iterable[int] = (), function: str = "main") -> Any:
    """A copy of a Relax module whose conv2d layers compute in `dtype` ("int8" or "int4") and HWNC, with int32 sums.

    Layers are counted in `function`; those of skip_layers stay unchanged. Weights must be constants that fit the type;
    activations are rounded towards zero, and of an int4 the low four bits count. int4 lies two in a byte, along channels.
    Raises AdrenoSimError for another type, layer number or unfitting weights, UnsupportedError for a layer that is grouped,
    neither in NCHW nor in HWNC, of unknown shape, or for int4 of an odd number of channels.
    """
    if dtype not in ("int8", "int4"):
        raise AdrenoSimError(f"dtype {dtype!r}: expected int8 or int4")
    found = layers(function_of(mod, function), CONVOLUTIONS)
    if any(constant_array(binding.value.args[1]) is None for binding in found):
        mod = _with_constant_weights(mod)
        found = layers(function_of(mod, function), CONVOLUTIONS)
    skip = skipped_layers(len(found), skip_layers)
    weights = {key(b.value): _weights(b.value, n, dtype) for n, b in enumerate(found) if n not in skip}
    mutator = _mutator(mod, weights, dtype == "int4")
    for var, body in mod.functions_items():
        if str(var.name_hint) == function:
            mutator.builder_.update_func(var, mutator.visit_expr(body))
    return mutator.builder_.get()


def _with_constant_weights(mod: Any) -> Any:
    """The module with what ConvertLayout does to weights done: their transpositions are constants."""
    tvm = import_tvm()
    return tvm.transform.Sequential([fold_layouts(), tvm.relax.transform.CanonicalizeBindings()])(clone(mod))


def _weights(call: Any, number: int, dtype: str) -> np.ndarray:
    """A layer's weights in HWOI, packed for int4."""
    attrs = call.attrs
    array = constant_array(call.args[1])
    layouts = (str(attrs.data_layout), str(attrs.kernel_layout))
    channels = 0 if array is None else array.shape[3 if layouts == HWNC else 1]
    refusals = {
        "its weights are not constant": array is None,
        "it is grouped": int(attrs.groups) != 1,
        f"its layouts are {attrs.data_layout}, {attrs.kernel_layout}": layouts not in (("NCHW", "OIHW"), HWNC),
        "its shape is not constant": None in (sizes(call.args[0]) or [None]),
        "int4 needs an even number of channels": dtype == "int4" and channels % 2 == 1,
    }
    for reason, holds in refusals.items():
        if holds:
            raise UnsupportedError(f"unsupported: layer {number} in HWNC {dtype}: {reason} (skip_layers leaves it alone)")
    assert array is not None
    made = cast(array, "int8", number)
    hwoi = made if layouts == HWNC else made.transpose(2, 3, 0, 1)
    return pack_int4(hwoi) if dtype == "int4" else np.ascontiguousarray(hwoi)


def _mutator(mod: Any, weights: dict[int, np.ndarray], packed: bool) -> Any:
    relax = import_tvm().relax

    class Convert(relax.PyExprMutator):  # type: ignore[name-defined]
        def visit_call_(self, call: Any) -> Any:
            if kind(call.op) != "Op" or key(call) not in weights:
                return self.visit_expr_post_order(call)
            attrs, builder = call.attrs, self.builder_
            data = builder.emit(relax.op.astype(self.visit_expr(call.args[0]), "int8"))
            there = str(attrs.data_layout) == HWNC[0]
            if not there:
                data = builder.emit(relax.op.permute_dims(data, [2, 3, 0, 1]))
            if packed:
                data = builder.emit(builder.call_te(pack, data, primfunc_name_hint="pack_int4"))
            strides, padding, dilation = ([int(n) for n in ns] for ns in (attrs.strides, attrs.padding, attrs.dilation))
            weight = relax.const(weights[key(call)], "int8")
            sums = builder.emit(builder.call_te(conv2d_hwnc, data, weight, strides, padding, dilation, packed))
            result = sums if there else builder.emit(relax.op.permute_dims(sums, [2, 3, 0, 1]))
            return builder.normalize(relax.op.astype(result, str(type_of(call).dtype)))

    return relax.expr_functor.mutator(Convert)(mod)


def pack(data: Any) -> Any:
    """TE: int8 values (low four bits) packed along the innermost dimension."""
    from tvm import te

    shape = [*data.shape[:-1], data.shape[-1] // 2]
    return te.compute(shape, lambda *at: packed_byte(data(*at[:-1], 2 * at[-1]), data(*at[:-1], 2 * at[-1] + 1)), name="packed")


def conv2d_hwnc(data: Any, weight: Any, strides: list[int], padding: list[int], dilation: list[int], packed: bool) -> Any:
    """TE: (H, W, N, C) int8 by (KH, KW, O, C) int8 to (OH, OW, N, O) int32; channels two in a byte where `packed`."""
    from tvm import te, tirx

    height, width, batch, bytes_ = data.shape
    rows, columns, out, _ = weight.shape
    channels = bytes_ * 2 if packed else bytes_
    top, left, bottom, right = padding
    y = te.reduce_axis((0, rows), "y")
    x = te.reduce_axis((0, columns), "x")
    c = te.reduce_axis((0, channels), "c")

    def element(tensor: Any, *at: Any) -> Any:
        if not packed:
            return tensor(*at)
        return packed_element(tensor(*at[:-1], at[-1] // 2), at[-1])

    def product(i: Any, j: Any, n: Any, o: Any) -> Any:
        row, column = i * strides[0] + y * dilation[0] - top, j * strides[1] + x * dilation[1] - left
        inside = tirx.all(row >= 0, row < height, column >= 0, column < width)
        held = tirx.if_then_else(inside, element(data, row, column, n, c), tirx.const(0, "int8"))
        return te.sum(held.astype("int32") * element(weight, y, x, o, c).astype("int32"), axis=[y, x, c])

    extents = (
        (height + top + bottom - dilation[0] * (rows - 1) - 1) // strides[0] + 1,
        (width + left + right - dilation[1] * (columns - 1) - 1) // strides[1] + 1,
    )
    return te.compute((*extents, batch, out), product, name="conv2d_hwnc")
