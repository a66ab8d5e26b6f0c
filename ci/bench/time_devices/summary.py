"""How far predicted times are off, in a line."""

from __future__ import annotations

import numpy as np


def summarize(title: str, measured: np.ndarray, predicted: np.ndarray) -> str:
    """Returns rows, Spearman, the median of measured over predicted, and factors: of the times, and, behind, of times
    without what all have in common."""
    off = np.log(measured / predicted)
    common = float(np.median(off))
    return (
        f"{title}: {len(off)} rows, Spearman {correlate_ranks(measured, predicted):.3f}, measured over predicted "
        f"{np.exp(common):.2f} in the median; factors {_quantiles(off)}; except for that {_quantiles(off - common)}"
    )


def _quantiles(off: np.ndarray) -> str:
    factors = np.exp(np.abs(off))
    return f"{np.median(factors):.2f} in the median, {np.quantile(factors, 0.9):.2f} in nine of ten, {factors.max():.2f} worst"


def correlate_ranks(first: np.ndarray, second: np.ndarray) -> float:
    """Returns Spearman's coefficient: of ranks, those of equal values being their mean."""
    ranks = [_rank(values) for values in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1]) if len(first) > 1 and all(np.ptp(each) for each in ranks) else float("nan")


def _rank(values: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
