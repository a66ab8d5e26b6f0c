"""A prepared model on disk: what of it is kept, and how it is written.

Weights are beside the rest under the digest of their content: entries of one model for several devices or inputs share them.
Large ones are viewed without a copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Union

import numpy as np

from ....base import disk_cache
from ....base.stored import values
from ....base.stored.scalars import NotStorable
from ....golden.expectations import KernelExpectations, StoredExpectations
from ....golden.result_cache import digest_of
from ....memory.spilled import LEAST, drop_resident_pages, in_mapping
from ....records import dataclass
from ....results.expected import Expected
from ....results.model import ScopeSummary
from ...artifact.model import CompiledModel
from ...importers.inputs import Arrays
from .key import KIND, most_bytes

Judged = Mapping[str, Sequence[np.ndarray | Expected]]
"""Outputs of a whole model by reference, with what rounding may do to them where that is known."""


_WEIGHTS, _ARRAY = "weights-", "array-"
"""How the names of entries begin that others refer to."""


@dataclass(frozen=True)
class PreparedModel:
    """A model and what judges it, without any object of TVM's.

    arrays: its inputs; origin: their source, in words. references: outputs of the whole model by reference. judged: the same
    with what rounding may do to them, None if only an output that is wrong needs that. kernels: the references of kernels.
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
    """A PreparedModel as data. compiled: without its weights. weights: the name of their entry."""

    compiled: CompiledModel
    arrays: Arrays
    origin: str
    references: Mapping[str, list[np.ndarray]]
    judged: Judged | None
    unchecked: list[str]
    kernels: StoredExpectations
    tuned: dict[str, str]
    scopes: ScopeSummary | None
    weights: str


def has_entries() -> bool:
    """Whether any model is kept."""
    try:
        return any(name.startswith(_WEIGHTS) for name in os.listdir(disk_cache.folder(KIND)))
    except OSError:
        return False


def load_prepared(key: str) -> PreparedModel | None:
    """What is kept under a key, if it is whole; else None, as for no key."""
    entry: _Entry | None = values.load(_place(key), _Entry) if key else None
    weights = _load_weights(entry.weights) if entry is not None else None
    if entry is None or weights is None:
        return None
    return PreparedModel(
        replace(entry.compiled, constants=weights),
        entry.arrays,
        entry.origin,
        entry.references,
        entry.judged,
        entry.unchecked,
        KernelExpectations.from_stored(entry.kernels),
        entry.tuned,
        entry.scopes,
    )


def store_prepared(key: str, prepared: PreparedModel) -> None:
    """Keep what was made of a model under a key, if it is not too large and nothing in it needs TVM."""
    constants = prepared.compiled.constants
    nbytes = sum(array.nbytes for array in constants.values())
    if nbytes > most_bytes():
        return
    digests = {name: digest_of([array]) for name, array in constants.items()}
    weights = f"{_WEIGHTS}{digest_of(part for item in sorted(digests.items()) for part in item)}"
    drop_resident_pages()
    entry = _Entry(
        replace(prepared.compiled, constants={}),
        prepared.arrays,
        prepared.origin,
        prepared.references,
        prepared.judged,
        prepared.unchecked,
        prepared.kernels.to_stored(),
        prepared.tuned,
        prepared.scopes,
        weights,
    )
    try:
        pieces = values.write_value(_Entry, entry)
    except NotStorable:  # something of TVM's is in it
        return
    if nbytes + sum(map(len, pieces)) > most_bytes():
        return
    if _load_weights(weights) is None:
        _store_weights(weights, constants, digests)
    disk_cache.store(_place(key), *pieces)


@dataclass(frozen=True)
class _Apart:
    """An array that has a separate entry, under this name."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


_Weights = dict[str, Union[np.ndarray, _Apart]]


def _store_weights(name: str, constants: Mapping[str, np.ndarray], digests: Mapping[str, str]) -> None:
    found: _Weights = {}
    for key, array in constants.items():
        if array.nbytes < LEAST:
            found[key] = array
            continue
        apart = found[key] = _Apart(f"{_ARRAY}{digests[key]}", array.dtype, array.shape)
        disk_cache.store(_place(apart.name), np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        drop_resident_pages()
    values.store(_place(name), _Weights, found)


def _load_weights(name: str) -> dict[str, np.ndarray] | None:
    """The constants of an entry in their order; None if one of them is not whole."""
    kept: _Weights | None = values.load(_place(name), _Weights)
    found: dict[str, np.ndarray] = {}
    for key, array in ({} if kept is None else kept).items():
        if isinstance(array, _Apart):
            mapping = disk_cache.map_pages(_place(array.name))
            if mapping is None:
                return None
            found[key] = in_mapping(mapping, disk_cache.PAGE).view(array.dtype).reshape(array.shape)
            found[key].flags.writeable = False
            drop_resident_pages()
        else:
            found[key] = array
    return None if kept is None else found


def _place(name: str) -> Path:
    return disk_cache.folder(KIND) / name
