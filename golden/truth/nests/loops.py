"""Loops in C, their order, and how clang should take them."""

from __future__ import annotations

from typing import Any

from ....base.integers.interval import Interval
from ....compiler.tvm_bridge import read
from ..expressions import Writer
from ..tensor import Tensor
from ..value import Unmodelled, Value, c_type, fixed
from .strips import ELEMENT, REDUCTION, shares_elements

NOT_UNROLLED = '_Pragma("clang loop unroll(disable)")'
"""Ahead of loops that compute each element once: it takes clang half its time to unroll them all, and the code is not faster."""


class LoopWriter(Writer):
    """Writes statements, each by the method `write_KIND`, and the loops around them."""

    def statement(self, node: Any) -> None:
        """The lines of a statement. Raises Unmodelled."""
        kind = read.kind(node).removeprefix("S")
        method = getattr(self, f"write_{kind}", None)
        if method is None:
            raise Unmodelled(f"{read.kind(node)} statements")
        method(node)

    def open_loop(self, node: Any, pragma: str = "") -> None:
        """A loop of the PrimFunc."""
        if node.thread_binding is not None:
            raise Unmodelled("loops that are bound to threads: it is scheduled already")
        start, extent = self.value(node.min), self.value(node.extent)
        dtype = read.dtype_of(node.loop_var)
        name = self.fresh("i")
        step = getattr(node, "step", None)
        if step is not None and not (read.kind(step) == "IntImm" and int(step.value) == 1):
            raise Unmodelled("loops with a step")
        type = c_type(dtype)
        known = None
        if start.range is not None and extent.range is not None:
            known = Interval(start.range.low, max(start.range.low, start.range.high + extent.range.high - 1))
        self.names[read.key(node.loop_var)] = Value(name, dtype, loaded=start.loaded or extent.loaded, range=known)
        if extent.range == Interval.exactly(1):  # a loop less to optimise
            self.open("")
            self.line(f"{type} {name} = {start.text};")
            return
        end = f"{start.text} + {extent.text}"
        if pragma:
            self.line(pragma)
        else:  # how clang adds up what such a loop may add up depends on how often it runs
            end = fixed(end)
        self.open(f"for ({type} {name} = {start.text}; {name} < ({type})({end}); {name}++)")

    def companions(self, tensor: Tensor) -> tuple[str, ...]:
        """Ends of the names of what accompanies the values of a tensor."""
        return () if tensor.exact else ("_q", "_n") if self.native else ("_q",)


def computes_each_alone(body: Any) -> bool:
    """Returns whether a statement is a block that computes each element once, not a sum."""
    if not read.kind(body).endswith("BlockRealize"):
        return False
    return all(int(axis.iter_type) == ELEMENT for axis in body.block.iter_vars)


def with_elements_inside(loops: list[Any], body: Any) -> list[Any]:
    """Loops around one block, the innermost over its elements put inside those over the terms of its sum.

    The terms of each element keep their order. Steps of one sum wait for each other, those of several elements do not.
    """
    if not read.kind(body).endswith("BlockRealize") or len(body.iter_values) != len(loops):
        return loops
    kinds = {read.key(value): int(axis.iter_type) for axis, value in zip(body.block.iter_vars, body.iter_values, strict=True)}
    if sorted(kinds) != sorted(read.key(loop.loop_var) for loop in loops) or shares_elements(body):
        return loops
    plain = all(read.kind(loop.min) == "IntImm" and read.kind(loop.extent) == "IntImm" for loop in loops)
    elements = (
        [loop for loop in loops if kinds[read.key(loop.loop_var)] == ELEMENT and int(loop.extent.value) >= 4] if plain else []
    )
    if not elements or REDUCTION not in kinds.values() or set(kinds.values()) != {ELEMENT, REDUCTION}:
        return loops
    inside = elements[-1]
    return [*(loop for loop in loops if loop is not inside), inside]
