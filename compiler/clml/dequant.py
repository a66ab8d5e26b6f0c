"""The pattern of language models: a product with weights that a TIR function unpacks from four bits.

TVM's pattern compares the function's name and shapes. What the function computes is not in the graph: the runtime takes the
weights as eight values in a uint32, the lowest bits first, less 7, times a scale for each group of rows. A function that computes
something else is not offloaded: it is run here on made-up weights and compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...mlops.matrix import NIBBLES, dequantise
from ...profiles.ml import MLCapabilities
from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm
from .describe import describe, static_shape, tensor_dtype

NAME = "openclml.dequant_matmul"


def dequant_table(capabilities: MLCapabilities, mod: Any) -> list[tuple[str, Any, dict[str, Any], Any]]:
    """(name, pattern, annotations, check) for FuseOpsByPattern; `mod` has the functions that unpack."""
    from tvm.relax.backend.utils import has_leaking_intermediate_variables
    from tvm.relax.dpl.pattern import GlobalVarPattern, TuplePattern, is_op, wildcard

    from .patterns import calls_of, require

    unpacked = is_op("relax.call_tir")(GlobalVarPattern(), TuplePattern([wildcard(), wildcard()]))
    pattern = is_op("relax.matmul")(wildcard(), unpacked)
    known: dict[str, str] = {}

    def check(context: Any) -> bool:
        root = context.annotated_expr["root"]
        if has_leaking_intermediate_variables(context):
            return False
        try:
            calls = calls_of(context.matched_bindings, root)
            require(describe(NAME, calls), root, capabilities)
            _require_format(mod, next(call for call in calls if read.op_name(call) == "relax.call_tir"), known)
        except UnsupportedError:
            return False
        return True

    return [(NAME, pattern, {"root": pattern}, check)]


def _require_format(mod: Any, call: Any, known: dict[str, str]) -> None:
    """UnsupportedError if the function unpacks in another way."""
    name = str(call.args[0].name_hint)
    if name not in known:
        known[name] = _difference(mod[call.args[0]], call)
    if known[name]:
        raise UnsupportedError(f"unsupported: {name}: {known[name]}")


def _difference(function: Any, call: Any) -> str:
    """What a function does otherwise than the runtime; "" for nothing."""
    tvm = import_tvm()
    packed, scales = (static_shape(arg) for arg in call.args[1].fields)
    types = [tensor_dtype(arg) for arg in call.args[1].fields]
    if types != ["uint32", "float16"] or len(packed) != 2 or len(scales) != 2 or scales[1] != packed[1]:
        return f"weights {packed} {types[0]}, scales {scales} {types[1]}: expected eight values in a uint32, scales in float16"
    if packed[0] * NIBBLES % scales[0]:
        return f"{packed[0] * NIBBLES} rows in {scales[0]} groups"
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 1 << 32, packed, dtype=np.uint32)
    factors = rng.uniform(0.25, 2, scales).astype(np.float16)
    made = tvm.runtime.tensor(np.zeros(static_shape(call), np.float16))
    try:
        module = tvm.compile(tvm.IRModule({"unpack": function.with_attr("global_symbol", "unpack")}), target="llvm")
        module["unpack"](tvm.runtime.tensor(weights), tvm.runtime.tensor(factors), made)
    except Exception as error:  # TVM raises whatever its layers raise
        return f"it could not be tried: {type(error).__name__}"
    same = np.allclose(made.numpy(), dequantise(weights, factors, "float16"), rtol=2**-9, atol=0)
    return "" if same else "it unpacks otherwise than the runtime: (value - 7) * scale, eight values in a uint32"
