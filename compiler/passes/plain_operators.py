"""plain-operators: operators that the layout conversion gets wrong beside a convolution are computed as they are, in NCHW.

ConvertLayout packs what it reaches from a convolution. A split at channel numbers keeps those numbers where the axis counts
texels, so that parts are empty or hold other channels ("data channel size is 0"); `stack` has no packed layout; normalisations
over a group and variances reduce half an axis; a packed mask is padded with a float. 0.25 to 0.27.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.versions import import_tvm, shape_values, type_of
from .base import ALL_VERSIONS, Fix
from .relax_calls import before_layout, rewrite_calls

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

SPLIT = "relax.split"
MASKS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
         "logical_not", "isnan", "isinf", "isfinite", "where")  # fmt: skip
"""Operators with operands or results of type bool, of which there are no texels."""

NAMES = (*MASKS, "stack", "variance", "std", "nn.group_norm", "nn.instance_norm")
PLAIN = tuple(f"relax.{name}" for name in NAMES)


def keep_plain() -> Pass:
    """Relax pass before ConvertLayout: legalises such calls, which hides them from it. Even splits stay in textures."""
    return rewrite_calls("KeepPlainOperators", (SPLIT, *PLAIN), _rewrite)


def _rewrite(builder: Any, call: Any) -> Any:
    if call.op.name == SPLIT:
        return _split(builder, call)
    return _legalise(builder, call)


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
    summary="splits, stacks, masks and group normalisations of convolutions compile for textures and are right",
    relax=add,
)
