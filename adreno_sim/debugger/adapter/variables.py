"""Values as a client unfolds them: each that has parts gets a number while the launch waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from ...records import dataclass
from ..frames import ItemScope
from ..session import DebugSession
from ..shown import value_text
from ..values import DebugError, Value, element_at

MOST_CHILDREN = 1000
"""Parts of a value that are sent at once, where the client asks for no fewer."""

Child = tuple[str, Callable[[], Value], str]
"""Name, what gives the value, and the expression that means it."""


@dataclass
class Parts:
    """The parts of a value or scope. named: of a scope or struct; else `count` elements that `at` gives."""

    named: list[Child] = field(default_factory=list)
    count: int = 0
    at: Callable[[int], Value] = lambda index: Value.__new__(Value)
    expression: str = ""

    def take(self, start: int, count: int) -> Iterable[Child]:
        """Returns the parts from `start` on."""
        if self.named:
            return self.named[start : start + count]
        numbers = range(start, min(self.count, start + count))
        return [(f"[{n}]", lambda n=n: self.at(n), f"{self.expression}[{n}]") for n in numbers]  # type: ignore[misc]


class Unfolded:
    """The numbers that are given out, until the launch goes on."""

    def __init__(self, session: DebugSession):
        self._session = session
        self._parts: dict[int, tuple[Parts, ItemScope]] = {}

    def clear(self) -> None:
        self._parts.clear()

    def add(self, parts: Parts, scope: ItemScope) -> int:
        """Gives parts a number."""
        number = len(self._parts) + 1
        self._parts[number] = parts, scope
        return number

    def children(self, number: int, start: int, count: int) -> list[dict[str, Any]]:
        """Returns the parts of what has a number, as the protocol has variables. DebugError for a number of nothing."""
        if number not in self._parts:
            raise DebugError(f"variables {number}: they are gone since the launch went on")
        parts, scope = self._parts[number]
        return [self._describe(child, scope) for child in parts.take(start, count or MOST_CHILDREN)]

    def _describe(self, child: Child, scope: ItemScope) -> dict[str, Any]:
        name, find, expression = child
        try:
            return {"name": name, "evaluateName": expression, **self.describe(find(), scope, expression)}
        except DebugError as error:
            return {"name": name, "value": f"({error})", "variablesReference": 0}

    def describe(self, value: Value, scope: ItemScope, expression: str) -> dict[str, Any]:
        """Returns a value's text and type, and the number of its parts."""
        parts = self._parts_of(value, scope, expression)
        found = {"value": value_text(self._session, value), "type": value.type.name, "variablesReference": 0}
        if parts is not None:
            found["variablesReference"] = self.add(parts, scope)
            if parts.count:
                found["indexedVariables"] = parts.count
        return found

    def _parts_of(self, value: Value, scope: ItemScope, expression: str) -> Parts | None:
        type = value.type
        if type.kind == "struct":
            fields = [(name, value.part(at, of)) for name, at, of in type.fields]
            return Parts([(name, lambda part=part: part, f"({expression}).{name}") for name, part in fields])  # type: ignore[misc]
        if type.kind == "array":
            return Parts(count=type.count, at=lambda index: element_at(value, index), expression=expression)
        if type.kind == "pointer" and type.element is not None and type.element.nbytes:
            found = self._session.memory.range_at(int(value.number))
            if found is not None:
                count = (found.address + found.nbytes - int(value.number)) // type.element.nbytes
                return Parts(count=count, at=lambda index: scope.at(value, index), expression=expression)
        return None


def scopes_of(scope: ItemScope) -> list[tuple[str, Parts]]:
    """Returns what a frame sees: its variables, memory that work-items share, and the ids of the work-item."""

    def name(word: str) -> Child:
        return word, lambda: scope.name(word), word

    own = list(dict.fromkeys(variable.name for variable, _ in scope.variables()))
    shared = [word for word in scope.known_names() if word not in own]
    queries = ("get_global_id", "get_local_id", "get_group_id")
    ids: list[Child] = [
        (f"{query}({axis})", lambda query=query, axis=axis: scope.call(query, [axis]), f"{query}({axis})")  # type: ignore[misc]
        for query in queries
        for axis in range(scope.grid.dimensions)
    ]
    found = [("Variables", Parts([name(word) for word in own])), ("Shared", Parts([name(word) for word in shared]))]
    return [(title, parts) for title, parts in [*found, ("Work-item", Parts(ids))] if parts.named]
