"""Tensors filled with an infinity or NaN, written so that TVM 0.27 compiles them (`passes/infinite_fill.py` says why)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .rewrite_calls import rewrite_calls
from .tensors import constant_array
from .versions import import_tvm, type_of

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def broadcast_fills() -> Pass:
    """Relax pass: `full(shape, c)` and `full_like(x, c)` of a constant that is not finite become `broadcast_to(c, shape)`."""
    return rewrite_calls("BroadcastFills", ("relax.full", "relax.full_like"), _rewrite)


def _rewrite(_builder: Any, call: Any) -> Any:
    value, made = constant_array(call.args[1]), type_of(call)
    if value is None or value.ndim or made.shape is None or math.isfinite(float(value)):
        return call
    relax = import_tvm().relax
    return relax.op.broadcast_to(relax.const(float(value), str(made.dtype)), made.shape)
