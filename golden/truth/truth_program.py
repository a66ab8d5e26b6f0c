"""A PrimFunc as C text, which `program.py` writes."""

from __future__ import annotations

from ...records import dataclass
from .tensor import Tensor

NO_MEMORY = -1
"""What a function returns where a temporary tensor does not fit; 0 = done, k > 0 = an access outside of tensor k at an index that
depends on what tensors hold, -k - 1 = at one that does not."""


@dataclass(frozen=True)
class TruthParam:
    """A parameter. dtype: of elements or of the scalar. tensor: its tensor, None for a scalar."""

    name: str
    dtype: str
    tensor: Tensor | None


@dataclass(frozen=True)
class TruthProgram:
    """The C text of one PrimFunc.

    text defines `static int NAME(const int64_t *k, void *const *p, const int64_t *n, const Unit *U, int64_t *unsure)`.
    k: sizes in which it differs from others (`sharing.py`). p: three pointers for each tensor parameter: values; variances, where
    it is not exact; where native, values as halves give them. n: the dimensions of all tensor parameters and the integer scalars,
    in order. tensors: names by number. halves: it holds values of a half type. native: it also computes values as halves give
    them, which its arguments may hold. large: positions of parameters whose values may be floats in memory; where all are, the
    second pointer of each is not null. given: positions of float parameters that it only reads and takes for exact. open_to_nan,
    open_to_denormals: it may not where they hold such.
    """

    name: str
    text: str
    params: tuple[TruthParam, ...]
    tensors: tuple[str, ...]
    halves: bool
    native: bool
    large: tuple[int, ...] = ()
    given: tuple[int, ...] = ()
    open_to_nan: bool = False
    open_to_denormals: bool = False
