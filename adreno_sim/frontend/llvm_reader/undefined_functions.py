"""Functions that a program calls, declares, and does not define: the linker of a driver refuses such a program."""

from __future__ import annotations

import os
import re

from ...ir.builtins import BUILTINS
from ...ir.ir import SourceLoc
from ..mangling import demangle
from ..visible_files import HEADERS
from .metadata import Metadata

_DECLARE = re.compile(r'^declare (?:!dbg !(\d+) )?[^@]*@("[^"]*"|[-\w.$]+)\(', re.MULTILINE)
_ASSUMED = frozenset(("printf",))
"""Built-ins whose names are not mangled."""
_OF_COMPILER = ("llvm.", "__")
"""What names begin with that a source must not define (C11 7.1.3): clang calls such functions for what the language has."""
_OWN_HEADERS = frozenset(header.name for header in HEADERS.glob("*.h"))


def find_undefined_functions(text: str, metadata: Metadata) -> list[tuple[str, SourceLoc]]:
    """Returns the name of each such function, and its first call, in the order of the module's text.

    clang declares what any function that it keeps calls, so that the call need not be within reach of a kernel. It marks the
    built-in functions that it declares itself; one that the source declares once more is a built-in all the same. A static
    function has no place.
    """
    found = []
    for number, quoted in _DECLARE.findall(text):
        symbol = quoted.strip('"')
        if symbol.startswith(_OF_COMPILER) or metadata.is_artificial(number) or _is_builtin(symbol):
            continue
        if os.path.basename(metadata.subprogram_loc(number).file) not in _OWN_HEADERS:
            found.append((demangle(symbol).name, _first_call(text, quoted, metadata)))
    return found


def _is_builtin(symbol: str) -> bool:
    return symbol in _ASSUMED or (symbol.startswith("_Z") and demangle(symbol).name in BUILTINS)


def _first_call(text: str, quoted: str, metadata: Metadata) -> SourceLoc:
    call = re.search(rf"^ .*\bcall [^@\n]*@{re.escape(quoted)}\(.*!dbg !(\d+)", text, re.MULTILINE)
    return metadata.loc(call[1] if call else "")
