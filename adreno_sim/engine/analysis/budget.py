"""Budgets: how much work an analysis may do on one kernel, counted in steps and never in time, so that results are reproducible.

A budget grows with the instructions of the kernel, so that analyses stay linear in its size. What they give up is checked when
the kernel runs, or runs one work-item at a time, and the launch's report says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir import ir
from ...records import dataclass


class OverBudget(Exception):
    """The steps of a budget are used up."""


@dataclass
class Budget:
    """`left` of `limit` steps for what is named by `what`."""

    what: str
    limit: int
    left: int

    @staticmethod
    def of(what: str, function: ir.Function, base: int, each: int) -> Budget:
        """Returns a budget of `base` steps, and `each` more for every instruction of `function`."""
        limit = base + each * sum(len(block.instrs) for block in function.blocks)
        return Budget(what, limit, limit)

    def spend(self, steps: int = 1) -> None:
        """Takes steps. Raises OverBudget if there are not so many left."""
        if steps > self.left:
            self.left = 0
            raise OverBudget(self.reason)
        self.left -= steps

    @contextmanager
    def share(self, parts: int) -> Iterator[None]:
        """Inside the `with` statement no more may be spent than one of so many parts of the whole budget."""
        kept = max(self.left - self.limit // parts, 0)
        self.left -= kept
        try:
            yield
        finally:
            self.left += kept

    @property
    def used_up(self) -> bool:
        return self.left == 0

    @property
    def reason(self) -> str:
        """What was given up, and at which limit."""
        return f"{self.what}: given up after {self.limit} steps, which is the limit for a kernel of this size"
