"""Rewriting TIR node by node, in one way for all series of TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .read import kind, walk
from .versions import import_tvm, tvm_series


def map_nodes(body: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """`body` with `change(node)` for each node of the class `name` ("Call", "SBlock"); itself where nothing changes.

    What is in a node is changed before it.
    """
    node = next((found for found in walk(body) if kind(found) == name), None)
    if node is None:
        return body
    if tvm_series() == "0.25":
        return import_tvm().tirx.stmt_functor.ir_transform(body, None, change, [f"tirx.{name}"])
    import tvm_ffi

    return tvm_ffi.structural_map(body, (type(node), change), order="post")
