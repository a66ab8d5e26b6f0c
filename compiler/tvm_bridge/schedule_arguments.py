"""TVM's check of the arguments of its schedule functions, in less time.

TVM compares each argument of each call with its type hint. Each time it finds the parts of the hint, and writes its name even if
no argument is wrong. Both follow from the hint alone, and are kept here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

CHECKER = "tvm.s_tir.schedule._type_checker"
"""TVM's module that compares."""
OF_HINTS = ("_dispatcher", "_type2str")
"""Its functions of a type hint: the parts of it, and its name."""
MOST = 1024
"""Hints whose results are kept: TVM has some dozens. A wrong argument's own type is made for its message alone."""


def keep_hints() -> None:
    """Have TVM's check keep what follows from a type hint; a TVM that has other functions is left as it is."""
    module = sys.modules.get(CHECKER)
    for name in OF_HINTS:
        function = getattr(module, name, None)
        if function is not None and not hasattr(function, "__wrapped__"):
            setattr(module, name, keep_results(function))


def keep_results(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """The function, which gives the same result for the same object again.

    Equal hints are not the same: `int | str` equals `str | int`, and its name is another one.
    """
    known: dict[int, tuple[Any, T]] = {}

    def find(hint: Any) -> T:
        kept = known.get(id(hint))
        if kept is None:
            if len(known) >= MOST:
                known.clear()
            kept = known[id(hint)] = hint, function(hint)  # which is held, so that no other object has its number
        return kept[1]

    find.__wrapped__ = function  # type: ignore[attr-defined]
    return find
