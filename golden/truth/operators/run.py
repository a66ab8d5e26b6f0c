"""The results of an operator, by the function of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..run import Truth
from ..units import Units
from .operator import Operator
from .reshaping import reshape
from .sampling import compute_multinomial
from .scanning import compute_cumprod, compute_cumsum
from .scattering import compute_scatter_elements, compute_scatter_nd
from .sorting import choose, compute_argsort, compute_bucketize, compute_sort, compute_topk

_COMPUTE: dict[str, Callable[[Operator, Sequence[Truth], Sequence[np.dtype], Units], list[Truth]]] = {
    "sort": compute_sort,
    "argsort": compute_argsort,
    "topk": compute_topk,
    "bucketize": compute_bucketize,
    "cumsum": compute_cumsum,
    "cumprod": compute_cumprod,
    "multinomial_from_uniform": compute_multinomial,
    "reshape": reshape,
    "scatter_elements": compute_scatter_elements,
    "scatter_nd": compute_scatter_nd,
}


def run_operator(
    operator: Operator, given: Sequence[Truth], kinds: Sequence[np.dtype], units: Units, places: np.ndarray | None = None
) -> list[Truth]:
    """The results of an operator, in order. kinds: element types of `given` and of the results.

    places: where a device says that sorted values come from; followed where rounding decides. Raises OutOfRange for an index that
    is none.
    """
    results = _COMPUTE[operator.name](operator, given, kinds, units)
    return results if places is None else choose(operator, given[0], results, places)
