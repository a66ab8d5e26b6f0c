"""A tensor in another shape, where only its run says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..run import Truth
from ..units import Units
from .operator import Operator


def reshape(operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units) -> list[Truth]:
    """The operand in the shape that the operator's attribute lists."""
    (truth,) = given
    shape = tuple(int(size) for size in str(operator["shape"]).split())
    value, sigma, native = (None if part is None else part.reshape(shape) for part in (truth.value, truth.sigma, truth.native))
    assert value is not None
    others = None if truth.others is None else truth.others.reshape(-1, *shape)
    return [replace(truth, value=value, sigma=sigma, native=native, others=others)]
