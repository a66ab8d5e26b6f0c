"""Which sites of a kernel are always executed after which others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from ....ir import ir
from ....ir.postdominators import PostDominators, Span
from ....records import dataclass


@dataclass(frozen=True)
class PostDominatedSites:
    """spans: number of a site -> where its blocks are in the tree of post-dominators.

    It is as large as there are sites; a table of their pairs would grow with the square.
    """

    spans: Mapping[int, tuple[Span | None, ...]] = field(default_factory=dict)

    @staticmethod
    def of(blocks: Sequence[ir.Block], sites: Mapping[int, Sequence[ir.Block]]) -> PostDominatedSites:
        """sites: the blocks that hold each site's instructions, of the function of these blocks."""
        if len(sites) < 2:
            return PostDominatedSites()
        after = PostDominators(blocks)
        return PostDominatedSites({number: tuple(map(after.span, places)) for number, places in sites.items()})

    def always_follows(self, second: int, first: int) -> bool:
        """Returns whether every work-item that executes site `first` also executes site `second`; False for unknown sites."""
        if first not in self.spans or second not in self.spans:
            return False
        ends = [end for end in self.spans[second] if end is not None]
        return all(start is None or any(low <= start[0] <= high for low, high in ends) for start in self.spans[first])
