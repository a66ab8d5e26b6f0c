"""Runs one host function: computes sizes, allocates workspaces, launches kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Union

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import IMAGE_CHANNEL_TYPE, ImageSpec, Size3, View
from ...device.protocol import Device
from ...records import dataclass
from ..artifact.host_function import (
    AllocBuffer,
    AllocImage,
    BufferParam,
    BufferRef,
    Check,
    For,
    HostFunction,
    IfThen,
    Launch,
    Let,
    RunGraph,
    Stmt,
    Store,
    Var,
)
from .scalars import Number, Scope, buffer_of, checked_index, evaluate, fit, integer
from .texture_views import with_runtime_pitch
from .values import HeapValue, Tensor, allocate_tensor

HostArg = Union[Tensor, HeapValue, int, float]


LaunchSink = Callable[[Launch, tuple[Union[View, np.generic], ...], tuple[str, ...], Size3, Size3], None]
"""Takes launch, arguments, host names of view arguments ("" for scalars), global size, local size."""

GraphSink = Callable[[str, list[View], list[View]], None]
"""Takes the name of a graph, its inputs, its outputs."""


@dataclass
class HostFrame:
    """Names of one call: `scope` holds scalars and host buffers, `views` device buffers and images. device: None on the host."""

    function: HostFunction
    device: Device | None
    sink: LaunchSink
    scope: Scope = field(default_factory=Scope)
    views: dict[str, View] = field(default_factory=dict)
    graphs: GraphSink | None = None


def bind(function: HostFunction, args: Sequence[HostArg]) -> Scope:
    """Scalars and host buffers bound by `args`. Raises AdrenoSimError naming a parameter that its argument does not fit."""
    scope = Scope()
    for param, arg in zip(function.params, args, strict=True):
        if not isinstance(param, BufferParam):
            if isinstance(arg, (Tensor, HeapValue)):
                raise AdrenoSimError(f"{function.name}: parameter {param.name!r} is a scalar, given {_describe(arg)}")
            scope.scalars[param.name] = fit(arg, param.dtype)
        elif isinstance(arg, HeapValue):
            scope.buffers[param.name] = arg.slots
        elif isinstance(arg, Tensor):
            _bind_tensor(function, param, arg, scope)
        else:
            raise AdrenoSimError(f"{function.name}: parameter {param.name!r} is a tensor, given {arg!r}")
    for param, arg in zip(function.params, args, strict=True):
        if isinstance(param, BufferParam) and isinstance(arg, Tensor):
            _check_shape(function, param, arg, scope)
    return scope


def _bind_tensor(function: HostFunction, param: BufferParam, arg: Tensor, scope: Scope) -> None:
    if (arg.dtype, len(arg.shape)) != (param.dtype, len(param.shape)) or _is_texture(arg.scope) != _is_texture(param.scope):
        raise AdrenoSimError(
            f"{function.name}: parameter {param.name!r} is a rank {len(param.shape)} {param.dtype} tensor in {param.scope}, "
            f"given {_describe(arg)}"
        )
    for dim, size in zip(param.shape, arg.shape, strict=True):
        if isinstance(dim, Var):
            scope.scalars.setdefault(dim.name, size)


def _check_shape(function: HostFunction, param: BufferParam, arg: Tensor, scope: Scope) -> None:
    expected = tuple(integer(dim, scope) for dim in param.shape)
    if expected != arg.shape:
        raise AdrenoSimError(f"{function.name}: parameter {param.name!r} has shape {expected}, given {_describe(arg)}")


def _is_texture(scope: str) -> bool:
    return scope.startswith("global.texture")


def _describe(arg: Tensor | HeapValue) -> str:
    return "the shape heap" if isinstance(arg, HeapValue) else f"{arg.dtype} {arg.shape} in {arg.scope}"


def call_on_host(function: HostFunction, args: Sequence[HostArg]) -> None:
    """Run a function that only computes in host memory (a shape function)."""
    if not function.on_host:
        raise AdrenoSimError(f"{function.name} needs a device")
    _block(HostFrame(function, None, _no_launch, bind(function, args)), function.body)


def _no_launch(launch: Launch, *_: object) -> None:
    raise AdrenoSimError(f"a function marked as host-only launches kernel {launch.kernel!r}")


def call(
    function: HostFunction,
    args: Sequence[HostArg],
    scope: Scope,
    device: Device,
    sink: LaunchSink,
    graphs: GraphSink | None = None,
) -> None:
    """Run `function` with names bound by `bind`."""
    frame = HostFrame(function, device, sink, scope, graphs=graphs)
    for param, arg in zip(function.params, args, strict=True):
        if isinstance(arg, Tensor):
            frame.views[param.name] = arg.view
    _block(frame, function.body)


def _block(frame: HostFrame, body: tuple[Stmt, ...]) -> None:
    """Statements in order; workspaces end with the block."""
    drops: list[Callable[[], None]] = []
    try:
        for stmt in body:
            _STATEMENTS[type(stmt)](frame, stmt, drops)
    finally:
        for drop in reversed(drops):
            drop()


def _let(frame: HostFrame, stmt: Let, drops: list[Callable[[], None]]) -> None:
    frame.scope.scalars[stmt.var] = evaluate(stmt.value, frame.scope)


def _store(frame: HostFrame, stmt: Store, drops: list[Callable[[], None]]) -> None:
    buffer = buffer_of(frame.scope, stmt.buffer)
    index = checked_index(stmt.buffer, buffer, integer(stmt.index, frame.scope))
    buffer[index] = fit(evaluate(stmt.value, frame.scope), buffer.dtype.name)


def _for(frame: HostFrame, stmt: For, drops: list[Callable[[], None]]) -> None:
    start = integer(stmt.start, frame.scope)
    for value in range(start, start + integer(stmt.extent, frame.scope)):
        frame.scope.scalars[stmt.var] = value
        _block(frame, stmt.body)


def _if(frame: HostFrame, stmt: IfThen, drops: list[Callable[[], None]]) -> None:
    _block(frame, stmt.then if evaluate(stmt.condition, frame.scope) else stmt.otherwise)


def _check(frame: HostFrame, stmt: Check, drops: list[Callable[[], None]]) -> None:
    if not evaluate(stmt.condition, frame.scope):
        raise AdrenoSimError(f"{frame.function.name}: {stmt.message}")


def _alloc_buffer(frame: HostFrame, stmt: AllocBuffer, drops: list[Callable[[], None]]) -> None:
    shape = tuple(integer(dim, frame.scope) for dim in stmt.shape)
    if stmt.host:
        frame.scope.buffers[stmt.name] = np.zeros(shape, stmt.dtype).reshape(-1)
        return
    tensor = allocate_tensor(_device(frame), shape, stmt.dtype, "global", stmt.name)
    drops.append(tensor.release)
    frame.views[stmt.name] = tensor.view


def _alloc_image(frame: HostFrame, stmt: AllocImage, drops: list[Callable[[], None]]) -> None:
    width, height, layers = (integer(extent, frame.scope) for extent in (stmt.width, stmt.height, stmt.layers))
    device = _device(frame)
    image = ImageSpec("image2d_array", width, height, layers, channel_type=IMAGE_CHANNEL_TYPE[stmt.dtype])
    spec = with_runtime_pitch(image, device.info.image_views, device.info.limits)
    storage = device.allocate(device.view_nbytes(spec))
    drops.append(lambda: device.free(storage))
    view = device.view(storage, spec)
    drops.append(view.release)
    frame.views[stmt.name] = view


def _device(frame: HostFrame) -> Device:
    if frame.device is None:
        raise AdrenoSimError(f"{frame.function.name} is marked as host-only but allocates device memory")
    return frame.device


def _launch(frame: HostFrame, stmt: Launch, drops: list[Callable[[], None]]) -> None:
    args: list[View | np.generic] = []
    names: list[str] = []
    for arg in stmt.args:
        if isinstance(arg, BufferRef):
            if arg.name not in frame.views:
                raise AdrenoSimError(f"{frame.function.name}: {stmt.kernel} is given {arg.name!r}, which is not device memory")
            args.append(frame.views[arg.name])
            names.append(arg.name)
        else:
            args.append(_generic(evaluate(arg, frame.scope)))
            names.append("")
    groups, local = (tuple(integer(e, frame.scope) for e in extents) for extents in (stmt.groups, stmt.local))
    if 0 in groups:  # an empty tensor: nothing to do
        return
    global_size = tuple(g * n for g, n in zip(groups, local, strict=True))
    frame.sink(stmt, tuple(args), tuple(names), _size3(global_size), _size3(local))


def _run_graph(frame: HostFrame, stmt: RunGraph, drops: list[Callable[[], None]]) -> None:
    if frame.graphs is None:
        raise AdrenoSimError(f"{frame.function.name} runs a graph, which needs a machine that has it")
    frame.graphs(stmt.graph, [frame.views[ref.name] for ref in stmt.inputs], [frame.views[ref.name] for ref in stmt.outputs])


def _generic(value: Number) -> np.generic:
    if isinstance(value, bool):
        return np.bool_(value)
    return np.float64(value) if isinstance(value, float) else np.int64(value)


def _size3(sizes: tuple[int, ...]) -> Size3:
    x, y, z = sizes
    return x, y, z


_STATEMENTS: dict[type, Callable[..., None]] = {
    Let: _let, Store: _store, For: _for, IfThen: _if, Check: _check,
    AllocBuffer: _alloc_buffer, AllocImage: _alloc_image, Launch: _launch, RunGraph: _run_graph,
}  # fmt: skip
