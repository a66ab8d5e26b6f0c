"""Device memory that a host function takes for itself: its buffers between kernels, and textures of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import IMAGE_CHANNEL_TYPE, ImageSpec, TensorSpec
from ..artifact.host_function import AllocBuffer, AllocImage, BufferParam, For, HostFunction, IfThen, Let, Param, Stmt, Var
from ..artifact.memory_plan import PlannedWorkspace
from ..run.scalars import Scope, evaluate, integer
from ..run.texture_views import planned_nbytes

Argument = Union[TensorSpec, np.ndarray, int, float, None]
"""An argument of a call: a tensor, the shape heap, a scalar, or unknown."""


def workspaces(function: HostFunction, args: Sequence[Argument], instruction: int) -> list[PlannedWorkspace]:
    """What one call of `function` with `args` allocates on the device; a loop's body is examined once, for its first turn.

    Raises AdrenoSimError if a size depends on what only the run knows.
    """
    scope = Scope()
    for param, arg in zip(function.params, args, strict=True):
        _bind(scope, param, arg)
    try:
        found = list(_allocations(function.body, scope))
    except AdrenoSimError as error:
        raise AdrenoSimError(f"{function.name}: the size of a workspace is not known before the run: {error}") from None
    return [PlannedWorkspace(name, function.name, instruction, nbytes, texture) for name, nbytes, texture in found]


def _bind(scope: Scope, param: Param, arg: Argument) -> None:
    if isinstance(arg, np.ndarray):
        scope.buffers[param.name] = arg
    elif isinstance(arg, TensorSpec) and isinstance(param, BufferParam):
        for dim, size in zip(param.shape, arg.shape, strict=False):
            if isinstance(dim, Var):
                scope.scalars.setdefault(dim.name, size)
    elif isinstance(arg, (int, float)):
        scope.scalars[param.name] = arg


def _allocations(body: Sequence[Stmt], scope: Scope) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, is a texture) of every allocation on the device; both sides of a condition."""
    for stmt in body:
        if isinstance(stmt, Let):
            _let(stmt, scope)
        elif isinstance(stmt, AllocBuffer) and not stmt.host:
            shape = tuple(integer(dim, scope) for dim in stmt.shape)
            yield stmt.name, TensorSpec(shape, stmt.dtype).nbytes, False
        elif isinstance(stmt, AllocImage):
            yield stmt.name, _image_bytes(stmt, scope), True
        elif isinstance(stmt, For):
            scope.scalars[stmt.var] = evaluate(stmt.start, scope)
            yield from _allocations(stmt.body, scope)
        elif isinstance(stmt, IfThen):
            yield from _allocations(stmt.then, scope)
            yield from _allocations(stmt.otherwise, scope)


def _let(stmt: Let, scope: Scope) -> None:
    """Values that only the run knows stay unbound: they matter only where a size names them."""
    try:
        scope.scalars[stmt.var] = evaluate(stmt.value, scope)
    except AdrenoSimError:
        scope.scalars.pop(stmt.var, None)


def _image_bytes(stmt: AllocImage, scope: Scope) -> int:
    width, height, layers = (integer(extent, scope) for extent in (stmt.width, stmt.height, stmt.layers))
    spec = ImageSpec("image2d_array", width, height, layers, channel_type=IMAGE_CHANNEL_TYPE[stmt.dtype])
    return planned_nbytes(spec)
