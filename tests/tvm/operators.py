"""The operator table: small Relax graphs, each by name, that together cover what TVM's Adreno pipelines emit."""

from __future__ import annotations

import convolution_operators  # noqa: F401  (fills OPERATORS)
import other_operators  # noqa: F401
from operator_table import IMAGE, OPERATORS, C, conv, graph, op, relax, weight

__all__ = ["IMAGE", "OPERATORS", "C", "conv", "graph", "op", "relax", "weight"]
