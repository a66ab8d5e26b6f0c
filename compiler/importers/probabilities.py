"""Which float inputs of a model hold probabilities: an operator that samples means nothing of other values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import kind
from .value_ranges import ValueRanges, bound_value

SAMPLE = "relax.multinomial_from_uniform"


def probability_inputs(module: Any) -> dict[int, int]:
    """Positions of the parameters of main that a sampling takes as they are -> which operand each is: 0 the distributions, one a
    row, 1 the numbers from [0, 1) by which they are sampled."""
    ranges = ValueRanges(module)
    found: dict[int, int] = {}
    for binding in bindings(ranges.function):
        call = bound_value(binding)
        if kind(call) == "Call" and op_name(call) == SAMPLE:
            for operand in (0, 1):
                position = ranges.parameter(call.args[operand])
                if position is not None:
                    found[position] = operand
    return found


def draw_probabilities(generator: np.random.Generator, shape: tuple[int, ...], dtype: str, operand: int) -> np.ndarray:
    """Seeded values for such an input; rows of distributions sum to 1."""
    drawn = generator.random(shape, np.float32)
    if operand == 0:
        drawn = drawn / drawn.sum(axis=-1, keepdims=True)
    return drawn.astype(dtype)
