"""Lists TVM's global functions once while TVM is imported: each of its fifty modules lists all two thousand, by one call each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_original: Any = None


@contextmanager
def listing_once() -> Iterator[None]:
    """While TVM is imported, names are listed again only where there are more than before: an import removes none.

    Threads may be inside at once: the first replaces TVM's function, and the last puts it back. No lock is held inside, where a
    thread may wait for another one's import.
    """
    try:
        from tvm_ffi import registry
    except ImportError:  # `import tvm` says so
        yield
        return
    if not hasattr(registry, "list_global_func_names"):
        yield
        return
    _enter(registry)
    try:
        yield
    finally:
        _leave(registry)


def _enter(registry: Any) -> None:
    global _inside, _original
    with _lock:
        if _inside == 0:
            _original = registry.list_global_func_names
            registry.list_global_func_names = _make_lister(registry, _original)
        _inside += 1


def _leave(registry: Any) -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            registry.list_global_func_names = _original


def _make_lister(registry: Any, original: Callable[[], list[str]]) -> Callable[[], list[str]]:
    known: list[str] = []

    def list_names() -> list[str]:
        nonlocal known
        count = registry.get_global_func("ffi.FunctionListGlobalNamesFunctor")()(-1)
        if count != len(known):
            known = original()  # another list: a thread may go through the one before
        return known

    return list_names
