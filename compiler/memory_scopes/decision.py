"""Settles the scope each producer writes, from what its consumers ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...records import dataclass
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.versions import type_of
from .demand import Ask, Demand, bindings, callee, is_tensor
from .rules import GLOBAL

Settle = Callable[[Sequence[Ask]], str]
"""The scope of a tensor whose consumers ask for these."""


@dataclass(frozen=True)
class Decision:
    """What a call writes: its result (Relax variable), what it calls, the scope chosen, and everybody's wish."""

    var: Any
    callee: str
    scope: str
    asks: tuple[Ask, ...]

    @property
    def contested(self) -> bool:
        """Whether consumers disagree: those that lose read a copy."""
        return len({ask.scope for ask in self.asks}) > 1


def choose_last(asks: Sequence[Ask]) -> str:
    """The wish that came up last among the different ones: what TVM's pass does in 0.25 to 0.27.

    Its source counts the consumers of each scope to let the most frequent win, but never raises a count above one.
    """
    return list(dict.fromkeys(ask.scope for ask in asks))[-1] if asks else GLOBAL


def choose_most(asks: Sequence[Ask]) -> str:
    """The wish of most consumers, the first of equals: fewest copies."""
    wishes = [ask.scope for ask in asks]
    return max(dict.fromkeys(wishes), key=wishes.count) if asks else GLOBAL


def decide(function: Any, demand: Demand, settle: Settle = choose_last) -> dict[int, Decision]:
    """The scope of every call's result, by key of the call. Calls that give no tensor have none."""
    found: dict[int, Decision] = {}
    for binding in bindings(function):
        value = getattr(binding, "value", None)
        if value is None or kind(value) != "Call" or not _gives_tensors(binding.var):
            continue
        by_call = {ask.call: ask for ask in demand.by_var.get(key(binding.var), [])}  # a call asks once: for its last operand
        asks = tuple(by_call.values())
        found[key(value)] = Decision(binding.var, callee(value), settle(asks), asks)
    return found


def _gives_tensors(var: Any) -> bool:
    fields = getattr(type_of(var), "fields", None)
    if fields is None:
        return is_tensor(var)
    return bool(fields) and all(kind(field) in ("TensorType", "TensorStructInfo") for field in fields)
