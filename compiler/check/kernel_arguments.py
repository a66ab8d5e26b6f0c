"""The arguments of one PrimFunc: those that are given, checked, and those that are made for the rest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Union

import numpy as np

from ...base.archive import require_memory
from ...base.array_files import open_npz
from ...base.errors import AdrenoSimError
from ..artifact.host_function import BufferParam, HostFunction, Var
from ..run.scalars import Scope, fit, integer

Given = Union[np.ndarray, bool, int, float, np.generic, None]
"""An argument; None = make it."""

Complete = Union[np.ndarray, bool, int, float]


def read_arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a .npz file by name. AdrenoSimError if it cannot be read."""
    try:
        with open_npz(os.fspath(path)) as archive:
            require_memory("its arrays", archive.nbytes)
            return archive.read_all()
    except (OSError, ValueError) as error:
        raise AdrenoSimError(f"{os.fspath(path)}: not a readable .npz file ({error})") from error


def complete_arguments(
    function: HostFunction,
    args: Sequence[Given] | Mapping[str, Given],
    seed: int = 0,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> list[Complete]:
    """Every argument in the order of the parameters. shapes: of arrays that are to be made, where others do not say them.

    Raises AdrenoSimError naming the parameter for one that does not fit, is unknown, or cannot be made.
    """
    given = _by_name(function, args)
    _require_names(function, shapes or {})
    scope = Scope()
    for param in function.params:
        value = given.get(param.name)
        if isinstance(param, BufferParam):
            if value is not None:
                array = np.asarray(value)
                _bind_tensor(function, param, array.dtype.name, array.shape, scope)
            elif param.name in (shapes or {}):
                _bind_tensor(function, param, param.dtype, tuple((shapes or {})[param.name]), scope)
        elif value is None:
            raise AdrenoSimError(f"{function.name}: no value for {param.name!r}, a scalar of type {param.dtype}: give a number")
        else:
            if np.ndim(value):
                raise AdrenoSimError(f"{function.name}: {param.name!r} is a scalar of type {param.dtype}, given an array")
            scope.scalars[param.name] = fit(np.asarray(value).item(), param.dtype)
    rng = np.random.default_rng(seed)
    return [_complete(function, param, given.get(param.name), scope, rng) for param in function.params]


def _by_name(function: HostFunction, args: Sequence[Given] | Mapping[str, Given]) -> dict[str, Given]:
    names = [param.name for param in function.params]
    if isinstance(args, Mapping):
        _require_names(function, args)
        return dict(args)
    if args and len(args) != len(names):
        raise AdrenoSimError(f"{len(args)} arguments given: {function.name} takes {len(names)} ({', '.join(names)})")
    return dict(zip(names, args, strict=False))


def _require_names(function: HostFunction, given: Mapping[str, object]) -> None:
    names = [param.name for param in function.params]
    if unknown := [name for name in given if name not in names]:
        raise AdrenoSimError(f"{function.name} has no parameter {', '.join(map(repr, unknown))}; it has {', '.join(names)}")


def _bind_tensor(function: HostFunction, param: BufferParam, dtype: str, shape: tuple[int, ...], scope: Scope) -> None:
    if dtype != param.dtype or len(shape) != len(param.shape):
        raise AdrenoSimError(
            f"{function.name}: {param.name!r} is a rank {len(param.shape)} {param.dtype} tensor, given {dtype} {list(shape)}"
        )
    for dim, size in zip(param.shape, shape, strict=True):
        if isinstance(dim, Var):
            scope.scalars.setdefault(dim.name, size)


def _complete(function: HostFunction, param: object, value: Given, scope: Scope, rng: np.random.Generator) -> Complete:
    if not isinstance(param, BufferParam):
        return scope.scalars[param.name]  # type: ignore[attr-defined]
    try:
        shape = tuple(integer(dim, scope) for dim in param.shape)
    except AdrenoSimError as error:
        raise AdrenoSimError(f"{function.name}: the shape of {param.name!r} is not known ({error}): give an array") from error
    if value is not None:
        array = np.asarray(value)
        if array.shape != shape:
            raise AdrenoSimError(f"{function.name}: {param.name!r} has shape {list(shape)}, given {list(array.shape)}")
        return np.array(array, order="C")
    if param.access in ("write", "none"):
        return np.zeros(shape, param.dtype)
    if np.dtype(param.dtype).kind != "f":
        raise AdrenoSimError(
            f"{function.name}: {param.name!r} holds {param.dtype}, whose range nobody knows (indices, lengths, packed weights?): "
            "give an array"
        )
    return rng.standard_normal(shape).astype(param.dtype)
