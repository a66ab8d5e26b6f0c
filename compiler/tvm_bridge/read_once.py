"""TVM's IR as objects that ask TVM for each of their fields once: a question crosses into C++, and walks ask the same often."""

from __future__ import annotations

from typing import Any

from .read import kind


class ReadNode:
    """A node of TVM's. Its class has the name of the node's, so that `read` takes either; a field is read when it is asked for.

    of_tvm: the node itself. There is one ReadNode for each node below the one that was given to `read_once`.
    """

    _absent: set[str]

    def __init__(self, source: Any, known: dict[int, ReadNode]) -> None:
        self.of_tvm = source
        self._known = known
        self._handle = int(source.__chandle__())

    def __chandle__(self) -> int:
        return self._handle

    def __str__(self) -> str:
        return str(self.of_tvm)

    def __getattr__(self, name: str) -> Any:
        """A field that was not read before."""
        if name in self._absent:
            raise AttributeError(name)
        try:
            value = getattr(self.of_tvm, name)
        except AttributeError:
            self._absent.add(name)
            raise
        found = self.__dict__[name] = _convert(value, self._known)
        return found


def read_once(node: Any) -> Any:
    """The node and all below it as such objects; itself if it is one."""
    return node if isinstance(node, ReadNode) else _convert(node, {})


_classes: dict[str, type[ReadNode]] = {}


def _convert(value: Any, known: dict[int, ReadNode]) -> Any:
    """What TVM gave, as Python's own: containers too."""
    name = kind(value)
    if name in ("Array", "List"):
        return tuple(_convert(item, known) for item in value)
    if name == "Map":
        return {_convert(key, known): _convert(item, known) for key, item in value.items()}
    if not hasattr(value, "__chandle__"):
        return value
    handle = int(value.__chandle__())
    if handle not in known:
        if name not in _classes:
            _classes[name] = type(name, (ReadNode,), {"_absent": set()})
        known[handle] = _classes[name](value, known)
    return known[handle]
