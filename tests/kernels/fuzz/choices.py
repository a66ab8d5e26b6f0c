"""Seeded choices, and the count of every construct they led to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A random source for one kernel. `used` counts constructs by name ("statement/for", "integer/hadd").

    tame: literals are neither infinite nor huge nor tiny.
    """

    def __init__(self, seed: str):
        self.random = random.Random(seed)
        self.tame = False
        self.used: Counter[str] = Counter()

    def note(self, construct: str) -> None:
        self.used[construct] += 1

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def weighted(self, options: Sequence[tuple[float, T]]) -> T:
        """One of (weight, option)."""
        return self.random.choices([option for _, option in options], [weight for weight, _ in options])[0]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def number(self, low: int, high: int) -> int:
        """low <= n <= high."""
        return self.random.randint(low, high)

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        return self.random.sample(options, count)
