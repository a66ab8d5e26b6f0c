"""Tuning a graph, or taking over what the cache holds for it.

What there is to tune in a simulation is its own speed: how many columns of a matrix product are computed at once. Results
do not depend on it.
"""

from __future__ import annotations

import time

import numpy as np

from . import tuning
from .environment import ClmlSettings
from .graph import Graph
from .operators import TUNABLE, make

CANDIDATES = (0, 4096, 1024)
"""Columns at once; 0 = all."""


def choose_columns(graph: Graph, symbol: str, device: str, settings: ClmlSettings) -> tuple[str, dict[str, int]]:
    """A message ("" without a cache), and node number -> columns per step. Raises TuningCacheError as tuning.load."""
    if settings.cache is None:
        return "", {}
    identity = tuning.digest(graph.to_json())
    if settings.tuning:
        blocks = {str(number): _best(graph, number) for number, _ in graph.of("kernel") if make(graph, number).kind in TUNABLE}
        tuning.save(settings.cache, symbol, tuning.Tuning(identity, device, blocks))
        return f"{len(blocks)} operators tuned into {settings.cache}", blocks
    found = tuning.load(settings.cache).get(symbol)
    if found is None:
        return f"nothing for {symbol} in {settings.cache}", {}
    if (found.graph, found.device) != (identity, device):
        what = "another graph" if found.device == device else f"the device {found.device}"
        return f"what {settings.cache} has for {symbol} is of {what}: tune again", {}
    return f"tuned by {settings.cache}", found.blocks


def _best(graph: Graph, number: int) -> int:
    """The candidate with the shortest run on made-up data."""
    node = graph.nodes[number]
    sources = [graph.nodes[entry.node] for entry in node.inputs]
    arrays = [np.ones(source.shape, source.dtype) for source in sources]
    return min(CANDIDATES, key=lambda block: _seconds(graph, number, block, arrays))


def _seconds(graph: Graph, number: int, block: int, arrays: list[np.ndarray]) -> float:
    compute = make(graph, number, block).compute
    start = time.perf_counter()
    compute(arrays)
    return time.perf_counter() - start
