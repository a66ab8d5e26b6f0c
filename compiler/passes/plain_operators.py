"""plain-operators: operators that the layout conversion gets wrong beside a convolution are computed unchanged, in NCHW.

ConvertLayout packs what it reaches from a convolution. A split at channel numbers keeps those numbers where the axis counts
texels, so that parts are empty or hold other channels ("data channel size is 0"); `stack` has no packed layout; normalisations
over a group and variances reduce half an axis, those of layers keep the axes of four dimensions; a packed mask is padded with a
float; a squeeze of axis -1 is written beside its list of axes ("std::bad_alloc"); an operand of other rank, or with one channel
for all, does not go with packed ones ("Cannot broadcast from 5 to 4"). 0.25 to 0.27.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix, before_layout

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

SPLIT = "relax.split"
SQUEEZE = "relax.squeeze"
MASKS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
         "logical_not", "isnan", "isinf", "isfinite", "where")  # fmt: skip
"""Operators with operands or results of type bool, which no texel holds."""

NORMS = ("nn.group_norm", "nn.instance_norm", "nn.layer_norm", "nn.rms_norm")
PLAIN = tuple(f"relax.{name}" for name in (*MASKS, "stack", "variance", "std", *NORMS))

BINARY = tuple(f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum"))
"""Operators with two operands; one of them is broadcast."""


def keep_plain() -> Pass:
    """Relax pass before ConvertLayout: legalises such calls, which hides them from it. Even splits stay in textures."""
    return rewrite_calls("KeepPlainOperators", (SPLIT, SQUEEZE, *BINARY, *PLAIN), _rewrite)


def _rewrite(builder: Any, call: Any) -> Any:
    if call.op.name == SPLIT:
        return _split(builder, call)
    if call.op.name == SQUEEZE:
        return _squeeze(call)
    if call.op.name in BINARY and not _broadcasts_channels(call):
        return call
    return _legalise(builder, call)


def _squeeze(call: Any) -> Any:
    """A squeeze whose axes are counted from the front."""
    shape, axes = shape_values(type_of(call.args[0])), call.attrs.axis
    if shape is None or axes is None or all(int(axis) >= 0 for axis in axes):
        return call
    return import_tvm().relax.op.squeeze(call.args[0], sorted(int(axis) % len(shape) for axis in axes))


def _broadcasts_channels(call: Any) -> bool:
    """Whether an image goes with an operand of other rank or with one channel. Scalars go with all."""
    one, other = (shape_values(type_of(arg)) for arg in call.args)
    if not one or not other or max(len(one), len(other)) != 4:
        return False
    return len(one) != len(other) or sum(not _is_one(shape[1]) for shape in (one, other)) == 1


def _is_one(size: Any) -> bool:
    return isinstance(size, import_tvm().tirx.IntImm) and int(size) == 1


def _split(builder: Any, call: Any) -> Any:
    """A split of an image's channels at given numbers: into equal parts where they are equal, else kept plain."""
    shape = shape_values(type_of(call.args[0]))
    at = call.attrs.indices_or_sections
    if shape is None or len(shape) != 4 or int(call.attrs.axis) % 4 != 1 or not hasattr(at, "__len__"):
        return call
    if not isinstance(shape[1], import_tvm().tirx.IntImm):
        return _legalise(builder, call)
    bounds = [0, *map(int, at), int(shape[1])]
    parts = {end - start for start, end in pairwise(bounds)}
    if len(parts) == 1:
        return import_tvm().relax.op.split(call.args[0], len(bounds) - 1, axis=1)
    return _legalise(builder, call)


def _legalise(builder: Any, call: Any) -> Any:
    return import_tvm().ir.Op.get(call.op.name).get_attr("FLegalize")(builder, call)


def add(passes: list[Pass], target: Target) -> list[Pass]:
    """Run before the layout conversion of texture targets."""
    return before_layout(passes, target, keep_plain())


FIX = Fix(
    name="plain-operators",
    versions=ALL_VERSIONS,
    summary="splits, stacks, masks, norms and broadcasts of channels beside convolutions compile for textures and are right",
    relax=add,
)
