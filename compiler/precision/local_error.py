"""Error of each layer alone: the layer recast, on the operands it has in the unchanged network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...records import dataclass
from ..layers.numbering import function_of, layers
from ..layers.recast import cast, rebuild_call
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, shape_values, type_of, var_name


@dataclass(frozen=True)
class LayerError:
    """One layer. error: largest |difference| over max(|value|, rms) of the layer's result; inf where one overflowed.

    rms: of the result in the network's own type. largest: its largest magnitude.
    """

    number: int
    name: str
    operator: str
    shape: tuple[int, ...]
    error: float
    rms: float
    largest: float


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """Largest |got - expected| / max(|expected|, rms(expected)); inf where only one of them is finite."""
    a, b = got.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    if not a.size:
        return 0.0
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite):
        return float("inf")
    scale = np.maximum(np.abs(b), np.sqrt(np.mean(np.square(b[finite]))) if finite.any() else 0.0)
    difference = np.abs(a[finite] - b[finite])
    scale = scale[finite]
    return float(np.max(np.divide(difference, scale, out=np.zeros_like(difference), where=scale > 0), initial=0.0))


def local_errors(mod: Any, arrays: Sequence[np.ndarray], dtype: str, out_dtype: str, ops: Sequence[str]) -> list[LayerError]:
    """Every layer's own error, on TVM's llvm target. ops: full operator names; arrays: the inputs of `main`, in order.

    Raises UnsupportedError for a function that branches.
    """
    from ...golden.model_reference import ModelReference

    found = layers(function_of(mod, "main"), ops)
    if not found:
        return []
    pairs = ModelReference(_with_twins(mod, found, dtype, out_dtype)).run(arrays)
    errors = []
    for number, binding in enumerate(found):
        expected, got = pairs[2 * number], pairs[2 * number + 1]
        finite = expected[np.isfinite(expected)].astype(np.float64)
        rms = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
        largest = float(np.abs(finite).max()) if finite.size else 0.0
        name, operator = var_name(binding.var), str(binding.value.op.name).removeprefix("relax.")
        errors.append(LayerError(number, name, operator, _shape(expected), relative_error(got, expected), rms, largest))
    return errors


def _shape(array: np.ndarray) -> tuple[int, ...]:
    return tuple(int(size) for size in array.shape)


def _with_twins(mod: Any, found: Sequence[Any], dtype: str, out_dtype: str) -> Any:
    """A module whose `main` returns, for each layer, its result and that of its recast twin on the same operands."""
    tvm = import_tvm()
    relax = tvm.relax
    plain = relax.transform.ToNonDataflow()(mod)
    function = function_of(plain, "main")
    others = {var: other for var, other in plain.functions_items() if str(var.name_hint) != "main"}
    names = {str(binding.value.op.name) for binding in found}
    numbers = {key(binding.value): number for number, binding in enumerate(layers(function, tuple(names)))}
    builder = relax.BlockBuilder(tvm.IRModule(others, attrs=plain.attrs, global_infos=plain.global_infos))
    results: list[Any] = []
    with builder.function("main", list(function.params)):
        for block in function.body.blocks:
            for binding in block.bindings:
                value = getattr(binding, "value", None)
                if value is not None and kind(value) == "If":
                    raise UnsupportedError("unsupported: precision of a model that branches")
                builder.emit_normalized(binding)
                if value is None or key(value) not in numbers:
                    continue
                args = [_twin_operand(builder, arg, dtype, numbers[key(value)]) for arg in value.args]
                twin = builder.emit(rebuild_call(value, args, out_dtype))
                before = str(type_of(binding.var).dtype)
                results += [binding.var, twin if out_dtype == before else builder.emit(relax.op.astype(twin, before))]
        builder.emit_func_output(builder.emit(relax.Tuple(results)))
    return builder.get()


def _twin_operand(builder: Any, arg: Any, dtype: str, layer: int) -> Any:
    relax = import_tvm().relax
    held = getattr(type_of(arg), "dtype", None)
    if held is None or shape_values(type_of(arg)) is None or np.dtype(str(held)).kind not in "fiu" or str(held) == dtype:
        return arg
    array = constant_array(arg)
    if array is not None:
        return relax.const(cast(array, dtype, layer), dtype)
    return builder.emit(relax.op.astype(arg, dtype))
