"""What references need of a subgraph: what it computes as a whole, and what each of its operators does."""

from __future__ import annotations

from typing import Any

from ..mlops.graph import Entry
from ..records import dataclass


@dataclass(frozen=True)
class OperatorModule:
    """One operator: its node in the graph, the entries that it is given, and a module with a `main` of these."""

    node: int
    inputs: tuple[Entry, ...]
    module: Any


@dataclass(frozen=True)
class Subgraph:
    """A module with a `main` of the graph's inputs, and its operators in the graph's order."""

    module: Any
    operators: tuple[OperatorModule, ...]
