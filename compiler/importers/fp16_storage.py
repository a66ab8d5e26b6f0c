"""A float32 module as one that stores float16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.errors import AdrenoSimError
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

DTYPES = ("float32", "float16")


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
