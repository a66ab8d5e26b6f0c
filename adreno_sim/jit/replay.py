"""A launch that is fast where nothing is wrong: accesses proven in range have no check, the other checks only raise a flag,
and if one does the same launch runs once more, from the memory as it was before, with code that reports.

A failed check has the same effect in both (a read gives zero, a write is dropped), so that memory, findings and printed text
are those of the reporting code in every case.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..clc import ir
from . import launch
from .compiled import CompiledKernel, specialise
from .effects import read_arguments, written_arguments
from .launch import Bound, BoundBuffer, BoundImage, RawResult
from .launch_facts import LaunchFacts, facts_of
from .proofs import prove
from .specialisation import Proofs, Specialisation

SNAPSHOT_LIMIT = 64 << 20
"""Bytes of memory that a launch copies for a replay; where it would take more, the code reports at once."""

_KEPT = 1024
_failed: OrderedDict[tuple[int, Specialisation], ir.Function] = OrderedDict()
"""What had to be replayed before (with its kernel, so that the id stays its own): it reports at once from then on."""
_effects: OrderedDict[int, tuple[ir.Function, frozenset[int], frozenset[int]]] = OrderedDict()
_proofs: OrderedDict[tuple[int, Specialisation, LaunchFacts], tuple[ir.Function, Proofs]] = OrderedDict()
_lock = threading.Lock()


def run(
    module: ir.Module,
    kernel: ir.Function,
    key: Specialisation,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    *,
    keep: bool = True,
    **options: Any,
) -> RawResult:
    """Compile what is needed of `kernel` for `key`, and launch it as `launch.run` does (`options` are its own)."""

    def code(key: Specialisation) -> CompiledKernel:
        return specialise(module, kernel, key, keep=keep)

    if key.checks != "bounds" or key.watch:
        return launch.run(code(key), global_size, offset, args, **options)
    key = replace(key, proofs=proofs_for(kernel, key, facts_of(kernel, key, global_size, offset, args)))
    if _known_to_fail(kernel, key):
        return launch.run(code(key), global_size, offset, args, **options)
    compiled = code(replace(key, sticky=True))
    ranges = snapshot_ranges(kernel, args) if compiled.module.may_fail else []
    if sum(nbytes for _, nbytes in ranges) > SNAPSHOT_LIMIT:
        return launch.run(code(key), global_size, offset, args, **options)
    before = [_copied(*piece) for piece in ranges]
    result = launch.run(compiled, global_size, offset, args, **options)
    if not result.failed:
        return result
    for (address, _), data in zip(ranges, before, strict=True):
        ctypes.memmove(address, data.ctypes.data, data.nbytes)
    _note_failure(kernel, key)
    again = launch.run(code(key), global_size, offset, args, **options)
    again.seconds += result.seconds
    return again


def proofs_for(kernel: ir.Function, key: Specialisation, facts: LaunchFacts) -> Proofs:
    """What is proven of a launch; found again for a launch of the same facts."""
    asked = id(kernel), key, facts
    with _lock:
        known = _proofs.get(asked)
    if known is None:
        known = kernel, prove(kernel, key, facts)
        with _lock:
            _proofs[asked] = known
            while len(_proofs) > _KEPT:
                _proofs.popitem(last=False)
    return known[1]


def snapshot_ranges(kernel: ir.Function, args: Sequence[Bound]) -> list[tuple[int, int]]:
    """Address and bytes of the arguments that the kernel may write and whose bytes it may also read, through any argument.

    What it only writes needs no copy: the second run writes the same bytes again.
    """
    written, read = _effects_of(kernel)
    sources = [_range(args[i]) for i in read]
    targets = [_range(args[i]) for i in sorted(written)]
    return [(low, size) for low, size in targets if size and any(low < a + n and a < low + size for a, n in sources)]


def _range(arg: Bound) -> tuple[int, int]:
    return (arg.address, arg.nbytes) if isinstance(arg, (BoundBuffer, BoundImage)) else (0, 0)


def _copied(address: int, nbytes: int) -> np.ndarray:
    copy = np.empty(nbytes, np.uint8)
    ctypes.memmove(copy.ctypes.data, address, nbytes)
    return copy


def _effects_of(kernel: ir.Function) -> tuple[frozenset[int], frozenset[int]]:
    """Indices of the arguments that `kernel` may write, and of those it may read."""
    with _lock:
        known = _effects.get(id(kernel))
    if known is None:
        known = kernel, written_arguments(kernel), read_arguments(kernel)
        with _lock:
            _effects[id(kernel)] = known
            while len(_effects) > _KEPT:
                _effects.popitem(last=False)
    return known[1], known[2]


def _known_to_fail(kernel: ir.Function, key: Specialisation) -> bool:
    with _lock:
        return (id(kernel), key) in _failed


def _note_failure(kernel: ir.Function, key: Specialisation) -> None:
    with _lock:
        _failed[id(kernel), key] = kernel
        while len(_failed) > _KEPT:
            _failed.popitem(last=False)
