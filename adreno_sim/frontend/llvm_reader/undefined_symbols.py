"""Functions and variables that a program uses, declares, and does not define: the linker of a driver refuses such a program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ...ir.builtins import BUILTINS
from ...ir.ir import SourceLoc
from ..mangling import demangle
from ..visible_files import HEADERS
from .metadata import Metadata
from .words import match_lines, unquote

_DECLARE = re.compile(r'declare (?:!dbg !(\d+) )?[^@]*@("[^"]*"|[-\w.$]+)\(')
_EXTERNAL = re.compile(r'@("[^"]*"|[-\w.$]+) = (?:[a-z_]+ )*external ')
_ASSUMED = frozenset(("printf",))
"""Built-ins whose names are not mangled."""
_OF_COMPILER = ("llvm.", "__")
"""What names begin with that a source must not define (C11 7.1.3): clang calls such functions for what the language has."""
WRAPPER_PREFIX = "__clang_ocl_kern_imp_"
"""clang >= 21 moves a kernel's body into a function of this name, which the kernel and who else calls it call."""
_OWN_HEADERS = frozenset(header.name for header in HEADERS.glob("*.h"))


def find_undefined(text: str, metadata: Metadata) -> list[tuple[str, SourceLoc]]:
    """Returns what is wrong with each such symbol, as a sentence, and its first use: functions, then variables."""
    functions = (
        (demangle(unquote(symbol).removeprefix(WRAPPER_PREFIX)).name, _first_use(text, symbol, metadata, "call "))
        for symbol in _functions(text, metadata)
    )
    external = (found[1] for found in match_lines(_EXTERNAL, text, "@"))
    variables = ((unquote(symbol), _first_use(text, symbol, metadata)) for symbol in external)
    return [
        *(
            (f"{name}() is called and declared, but never defined: expected its body in this program", loc)
            for name, loc in functions
        ),
        *(
            (f"{name} is used and declared, but never defined: expected its value in this program", loc)
            for name, loc in variables
        ),
    ]


def _functions(text: str, metadata: Metadata) -> Iterator[str]:
    """Yields the symbol of each such function, in the order of the module's text.

    clang declares what any function that it keeps calls, so that the call need not be within reach of a kernel. It marks the
    built-in functions that it declares itself; one that the source declares once more is a built-in all the same. A static
    function has no place.
    """
    for declaration in match_lines(_DECLARE, text, "declare "):
        number, quoted = declaration.groups("")
        symbol = unquote(quoted).removeprefix(WRAPPER_PREFIX)
        if symbol.startswith(_OF_COMPILER) or metadata.is_artificial(number) or _is_builtin(symbol):
            continue
        if os.path.basename(metadata.subprogram_loc(number).file) not in _OWN_HEADERS:
            yield quoted


def _is_builtin(symbol: str) -> bool:
    return symbol in _ASSUMED or (symbol.startswith("_Z") and demangle(symbol).name in BUILTINS)


def _first_use(text: str, quoted: str, metadata: Metadata, instruction: str = "") -> SourceLoc:
    use = re.search(rf"^ .*{instruction}[^\n]*@{re.escape(quoted)}(?![-\w.$]).*!dbg !(\d+)", text, re.MULTILINE)
    return metadata.loc(use[1] if use else "")
