"""Seeded inputs: of both signs, of one, of signs in turn, or over the whole range of their type."""

from __future__ import annotations

import numpy as np

from .problem import Input, Problem

SIGNS = ("signed", "positive")
"""The inputs of a campaign."""

ALTERNATING = "alternating"
"""Inputs whose sums cancel from term to term in the PrimFunc's order, and not in parts that take every eighth term."""

RANGES = ("spread", "masked")
"""Inputs of rows over the range of their type: each row of its own magnitude, or behind a mask that takes terms to nothing."""

MASKS = (100.0, 1e4, 6e4)
"""What masks subtract; float16 holds each of them."""


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
    if sign in RANGES:
        return _spread(values, item.dtype, rng) if sign == "spread" else _mask(values, item.dtype, rng)
    if sign == "positive" or (sign == ALTERNATING and item.draw == "weights"):
        values = np.abs(values)
    elif sign == ALTERNATING:
        values += np.where(np.arange(item.shape[-1]) % 2, -4, 4)
    factor = {"data": 1.0, "weights": 1 / np.sqrt(terms), "scores": 2.0}[item.draw]
    return (factor * values).astype(item.dtype)


def _spread(values: np.ndarray, dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Rows of different magnitudes, from 2^-10 to a quarter of the largest number of the type (2^16 of floats)."""
    top = min(np.log2(float(np.finfo(dtype).max)) - 4, 16.0)
    sizes = 2.0 ** rng.uniform(-10, top, (*values.shape[:-1], 1))
    return np.clip(values * sizes, -(2.0 ** (top + 2)), 2.0 ** (top + 2)).astype(dtype)


def _mask(values: np.ndarray, dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Terms of a row that a mask takes away; never all of a row."""
    hidden = rng.random(values.shape) < 0.4
    hidden[..., 0] = False
    masks = rng.choice(MASKS, (*values.shape[:-1], 1))
    return np.where(hidden, values - masks, values).astype(dtype)
