"""Generators of allocation problems: hard ones, and ones like the plans of convolutional networks."""

from __future__ import annotations

import random

import numpy as np

from adreno_sim.compiler.plan.problem import Problem, from_lifetimes
from adreno_sim.compiler.plan.search import improve, orders
from adreno_sim.compiler.plan.search.firstfit import place_in_order
from adreno_sim.compiler.plan.search.instance import Instance

UNIT = 1024


def greedy_ratio(problem: Problem) -> float:
    """The best of all greedy constructions, over the lower bound."""
    part = Instance.of(problem.items, problem.unit)
    order, backwards = part.canonical()
    part = part.part(order).mirrored() if backwards else part.part(order)
    placed = (
        place_in_order(part, orders.order(part, name), best_fit) for name in improve.CONSTRUCTIONS for best_fit in (False, True)
    )
    return min(map(part.peak, placed)) / part.bound


def cut_rectangle(count: int, seed: int, drop: float = 0.0) -> Problem:
    """`count` pieces of a full rectangle of time and memory, of which a share `drop` is lost: the bound is reachable."""
    rng = random.Random(seed)
    pieces = [(0, 1000, 0, 1024)]
    while len(pieces) < count / (1 - drop):
        number = max(rng.sample(range(len(pieces)), min(3, len(pieces))), key=lambda n: _area(pieces[n]))
        start, end, low, high = pieces[number]
        if rng.random() < 0.5 and end - start >= 2:
            at = rng.randint(start + 1, end - 1)
            pieces[number : number + 1] = [(start, at, low, high), (at, end, low, high)]
        elif high - low >= 2:
            at = rng.randint(low + 1, high - 1)
            pieces[number : number + 1] = [(start, end, low, at), (start, end, at, high)]
    rng.shuffle(pieces)
    rows = ((str(n), start, end, (high - low) * UNIT) for n, (start, end, low, high) in enumerate(pieces[:count]))
    return from_lifetimes(rows, f"cut-{count}-{seed}", UNIT)


def _area(piece: tuple[int, int, int, int]) -> int:
    start, end, low, high = piece
    return (end - start) * (high - low)


def phases(count: int, seed: int) -> Problem:
    """Phases that each fill the memory, joined by tensors that live through several."""
    rng = random.Random(seed)
    stretch = max(8, count // 6)
    bounds = [0, *sorted(rng.sample(range(1, stretch * 10), stretch)), stretch * 10]
    load = np.zeros(stretch * 10, np.int64)
    rows: list[tuple[str, int, int, int]] = []
    for _ in range(count * 50):
        first = rng.randrange(len(bounds) - 1)
        last = min(len(bounds) - 1, first + 1 + int(rng.expovariate(1 / (1.5 if rng.random() < 0.8 else 12))))
        start, end = bounds[first], bounds[last]
        room = 1024 - int(load[start:end].max())
        if room <= 0 or len(rows) == count:
            continue
        size = room if room < 500 and rng.random() < 0.2 else min(room, int(2 ** rng.uniform(0, 9)))
        load[start:end] += size
        rows.append((str(len(rows)), start, end, size * UNIT))
    return from_lifetimes(rows, f"phases-{count}-{seed}", UNIT)


def network(layers: int, seed: int) -> Problem:
    """A chain of layers whose outputs shrink on the way, every third one also read by a later layer."""
    rng = random.Random(seed)
    rows = []
    for layer in range(layers):
        size = (1 << max(20 - layer // 6, 10)) * rng.choice([1, 1, 2, 3])
        reach = rng.randint(2, 4) if layer % 3 == 0 else 1
        rows.append((f"layer{layer}", layer, layer + reach + 1, size))
    return from_lifetimes(rows, f"network-{layers}-{seed}", 64)


def many(count: int, seed: int, mean: float = 20.0) -> Problem:
    """`count` tensors of exponential lifetimes and log-uniform sizes."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, count, count)
    length = np.maximum(1, rng.exponential(mean, count)).astype(np.int64)
    size = (2 ** rng.uniform(0, 12, count)).astype(np.int64) * 64
    rows = zip(map(str, range(count)), start.tolist(), (start + length).tolist(), size.tolist(), strict=True)
    return from_lifetimes(rows, f"many-{count}-{seed}", 64)


def hard(count: int, seed: int) -> Problem:
    """A hard instance of `count` tensors, or up to 15% fewer, of one of the kinds in turn.

    It is the first after `seed` that greedy cannot do. Greedy can where its best is below 1.15 times the bound.
    """
    kinds = (lambda s: cut_rectangle(count, s), lambda s: cut_rectangle(count, s, 0.1), lambda s: phases(count, s))
    for attempt in range(100):
        problem = kinds[seed % 3](1000 * seed + attempt)
        if greedy_ratio(problem) >= 1.15 and len(problem.items) >= 0.85 * count:
            return problem
    raise AssertionError(f"no hard instance of {count} tensors after seed {seed}")
