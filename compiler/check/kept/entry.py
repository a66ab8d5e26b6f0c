"""A prepared model on disk: what of it is kept, and how it is written.

Weights lie beside the rest under the digest of their content: entries of one model for several devices or inputs share them.
Large ones are looked at where they lie.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base import disk_cache
from ....base.gc_pause import gc_paused
from ....golden.result_cache import digest_of
from ....memory.spilled import LEAST, in_mapping, let_go
from ....results.expected import Expected
from ....results.model import ScopeSummary
from ...artifact.model import CompiledModel
from ...importers.inputs import Arrays
from .key import KIND, most_bytes

if TYPE_CHECKING:
    from ....golden.expectations import KernelExpectations

Judged = Mapping[str, Sequence[np.ndarray | Expected]]
"""Outputs of a whole model by reference, with what rounding may do to them where that is known."""


_WEIGHTS, _ARRAY = "weights-", "array-"
"""How the names of entries begin that others refer to."""


@dataclass(frozen=True)
class PreparedModel:
    """A model and what judges it, without any object of TVM's.

    arrays: its inputs; origin: their source, in words. references: outputs of the whole model by reference. judged: the same
    with what rounding may do to them, None where only an output that is wrong needs that. kernels: the references of kernels.
    unchecked: what no reference will say anything about. The rest as `PreparedRun`.
    """

    compiled: CompiledModel
    arrays: Arrays
    origin: str
    references: Mapping[str, list[np.ndarray]]
    judged: Judged | None
    unchecked: list[str]
    kernels: KernelExpectations
    tuned: dict[str, str] = field(default_factory=dict)
    scopes: ScopeSummary | None = None


@dataclass(frozen=True)
class _Entry:
    """prepared: without its weights. weights: the name of their entry."""

    prepared: PreparedModel
    weights: str


class _NotPortable(Exception):
    """Raised where something of TVM's is in what is to be kept."""


def has_entries() -> bool:
    """Whether any model is kept."""
    try:
        return any(name.startswith(_WEIGHTS) for name in os.listdir(disk_cache.folder(KIND)))
    except OSError:
        return False


def load_prepared(key: str) -> PreparedModel | None:
    """What is kept under a key, if it is whole; else None, as for no key."""
    entry = _unpickle(disk_cache.load(_place(key))) if key else None
    weights = _load_weights(entry.weights) if isinstance(entry, _Entry) else None
    if not isinstance(entry, _Entry) or weights is None:
        return None
    return replace(entry.prepared, compiled=replace(entry.prepared.compiled, constants=weights))


def store_prepared(key: str, prepared: PreparedModel) -> None:
    """Keep what was made of a model under a key, if it is not too large and nothing in it needs TVM."""
    constants = prepared.compiled.constants
    nbytes = sum(array.nbytes for array in constants.values())
    if nbytes > most_bytes():
        return
    weights = f"{_WEIGHTS}{digest_of(part for item in sorted(constants.items()) for part in item)}"
    let_go()
    bare = replace(prepared, compiled=replace(prepared.compiled, constants={}))
    try:
        data = _pickle(_Entry(bare, weights))
    except _NotPortable:
        return
    if nbytes + len(data) > most_bytes():
        return
    if _load_weights(weights) is None:
        _store_weights(weights, constants)
    disk_cache.store(_place(key), data)


@dataclass(frozen=True)
class _Apart:
    """An array that has an entry of its own, under this name."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def _store_weights(name: str, constants: Mapping[str, np.ndarray]) -> None:
    found: dict[str, np.ndarray | _Apart] = {}
    for key, array in constants.items():
        if array.nbytes < LEAST:
            found[key] = array
            continue
        apart = found[key] = _Apart(f"{_ARRAY}{digest_of([array])}", array.dtype, array.shape)
        disk_cache.store_pages(_place(apart.name), np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        let_go()
    disk_cache.store(_place(name), _pickle(found))


def _load_weights(name: str) -> dict[str, np.ndarray] | None:
    """The constants of an entry in their order; None where one of them is not whole."""
    found = _unpickle(disk_cache.load(_place(name)))
    if not isinstance(found, dict):
        return None
    for key, array in found.items():
        if isinstance(array, _Apart):
            mapping = disk_cache.map_pages(_place(array.name))
            if mapping is None:
                return None
            found[key] = in_mapping(mapping, disk_cache.PAGE).view(array.dtype).reshape(array.shape)
            found[key].flags.writeable = False
            let_go()
    return found


def _place(name: str) -> Path:
    return disk_cache.folder(KIND) / name


class _Pickler(pickle.Pickler):
    """Writes texts of TVM's as plain ones, and refuses its other objects."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, str) and type(value) is not str:
            return str, (str.__str__(value),)
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__.partition(".")[0] in ("tvm", "tvm_ffi"):
            raise _NotPortable(kind.__name__)
        return NotImplemented


def _pickle(value: object) -> bytes:
    file = io.BytesIO()
    with gc_paused():
        _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def _unpickle(data: bytes | None) -> object:
    """The object; None where there is none, or it is whole but not what this version writes."""
    if data is None:
        return None
    try:
        with gc_paused():
            return pickle.loads(data)
    except Exception:  # of any kind, as pickle raises them: what cannot be read is made again
        return None
