"""Lists TVM's global functions once while TVM is imported: each of its fifty modules lists all two thousand, by one call each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def listing_once() -> Iterator[None]:
    """While TVM is imported, names are listed again only where there are more than before: an import removes none."""
    try:
        from tvm_ffi import registry
    except ImportError:  # `import tvm` says so
        yield
        return
    original: Any = getattr(registry, "list_global_func_names", None)
    if original is None:
        yield
        return
    known: list[str] = []

    def list_names() -> list[str]:
        count = registry.get_global_func("ffi.FunctionListGlobalNamesFunctor")()(-1)
        if count != len(known):
            known[:] = original()
        return known

    registry.list_global_func_names = list_names
    try:
        yield
    finally:
        registry.list_global_func_names = original
