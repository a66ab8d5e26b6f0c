"""The disk cache of built programs: what a build says about its kernels, so a known program needs neither clang nor its IR.

Parameters, attributes and facts of a kernel are small and stored. Its body is compiled again only if it is needed, as for
machine code that is not on disk either.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import fields, replace

from ..base import disk_cache
from ..base.code_digest import code_digest
from ..base.stored import values
from ..ir import ir
from ..records import dataclass
from .diagnostics import Diagnostic
from .driver import FrontEndTarget, identify_compiler
from .file_references import may_read_files
from .options import parse_options


@dataclass(frozen=True)
class _Stored:
    """The kernels without bodies, and the warnings."""

    kernels: dict[str, ir.Function]
    warnings: list[Diagnostic]


_BODY = ir.Function.__dict__["blocks"]


class StoredFunction(ir.Function):
    """A kernel whose body `compile` makes on first access."""

    __slots__ = ("_compile", "_lock")

    def __init__(self, head: ir.Function, compile: Callable[[], ir.Function]):
        super().__init__(**{field.name: getattr(head, field.name) for field in fields(head)})
        self._lock = threading.Lock()
        self._compile: Callable[[], ir.Function] | None = compile

    @property
    def blocks(self) -> list[ir.Block]:
        with self._lock:
            if self._compile is not None:
                _BODY.__set__(self, _with_params(self.params, self._compile()))
                self._compile = None
        found: list[ir.Block] = _BODY.__get__(self)
        return found

    @blocks.setter
    def blocks(self, value: list[ir.Block]) -> None:
        _BODY.__set__(self, value)


def _with_params(params: list[ir.Param], function: ir.Function) -> list[ir.Block]:
    """Returns the body of `function` with its parameters replaced by `params`: analyses know them by identity."""
    for block in function.blocks:
        for instr in block.instrs:
            instr.operands = [params[v.index] if isinstance(v, ir.Param) else v for v in instr.operands]
    return function.blocks


def entry_name(source: str, options: str, target: FrontEndTarget) -> str:
    """Returns the entry name of a program; "" if it may read files, on which its text says nothing."""
    if may_read_files(source, parse_options(options, target.extensions)):
        return ""
    device = replace(target, extensions=None), None if target.extensions is None else sorted(target.extensions)
    text = "\0".join([code_digest("programs"), identify_compiler(), repr(device), options, source])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def load(name: str, source: str, compile: Callable[[], ir.Module]) -> ir.Module | None:
    """Returns the program stored under `name`, or None. `compile` builds all of it."""
    stored: _Stored | None = values.load(disk_cache.folder("programs") / name, _Stored)
    if stored is None:
        return None
    heads = stored.kernels

    def body(kernel: str) -> Callable[[], ir.Function]:
        return lambda: compile().kernels[kernel]

    return ir.Module(source, {key: StoredFunction(head, body(key)) for key, head in heads.items()}, {}, list(stored.warnings))


def store(name: str, module: ir.Module) -> None:
    """Stores what `module` says about its kernels."""
    heads = {key: replace(function, blocks=[]) for key, function in module.kernels.items()}
    warnings = [found for found in module.warnings if isinstance(found, Diagnostic)]
    values.store(disk_cache.folder("programs") / name, _Stored, _Stored(heads, warnings))
