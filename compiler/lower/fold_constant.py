"""TVM's FoldConstant, run only where it may find something.

It makes a PrimFunc of every call to see whether its arguments are constants, and throws it away where they are not. Behind
`fold_layouts` that is all of them, in most networks.

No fix: the module is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import key, kind
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

READING = frozenset(
    "relax." + name
    for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid",
        "negative", "abs", "floor", "clip", "astype", "mean", "sum", "max", "min", "matmul", "concat", "reshape", "flatten",
        "squeeze", "expand_dims", "permute_dims", "layout_transform", "nn.conv2d", "nn.conv2d_transpose", "nn.max_pool2d",
        "nn.avg_pool2d", "nn.adaptive_avg_pool2d", "nn.relu", "nn.leakyrelu", "nn.silu", "nn.gelu", "nn.softmax",
        "nn.log_softmax",
    )
)  # fmt: skip
"""Operators whose PrimFunc takes every tensor that the call has. Another, as zeros_like, may be a constant of any argument."""

_NUMBERS = ("Constant", "GenericConst", "ShapeExpr", "PrimValue", "StringImm", "DataTypeImm", "IntImm", "FloatImm")
"""Arguments that no run computes."""


def fold_constant() -> Pass:
    """Relax pass of TVM's name: TVM's, unless every function of the module `is_folded`."""
    tvm = import_tvm()
    folding = tvm.relax.transform.FoldConstant()

    def transform(mod: Any, _ctx: Any) -> Any:
        functions = [func for _, func in mod.functions_items() if isinstance(func, tvm.relax.Function)]
        return mod if all(map(is_folded, functions)) else folding(mod)

    return tvm.transform.module_pass(transform, opt_level=0, name=folding.info.name)


def is_folded(function: Any) -> bool:
    """Whether FoldConstant leaves a function as it is: all that it binds are calls of something that a run computes, and used."""
    if kind(function.body) != "SeqExpr":
        return False
    bound: set[int] = set()
    used: set[int] = set()
    for block in function.body.blocks:
        for binding in block.bindings:
            variables = _find_read(binding.value) if kind(binding) == "VarBinding" else None
            if not variables:
                return False
            used.update(variables)
            bound.add(key(binding.var))
    results = list(_leaves(function.body.body))
    used.update(key(leaf) for leaf in results)
    return bound <= used and all(_is_variable(leaf) for leaf in results)


def _find_read(call: Any) -> list[int] | None:
    """The variables that a call's PrimFunc reads; None where that is not known."""
    if kind(call) != "Call" or kind(call.op) != "Op":
        return None
    name = str(call.op.name)
    if name != "relax.call_tir" and name not in READING:
        return None
    found: list[int] = []
    for leaf in _leaves(call.args[1]) if name == "relax.call_tir" else (leaf for arg in call.args for leaf in _leaves(arg)):
        if _is_variable(leaf):
            found.append(key(leaf))
        elif kind(leaf) not in _NUMBERS:
            return None
    return found


def _leaves(expr: Any) -> Iterator[Any]:
    if kind(expr) == "Tuple":
        for field in expr.fields:
            yield from _leaves(field)
    else:
        yield expr


def _is_variable(expr: Any) -> bool:
    return kind(expr) in ("Var", "DataflowVar")
