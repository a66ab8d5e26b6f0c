"""Reads several LLVM modules as one: external functions and variables are found across them, the others stay with theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...base.errors import BuildError
from ...ir.ir import Function, Global
from .reader import ModuleReader
from .undefined_symbols import WRAPPER_PREFIX
from .words import SYMBOL, unquote

_DEFINED = re.compile(rf"^define ([^@]*?)({SYMBOL})\(", re.MULTILINE)
_VARIABLE = re.compile(rf"^({SYMBOL}) = ((?:[a-z_]+ )*)", re.MULTILINE)
_DECLARED = re.compile(rf"^declare [^@]*?({SYMBOL})\(", re.MULTILINE)
_SYMBOL_OR_TEXT = re.compile(rf'{SYMBOL}|"[^"]*"')
_OWN = ("internal", "private", "available_externally", "linkonce", "linkonce_odr", "weak", "weak_odr")
"""Linkages of symbols that other modules do not see, or may define alike."""
_BUILT_IN = re.compile(rf'@"?(?:_Z|__(?!{WRAPPER_PREFIX[2:]})|llvm\.|printf$)')
_NO_MODULE = "llvm."
"""Variables of LLVM's own, which are the same everywhere."""


class LinkedReader:
    """As `ModuleReader`, of the modules `texts`. BuildError for a symbol that two of them define, and for a function that none
    does."""

    def __init__(self, texts: Sequence[str]):
        taken: dict[str, int] = {}
        self._modules: list[ModuleReader] = []
        for number, text in enumerate(texts):
            self._modules.append(ModuleReader(_rename_own(text, number, taken)))
        self._check_declared(texts, taken)
        self._owner = {name: module for module in self._modules for name in module.functions}
        variables = {name: found for module in self._modules for name, found in module.variables.items()}
        for module in self._modules:
            module.resolve(self._owner.keys(), variables)

    @property
    def kernels(self) -> list[str]:
        return [name for module in self._modules for name in module.kernels]

    @property
    def helpers(self) -> list[str]:
        return [name for module in self._modules for name in module.helpers]

    @property
    def globals(self) -> dict[str, Global]:
        return {name: found for module in self._modules for name, found in module.globals.items()}

    def read(self, name: str) -> Function:
        return self._owner[name].read(name)

    def _check_declared(self, texts: Sequence[str], taken: dict[str, int]) -> None:
        for text in texts:
            for symbol in _DECLARED.findall(text):
                if symbol not in taken and not _BUILT_IN.match(symbol):
                    name = unquote(symbol[1:]).removeprefix(WRAPPER_PREFIX)
                    raise BuildError(f"undefined function {name}: none of the {len(texts)} linked programs defines it")


def _rename_own(text: str, number: int, taken: dict[str, int]) -> str:
    """The module with its own symbols renamed where another has the name; `taken` gets what it defines."""
    renamed: dict[str, str] = {}
    symbols = [(symbol, linkage.split()) for linkage, symbol in _DEFINED.findall(text)]
    symbols += [(symbol, words.split()) for symbol, words in _VARIABLE.findall(text)]
    for symbol, words in symbols:
        if "external" in words or symbol[1:].startswith(_NO_MODULE):
            continue
        if symbol not in taken:
            taken[symbol] = number
        elif any(word in _OWN for word in words):
            renamed[symbol] = f'@"{symbol[1:].strip(chr(34))}.{number}"'
        else:
            raise BuildError(f"{unquote(symbol[1:])} is defined twice: in linked programs {taken[symbol] + 1} and {number + 1}")
    return _SYMBOL_OR_TEXT.sub(lambda found: renamed.get(found[0], found[0]), text) if renamed else text
