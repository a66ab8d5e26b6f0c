"""Seeded inputs: of both signs, of one, or of signs in turn."""

from __future__ import annotations

import numpy as np

from .problem import Input, Problem

SIGNS = ("signed", "positive")
"""The inputs of a campaign."""

ALTERNATING = "alternating"
"""Inputs whose sums cancel from term to term in the PrimFunc's order, and not in parts that take every eighth term."""


def draw_inputs(problem: Problem, sign: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Values that keep sums in the range of halves: weights shrink with the root of the number of terms."""
    return [_draw(item, problem.terms, sign, rng) for item in problem.inputs]


def _draw(item: Input, terms: int, sign: str, rng: np.random.Generator) -> np.ndarray:
    if item.draw == "bits":
        bits = rng.integers(0, 1 << 32, item.shape, dtype=np.uint32)
        return bits | np.uint32(0x88888888) if sign == "positive" else bits  # 8 stands for zero
    if item.draw == "scales":
        return (rng.uniform(0.5, 1, item.shape) / (8 * np.sqrt(terms))).astype(item.dtype)
    values = rng.standard_normal(item.shape)
    if sign == "positive" or (sign == ALTERNATING and item.draw == "weights"):
        values = np.abs(values)
    elif sign == ALTERNATING:
        values += np.where(np.arange(item.shape[-1]) % 2, -4, 4)
    factor = {"data": 1.0, "weights": 1 / np.sqrt(terms), "scores": 2.0}[item.draw]
    return (factor * values).astype(item.dtype)
