"""Functions of a loaded library that its own code calls by its table of addresses are led through functions of ours.

A library that is not bound to itself calls even its own exported functions so (ELF: DT_JMPREL).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from .library import read, write

_LINK_BASE, _LINK_DYNAMIC = 0, 16
_STRINGS, _SYMBOLS, _CALLS, _CALLS_SIZE = 5, 6, 23, 2
_ENTRY, _SYMBOL = 24, 24

Wrap = Callable[[Any], Any]
"""Makes the function that is called in place of the one that it is given."""


def interpose(library: ctypes.CDLL, wraps: Mapping[str, tuple[Any, Wrap]]) -> list[Any]:
    """Leads calls of these functions through ours, and returns what must live as long as the library.

    wraps: by name, the type of the function (of ctypes) and what makes ours of it. ValueError for one that is not called so.
    """
    slots = _find_slots(library)
    kept = []
    for name, (type, wrap) in wraps.items():
        if name not in slots:
            raise ValueError(f"Mesa's library does not call {name} by its table")
        original = type((name, library))
        ours = type(wrap(original))
        write(slots[name], 8, _address(ours))
        kept += [original, ours]
    return kept


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def _find_slots(library: ctypes.CDLL) -> dict[str, int]:
    """Where the table holds the address of each function."""
    link = library._handle
    base, entry, dynamic = read(link + _LINK_BASE, 8), read(link + _LINK_DYNAMIC, 8), {}
    while tag := read(entry, 8):
        dynamic[tag] = read(entry + 8, 8)
        entry += 16
    start, found = dynamic[_CALLS], {}
    for place in range(start, start + dynamic[_CALLS_SIZE], _ENTRY):
        symbol = dynamic[_SYMBOLS] + _SYMBOL * (read(place + 8, 8) >> 32)
        found[ctypes.string_at(dynamic[_STRINGS] + read(symbol, 4)).decode()] = base + read(place, 8)
    return found
