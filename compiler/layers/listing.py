"""The layers of a model as data: their numbers, and what they take and give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ...records import dataclass
from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import kind
from ..tvm_bridge.versions import shape_values, type_of, var_name
from .numbering import CONVOLUTIONS, full_names, function_of, layers

SCHEMA = "adreno-sim/layers/1"


@dataclass(frozen=True)
class Layer:
    """A call of one of the operators asked for. number: from the start; from_end: the same layer, counted from the end. result:
    name of the variable. operands: dtype and shape of each tensor it takes. layout: of data, kernel and result, "" if the
    operator has none."""

    number: int
    from_end: int
    operator: str
    result: str
    dtype: str
    shape: tuple[str, ...]
    operands: tuple[str, ...]
    layout: str = ""


@dataclass(frozen=True)
class LayerList:
    """counts: calls of every operator of the function, the most frequent first."""

    model: str
    operators: tuple[str, ...]
    layers: tuple[Layer, ...]
    counts: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}


def list_layers(
    mod: Any, ops: str | Iterable[str] | None = CONVOLUTIONS, function: str = "main", model: str = "module"
) -> LayerList:
    """The layers of a module's function, or of a Relax function. ops: as of `recast`. AdrenoSimError for unknown operators."""
    names = full_names(ops)
    found = layers(function_of(mod, function), names)
    made = tuple(_layer(number, number - len(found), binding) for number, binding in enumerate(found))
    values = (getattr(binding, "value", None) for binding in bindings(function_of(mod, function)))
    called = [op_name(value) for value in values if value is not None and kind(value) == "Call"]
    counts = Counter(name.removeprefix("relax.") for name in called if name)
    return LayerList(model, tuple(name.removeprefix("relax.") for name in names), made, dict(counts.most_common()))


def _layer(number: int, from_end: int, binding: Any) -> Layer:
    call = binding.value
    result = type_of(binding.var)
    tensors = [ty for arg in call.args if hasattr(ty := type_of(arg), "dtype") and shape_values(ty) is not None]
    layouts = [str(getattr(call.attrs, name, "")) for name in ("data_layout", "kernel_layout", "out_layout")]
    return Layer(
        number, from_end, op_name(call).removeprefix("relax."), var_name(binding.var), str(result.dtype), _sizes(result),
        tuple(f"{ty.dtype} {'x'.join(_sizes(ty))}" for ty in tensors), ", ".join(filter(None, layouts)),
    )  # fmt: skip


def _sizes(ty: Any) -> tuple[str, ...]:
    return tuple(str(int(size)) if kind(size) == "IntImm" else str(size) for size in shape_values(ty) or ())
