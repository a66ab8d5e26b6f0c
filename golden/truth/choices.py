"""Whole numbers that rounding chooses: what depends on them is computed once for every choice.

An index that is the floor of a coordinate may be one of two next to a whole number. What is read there says little alone, as a
weight goes with it: so the whole value is computed for either. One step of one expression is one choice, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from ...compiler.tvm_bridge import read
from ...records import dataclass
from .value import Value

MOST_UNDECIDED = 4
"""Choices of one value that are all followed: there are two to the power of them."""

MOST_STEPS = 64
"""Steps of one value that are followed, the bits of a mask."""


@dataclass
class Choices:
    """The steps of one value, numbered as they are met.

    let, line: write a C variable of a type, and a line. chosen, undecided: C masks of steps: those that take the other of their
    two whole numbers in this turn, and those that have two. written: values of steps that are in scope, each with its depth.
    """

    let: Callable[[str, str], str]
    line: Callable[[str], None]
    chosen: str = "chosen"
    undecided: str = "undecided"
    steps: dict[tuple[str, int], int] = field(default_factory=dict)
    written: dict[tuple[str, int], tuple[int, Value]] = field(default_factory=dict)

    def step(self, function: str, node: Any, depth: int, value: Callable[[Any], Value]) -> Value:
        """`function`, which rounds to whole numbers, of `node`, as this turn chooses it; `value` writes an expression.

        Of three whole numbers or more nothing is known.
        """
        key = function, read.structure(node.of_tvm)
        if key not in self.written:
            self.written[key] = depth, self._write(key, value(node))
        return self.written[key][1]

    def leave(self, depth: int) -> None:
        """Forget what is deeper than `depth`."""
        self.written = {key: found for key, found in self.written.items() if found[0] <= depth}

    def _write(self, key: tuple[str, int], x: Value) -> Value:
        function, text = key[0], self.let("double", f"{key[0]}({x.text})")
        if x.q is None:
            return Value(text, x.dtype, loaded=x.loaded)
        number, most = self.steps.setdefault(key, len(self.steps)), 0
        reach = self.let("double", f"reach({x.q})")
        low, high = (self.let("double", f"{function}({x.text} {sign} {reach})") for sign in "-+")
        if number < MOST_STEPS:
            self.line(f"{self.undecided} |= (uint64_t)({high} - {low} == 1) << {number};")
            text, most = self.let("double", f"{self.chosen} >> {number} & 1 ? {low} + {high} - {text} : {text}"), 1
        return Value(text, x.dtype, self.let("double", f"{high} - {low} <= {most} ? 0 : INF"), loaded=x.loaded)
