"""Compiled kernels on disk, shared between processes.

Object code is named by the digest of its LLVM text and of everything else that decides it, so kernels of the same text share
it. Other facts about a kernel are named by the digest of its source and specialization, so that a known kernel needs no
text; what is proven of a launch is also named by the launch facts.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ...base import disk_cache
from ...base.code_digest import code_digest
from ...base.stored import values
from ...ir import ir
from ..llvm import objects

if TYPE_CHECKING:
    from ..abi.launch_facts import LaunchFacts
    from ..abi.specialization import Specialization

T = TypeVar("T")


def folder() -> Path:
    """Returns the folder of object code."""
    return disk_cache.folder("objects")


def name_of(text: str, identity: str) -> str:
    """Returns the name of the entry with the object code of `text` for the machine `identity`."""
    return hashlib.sha256(f"{identity}\0{code_digest('objects')}\0{text}".encode()).hexdigest() + ".o"


def load(name: str) -> bytes | None:
    """Returns the object code stored under `name`, or None."""
    return disk_cache.load(folder() / name) or None


def store(name: str, code: bytes) -> None:
    """Stores `code` under `name` if possible."""
    disk_cache.store(folder() / name, code)


def discard(name: str) -> None:
    """Removes an entry that turned out to be damaged."""
    with contextlib.suppress(OSError):
        (folder() / name).unlink()


def load_linked(text: str, symbol: str, keep: bool = True, imports: Mapping[str, int] | None = None) -> objects.Loaded:
    """Returns the machine code of a module, linked into this process: from disk if possible, else compiled. `keep`: use the
    disk. imports: as of `Machine.load`."""
    machine = objects.machine()
    name = name_of(text, machine.identity)
    code = load(name) if keep else None
    if code is not None:
        try:
            return machine.load(code, symbol, imports)
        except RuntimeError:  # written by something that only looked like this version
            discard(name)
    code = machine.compile(text)
    if keep:
        store(name, code)
    return machine.load(code, symbol, imports)


def module_name(kernel: ir.Function, spec: Specialization, identity: str) -> str:
    """Returns the name of the entry with what `kernel` compiles to for `spec`; "" for a kernel of unknown origin."""
    if not kernel.digest:
        return ""
    text = "\0".join((kernel.digest, code_digest("modules"), identity, canonical_text(spec)))
    return hashlib.sha256(text.encode()).hexdigest()


def load_or_find(
    kind: str,
    result: type[T],
    find: Callable[[ir.Function, Specialization, LaunchFacts], T],
    kernel: ir.Function,
    spec: Specialization,
    facts: LaunchFacts,
    identity: str = "",
) -> T:
    """Returns what `find` says of launches of `kernel`, of type `result`: the stored value of that `kind`, else computed now and
    stored. identity: of the machine, if it depends on that.

    A stored value is returned without reading the kernel's body, which would have to be compiled first.
    """
    if not kernel.digest:  # of unknown origin
        return find(kernel, spec, facts)
    text = "\0".join((kernel.digest, code_digest(kind), identity, canonical_text(spec), canonical_text(facts)))
    name = hashlib.sha256(text.encode()).hexdigest()
    found = load_value(kind, result, name)
    if found is None:
        found = find(kernel, spec, facts)
        store_value(kind, result, name, found)
    return found


def load_value(kind: str, result: type[T], name: str) -> T | None:
    """Returns the value of type `result` stored as `name` among the entries of `kind`, or None."""
    found: T | None = values.load(disk_cache.folder(kind) / name, result, packed=True)
    return found


def store_value(kind: str, result: type[T], name: str, value: T) -> None:
    """Stores `value` as `name` among the entries of `kind` if possible."""
    values.store(disk_cache.folder(kind) / name, result, value, packed=True)


def refuse_value(kind: str, name: str, why: str) -> None:
    """Removes the entry `name` of `kind`, which is of no use, and says why."""
    disk_cache.refuse(disk_cache.folder(kind) / name, why)


def canonical_text(value: object) -> str:
    """Returns a text that two values share only if they are equal. Sets are sorted, unlike in `repr`."""
    if is_dataclass(value):
        parts = [f"{field.name}={canonical_text(getattr(value, field.name))}" for field in fields(value)]
    elif isinstance(value, (tuple, list)):
        parts = [canonical_text(item) for item in value]
    elif isinstance(value, Set):
        parts = sorted(map(canonical_text, value))
    else:
        return repr(value)
    return f"{type(value).__name__}({', '.join(parts)})"
