"""Launches: sizes, and what each argument is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

Size = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Memory:
    """A buffer or an image: its bytes before the launch, of which `unset` (byte ranges) were never written.

    storage: arguments of one number share a storage, in which each begins at `offset`.
    """

    contents: np.ndarray
    unset: tuple[tuple[int, int], ...] = ()
    storage: int = 0
    offset: int = 0

    @property
    def nbytes(self) -> int:
        return self.contents.nbytes


@dataclass(frozen=True, eq=False)
class Launch:
    """group: local size. groups: how many, along each axis. values: int, Memory, or bytes of local memory, by parameter."""

    dimensions: int
    group: Size
    groups: Size
    values: dict[str, int | Memory] = field(default_factory=dict)

    @property
    def grid(self) -> Size:
        x, y, z = (a * b for a, b in zip(self.group, self.groups, strict=True))
        return x, y, z

    @property
    def items(self) -> int:
        return prod(self.grid)

    @property
    def group_items(self) -> int:
        return prod(self.group)

    @cached_property
    def ids(self) -> np.ndarray:
        """Rows x, y, z of the global ids, by work-item; items of x first."""
        x, y, _ = self.grid
        n = np.arange(self.items)
        return np.array([n % x, n // x % y, n // (x * y)])

    @cached_property
    def linear(self) -> dict[str, np.ndarray]:
        """`i`, `l` and `g` of each work-item."""
        local = self.ids % np.array(self.group)[:, None]
        group = self.ids // np.array(self.group)[:, None]
        return {
            "i": np.arange(self.items),
            "l": (local[2] * self.group[1] + local[1]) * self.group[0] + local[0],
            "g": (group[2] * self.groups[1] + group[1]) * self.groups[0] + group[0],
        }

    def item(self, number: int) -> tuple[int, int, int]:
        """The global id of a work-item."""
        x, y, z = (int(part) for part in self.ids[:, number])
        return x, y, z
