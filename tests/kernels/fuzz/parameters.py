"""Parameters of generated kernels and the data in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import oracle

from .value_types import Type

INPUT_ELEMENTS = 512


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter: its declaration, the name that the body uses, what is passed.

    layout: of the records in a buffer of bytes; what lies between their fields is padding, which may hold anything.
    """

    declaration: str
    name: str
    arg: oracle.Arg
    layout: np.dtype | None = None


def input_values(kind: str, random: np.random.Generator, wild: bool, count: int = INPUT_ELEMENTS) -> np.ndarray:
    """Elements of `kind`: mostly ordinary ones; `wild` adds infinities, NaN, denormals and huge floats."""
    type = Type(kind)
    if not type.is_float:
        return _integers(type, random, count)
    values = random.normal(0, 4, count)
    values[::3] = random.integers(-40, 40, len(values[::3])) / 4
    values[1::7] = random.choice([0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 250.0], len(values[1::7]))
    if wild:
        values[2::9] = random.choice([np.inf, -np.inf, np.nan, 6e-8, -6e-8, 65504.0, -3e38, 1e-40], len(values[2::9]))
    with np.errstate(over="ignore"):
        return values.astype(type.dtype)


def _integers(type: Type, random: np.random.Generator, count: int) -> np.ndarray:
    limits = np.iinfo(type.dtype)
    values = random.integers(limits.min, limits.max, count, type.dtype, endpoint=True)
    small = random.integers(0, 12, count).astype(type.dtype)
    values = np.where(random.random(count) < 0.5, small, values)
    values[3::11] = random.choice(np.array([limits.min, limits.max, 0, 1], type.dtype), len(values[3::11]))
    return values
