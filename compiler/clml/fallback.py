"""Lists the operators that fall back to TVM's kernels, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from ...base.errors import UnsupportedError
from ...profiles.ml import MLCapabilities
from ..artifact.model import OffloadDecision
from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm
from .describe import describe
from .patterns import BINARY, require
from .prepare import NORM

if TYPE_CHECKING:
    from tvm import IRModule

SINGLE = {
    "relax.nn.conv2d": "nn.conv2d", "relax.nn.conv2d_transpose": "nn.conv2d_transpose",
    "relax.nn.adaptive_avg_pool2d": "nn.global_avg_pool2d", "relax.mean": "nn.global_avg_pool2d",
    "relax.nn.max_pool2d": "nn.max_pool2d", "relax.nn.avg_pool2d": "nn.avg_pool2d",
    "relax.nn.softmax": "relax.nn.softmax", "relax.nn.relu": "relax.nn.relu", "relax.clip": "relax.clip",
    "relax.reshape": "reshape", "relax.concat": "concatenate", "relax.nn.batch_norm": "nn.batch_norm",
    **{f"relax.{name}": f"relax.{name}" for name in BINARY},
}  # fmt: skip
"""Relax operator -> the pattern that is this operator alone."""


def fallback_decisions(mod: IRModule, capabilities: MLCapabilities, known: Container[str]) -> list[OffloadDecision]:
    """The operators outside subgraphs, each with the reason why OpenCL ML does not take it. Equal ones make one decision.

    known: names of functions that are subgraphs. Subgraphs that the policy rejects have decisions of their own.
    """
    found: Counter[tuple[str, str]] = Counter()
    for call, second in _calls(mod, known):
        reason = "" if _is_dense(call, second) else _reason(call, capabilities)
        if reason:
            found[read.op_name(call).removeprefix("relax."), reason] += 1
    return [OffloadDecision("", (name,) * count, 0, False, reason) for (name, reason), count in found.items()]


def _calls(mod: IRModule, known: Container[str]) -> Iterator[tuple[Any, Any]]:
    """Each call of an operator, and what its second operand is bound to (None for none)."""
    relax = import_tvm().relax
    for var, function in mod.functions_items():
        if not isinstance(function, relax.Function) or var.name_hint in known:
            continue
        bound = {read.key(b.var): b.value for block in function.body.blocks for b in block.bindings if hasattr(b, "value")}
        calls: list[Any] = []
        relax.analysis.post_order_visit(function, calls.append)
        for call in calls:
            if read.kind(call) == "Call" and read.op_name(call).startswith("relax."):
                yield call, bound.get(read.key(call.args[1])) if len(call.args) > 1 else None


def _is_dense(call: Any, second: Any) -> bool:
    """True for a product with transposed constant weights: the policy's decision covers it."""
    return read.op_name(call) == "relax.matmul" and second is not None and read.op_name(second) == "relax.permute_dims"


def _reason(call: Any, capabilities: MLCapabilities) -> str:
    name = read.op_name(call)
    if name == "relax.permute_dims" and read.kind(call.args[0]) in ("GenericConst", "Constant"):
        return ""  # transposed weights of an operator that has a separate decision
    if name == "relax.matmul":
        return "OpenCL ML takes products of matrices with constant weights (and a bias for one row)"
    if name not in SINGLE:
        return "OpenCL ML has no such operator, or TVM's runtime none for it"
    try:
        result = call.args[0] if name == NORM else call  # its first result, which the others come along with
        require(describe(f"openclml.{SINGLE[name]}", [call]), result, capabilities)
    except UnsupportedError as error:
        return str(error).removeprefix("unsupported: ")
    return ""
