"""The operators that PrimFuncs are labelled with, without rounding: what kernels that are written for threads should compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....records import dataclass
from ...kernel_reference import Argument
from ..given import as_device_takes
from ..run import Truth
from ..units import Units
from .operator import Operator, gives_places, holds_halves, read_label

if TYPE_CHECKING:
    from tvm import IRModule

_OPERANDS = {"bucketize": 2, "multinomial_from_uniform": 3, "scatter_elements": 3, "scatter_nd": 3}
"""How many tensors an operator takes, where it is not one."""


@dataclass(frozen=True)
class StoredOperators:
    """OperatorTruths as data."""

    operators: dict[str, Operator]
    halves: frozenset[str]


class OperatorTruths:
    """The labelled PrimFuncs of a module. halves: those that hold halves."""

    def __init__(self, module: IRModule):
        functions = {str(var.name_hint): function for var, function in module.functions_items()}
        labels = {name: read_label(function) for name, function in functions.items()}
        self._operators = {name: operator for name, operator in labels.items() if operator is not None}
        self.halves = frozenset(name for name in self._operators if holds_halves(functions[name]))

    def to_stored(self) -> StoredOperators:
        """All there is."""
        return StoredOperators(self._operators, self.halves)

    @staticmethod
    def from_stored(stored: StoredOperators) -> OperatorTruths:
        """What `to_stored` was called on."""
        made = OperatorTruths.__new__(OperatorTruths)
        made._operators, made.halves = stored.operators, stored.halves
        return made

    def __contains__(self, name: str) -> bool:
        return name in self._operators

    def gives_places(self, name: str) -> bool:
        """Whether the last result of a function says where sorted values come from."""
        return name in self._operators and gives_places(self._operators[name])

    def run(self, name: str, args: Sequence[Argument], units: Units) -> list[Truth | None]:
        """What `name` makes of `args`, by parameter: None for a scalar and for a tensor that it does not write.

        args: contents before the call, operands before results. Errors as `run_operator`.
        """
        from .run import run_operator  # with all operators, which few models have

        operator = self._operators[name]
        places = [place for place, arg in enumerate(args) if isinstance(arg, np.ndarray)]
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        count = _OPERANDS.get(operator.name, 1)
        results = run_operator(
            operator, [as_device_takes(array, units) for array in arrays[:count]], [array.dtype for array in arrays], units
        )
        found: list[Truth | None] = [None] * len(args)
        for place, result in zip(places[count:], results, strict=True):
            found[place] = result
        return found
