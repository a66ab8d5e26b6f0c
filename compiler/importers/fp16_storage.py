"""A float32 module as one that stores float16, and the bound on its outputs that goes with it."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ...base.errors import AdrenoSimError
from ...results.comparison import TOLERANCE
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

DTYPES = ("float32", "float16")

PRODUCTS = ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv2d_transpose", "relax.matmul")
"""Operators that sum products: each rounds what it stores once more."""


def with_storage(module: IRModule, dtype: str, accumulate: str = "float32") -> IRModule:
    """The module as it is for "float32"; for "float16" TVM's ToMixedPrecision: tensors are float16, sums `accumulate`.

    Inputs and outputs keep their types. AdrenoSimError for another dtype.
    """
    for name in (dtype, accumulate):
        if name not in DTYPES:
            raise AdrenoSimError(f"dtype {name!r}: expected one of {', '.join(DTYPES)}")
    if dtype == "float32":
        return module
    return import_tvm().relax.transform.ToMixedPrecision(accumulate)(module)


def output_bound(module: IRModule, dtype: str) -> float | None:
    """Relative tolerance of a whole model's outputs against float32; None = that of the outputs' own type.

    Each layer stores results within the tolerance of one float16 kernel; independent roundings of n layers in a row add up
    like sqrt(n).
    """
    if dtype == "float32":
        return None
    tvm = import_tvm()
    count = 0

    def visit(node: object) -> None:
        nonlocal count
        count += str(getattr(getattr(node, "op", None), "name", "")) in PRODUCTS

    for _, function in module.functions_items():
        if isinstance(function, tvm.relax.Function):
            tvm.relax.analysis.post_order_visit(function, visit)
    return TOLERANCE["float16"] * sqrt(max(count, 1))
