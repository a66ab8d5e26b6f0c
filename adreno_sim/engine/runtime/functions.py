"""Functions in LLVM text as LLVM prints what clang made of C: taken apart, and put into modules that clang knows nothing of."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...records import dataclass

_DEFINITION = re.compile(r"^define (?P<head>[^\n]*?) (?P<group>#\d+ )?\{\n(?P<body>.*?)^\}\n", re.MULTILINE | re.DOTALL)
_ATTRIBUTES = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)
_DECLARATION = re.compile(r"^declare (?P<head>[^\n]*?)( #\d+)?$", re.MULTILINE)
_NAME = re.compile(r"@([\w.]+)")

_LINKAGE = re.compile(r" ?\b(?:dso_local|internal|local_unnamed_addr|unnamed_addr)\b")
_EXTENSION = re.compile(r"\b(?:zeroext|signext) ")
"""Promises about the upper bits of an argument or result, which calls in emitted text do not make."""
_REMARK = re.compile(r"(?: #\d+)?(?:, ![\w.]+ ![\w.]+)+$| #\d+$| *; preds = .*$", re.MULTILINE)
"""Metadata, attributes of a call, comments: nothing that a result depends on. Their numbers mean nothing in another module."""
_SCOPE = re.compile(r"^.*@llvm\.experimental\.noalias\.scope\.decl\(.*\n", re.MULTILINE)

KINDS = ("cold", "alwaysinline", "noinline")


@dataclass(frozen=True)
class CFunction:
    """One function. `head` is all before its attributes: result, name and parameters. `kind` is one of KINDS, or "" for none.

    `names`: functions and data that its body refers to.
    """

    name: str
    head: str
    body: str
    kind: str
    names: frozenset[str]

    def text(self, linkage: str, attributes: str) -> str:
        """Returns its definition. `linkage`: "internal ", or "" for a function that others see."""
        return f"define {linkage}{self.head} {attributes} {{\n{self.body}}}"


@dataclass(frozen=True)
class CModule:
    """Functions by name, and declarations of what they call but do not define: LLVM's intrinsics, and functions of others."""

    functions: dict[str, CFunction]
    declarations: dict[str, str]

    def needed_for(self, names: Iterable[str]) -> CModule:
        """Returns the part that functions of these names need, themselves included. Other names are left out."""
        waiting, found = list(names), dict[str, CFunction]()
        while waiting:
            function = self.functions.get(waiting.pop())
            if function is not None and function.name not in found:
                found[function.name] = function
                waiting += sorted(function.names)
        return CModule(found, _choose(self.declarations, found.values()))

    def with_others(self, others: CModule) -> CModule:
        """Returns the functions and declarations of both."""
        return CModule(self.functions | others.functions, self.declarations | others.declarations)

    def text(self) -> str:
        """Returns the whole as LLVM text. All names are visible outside the module."""
        functions = (function.text("", "nounwind") for function in self.functions.values())
        return "\n".join([*self.declarations.values(), *functions, ""])


def read_module(text: str) -> CModule:
    """Takes apart the LLVM text of a module, as this process's LLVM prints it. Global data and named types are left out."""
    attributes = dict(_ATTRIBUTES.findall(text))
    functions = [_read_function(found, attributes) for found in _DEFINITION.finditer(text)]
    heads = [_plain(found["head"]) for found in _DECLARATION.finditer(text)]
    declarations = {_NAME.findall(head)[0]: f"declare {head}" for head in heads}
    return CModule({function.name: function for function in functions}, _choose(declarations, functions))


def _choose(declarations: dict[str, str], functions: Iterable[CFunction]) -> dict[str, str]:
    used = frozenset[str]().union(*(function.names for function in functions))
    return {name: text for name, text in declarations.items() if name in used}


def _read_function(found: re.Match[str], attributes: dict[str, str]) -> CFunction:
    words = attributes.get((found["group"] or "").strip(), "").split()
    kind = next((kind for kind in KINDS if kind in words), "")
    head, body = _plain(found["head"]), _REMARK.sub("", _SCOPE.sub("", found["body"]))
    body = body.replace("\n\n", "\n")
    return CFunction(_NAME.findall(head)[0], head, body, kind, frozenset(_NAME.findall(body)))


def _plain(head: str) -> str:
    return _EXTENSION.sub("", _LINKAGE.sub("", head)).strip()
