"""The arguments of one PrimFunc: those that are given, checked, and those that are made for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Union

import numpy as np

from ...base.errors import AdrenoSimError
from ..artifact.host_function import BufferParam, HostFunction, Var
from ..run.scalars import Scope, fit, integer

Given = Union[np.ndarray, bool, int, float, np.generic, None]
"""An argument; None = make it."""

Complete = Union[np.ndarray, bool, int, float]


def complete_arguments(function: HostFunction, args: Sequence[Given] | Mapping[str, Given], seed: int = 0) -> list[Complete]:
    """Every argument in the order of the parameters.

    Raises AdrenoSimError naming the parameter for one that does not fit, is unknown, or cannot be made.
    """
    given = _by_name(function, args)
    scope = Scope()
    for param in function.params:
        value = given.get(param.name)
        if isinstance(param, BufferParam):
            if value is not None:
                _bind_tensor(function, param, np.asarray(value), scope)
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
        if unknown := [name for name in args if name not in names]:
            raise AdrenoSimError(f"{function.name} has no parameter {', '.join(map(repr, unknown))}; it has {', '.join(names)}")
        return dict(args)
    if args and len(args) != len(names):
        raise AdrenoSimError(f"{len(args)} arguments given: {function.name} takes {len(names)} ({', '.join(names)})")
    return dict(zip(names, args, strict=False))


def _bind_tensor(function: HostFunction, param: BufferParam, array: np.ndarray, scope: Scope) -> None:
    if array.dtype.name != param.dtype or array.ndim != len(param.shape):
        raise AdrenoSimError(
            f"{function.name}: {param.name!r} is a rank {len(param.shape)} {param.dtype} tensor, given {array.dtype} "
            f"{list(array.shape)}"
        )
    for dim, size in zip(param.shape, array.shape, strict=True):
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
            f"{function.name}: {param.name!r} holds {param.dtype}, whose range nobody knows (indices, lengths, packed weights): "
            "give an array"
        )
    return rng.standard_normal(shape).astype(param.dtype)
