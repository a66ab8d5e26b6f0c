"""Kernel arguments: checked against their parameters as clSetKernelArg does, and converted to what the engine takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import DeviceError
from ...base.specs import ImageSpec, Local, Null, Sampler
from ...engine.abi.bound import BoundBuffer, BoundImage
from ...engine.abi.specialization import ArgSpec, BufferArg, ImageArg, LocalArg, SamplerArg, ScalarArg
from ...ir import ir
from ...ir.layout import size_of
from ...memory.storage import StorageView
from .program import SimKernel, kind_of

ADDRESSING = ("none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat")
FILTERS = ("nearest", "linear")
NO_BUFFER = BoundBuffer(0, 0)


def check_arguments(kernel: SimKernel, args: Sequence[Any], device: object) -> list[Any]:
    """Returns the arguments, scalars as the bytes that the kernel reads.

    Raises DeviceError: CL_INVALID_KERNEL_ARGS for a wrong number, CL_INVALID_ARG_VALUE for a wrong kind, CL_INVALID_ARG_SIZE
    for a wrong size, CL_INVALID_MEM_OBJECT for a view that is released or of another device, CL_INVALID_SAMPLER.
    """
    params = kernel.function.params
    if len(args) != len(params):
        raise DeviceError("CL_INVALID_KERNEL_ARGS", f"kernel {kernel.name} takes {len(params)} arguments, {len(args)} were given")
    return [_check(kernel, param, arg, device) for param, arg in zip(params, args, strict=True)]


def specialize_argument(arg: Any, full: bool) -> ArgSpec:
    """Returns what the machine code must know of a checked argument, at level full or below."""
    if isinstance(arg, StorageView):
        spec = arg.spec
        if isinstance(spec, ImageSpec):
            return ImageArg(spec.kind, spec.order, spec.channel_type, extent=spec.extent if full else None)
        return BufferArg(extent=spec.extent if full else None)
    if isinstance(arg, Local):
        return LocalArg(arg.nbytes)
    if isinstance(arg, Null):
        return BufferArg()
    return SamplerArg(arg) if isinstance(arg, Sampler) else ScalarArg(len(arg))


def bind_argument(arg: Any) -> Any:
    """Returns what a launch passes for a checked argument; None if all of it is in the code."""
    if not isinstance(arg, StorageView):
        return NO_BUFFER if isinstance(arg, Null) else arg if isinstance(arg, bytes) else None
    address = arg.address
    if arg.bound is None or arg.bound.address != address:
        arg.bound = _bound(arg, address)
    return arg.bound


def _bound(view: StorageView, address: int) -> BoundBuffer | BoundImage:
    if view.layout is None:
        return BoundBuffer(address, view.nbytes)
    layout = view.layout
    extents = (layout.width, layout.height, layout.layers)
    return BoundImage(address, *extents, layout.row_pitch, layout.slice_pitch, layout.nbytes)


def _check(kernel: SimKernel, param: ir.Param, arg: Any, device: object) -> Any:
    where = f"kernel {kernel.name}: argument {param.index} ({param.spelled or param.type} {param.name})"
    expected = kind_of(param.type)
    if isinstance(arg, StorageView):
        return _check_view(where, expected, param, arg, device)
    if isinstance(arg, Local):
        return _check_local(where, expected, arg)
    if isinstance(arg, Null):
        return arg if expected == "buffer" else _wrong_kind(where, expected, "a NULL pointer")
    if isinstance(arg, Sampler):
        return _check_sampler(where, expected, arg)
    if expected != "scalar":
        _wrong_kind(where, expected, f"{type(arg).__name__} {arg!r:.40}")
    return scalar_bytes(where, param.type, arg)


def _wrong_kind(where: str, expected: str, got: str) -> None:
    article = "an" if expected.startswith("image") else "a"
    raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: expected {article} {expected}, got {got}")


def _check_view(where: str, expected: str, param: ir.Param, view: StorageView, device: object) -> StorageView:
    got = f"an {view.spec.kind}" if isinstance(view.spec, ImageSpec) else "a buffer"
    if expected != ("image" if isinstance(view.spec, ImageSpec) else "buffer"):
        _wrong_kind(where, expected, got)
    if not view.live or view.device is not device:
        what = "of another device" if view.live else "released, or whose storage was freed"
        raise DeviceError("CL_INVALID_MEM_OBJECT", f"{where}: {got} that is {what}")
    if isinstance(view.spec, ImageSpec) and isinstance(param.type, ir.Image) and view.spec.kind != param.type.kind:
        _wrong_kind(where, param.type.kind, got)
    return view


def _check_local(where: str, expected: str, arg: Local) -> Local:
    if expected != "local":
        _wrong_kind(where, expected, f"{arg.nbytes} bytes of local memory")
    if arg.nbytes < 1:
        raise DeviceError("CL_INVALID_ARG_SIZE", f"{where}: {arg.nbytes} bytes of local memory: expected at least 1")
    return arg


def _check_sampler(where: str, expected: str, arg: Sampler) -> Sampler:
    if expected != "sampler":
        _wrong_kind(where, expected, "a sampler")
    if arg.addressing not in ADDRESSING or arg.filter not in FILTERS:
        known = f"addressing {', '.join(ADDRESSING)}; filter {', '.join(FILTERS)}"
        raise DeviceError("CL_INVALID_SAMPLER", f"{where}: {arg}: expected {known}")
    if arg.addressing.endswith("repeat") and not arg.normalized:
        raise DeviceError("CL_INVALID_SAMPLER", f"{where}: addressing {arg.addressing} needs normalized coordinates")
    return arg


def scalar_bytes(where: str, type: ir.Type, value: Any) -> bytes:
    """Returns a scalar, vector or struct as the kernel reads it. Numbers must fit; numpy values and bytes must have the exact
    size.

    A 3-component vector takes the room of four: if three elements are given, the fourth is zero.
    """
    wanted = size_of(type)
    if isinstance(value, (bool, int, float)):
        return _number(where, type, value)
    if isinstance(value, (bytes, bytearray)):
        data = bytes(value)
    elif isinstance(value, (np.generic, np.ndarray)):
        _check_elements(where, type, value.dtype)
        data = value.tobytes()
    else:
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: expected a number, numpy value or bytes, got {value!r:.60}")
    if isinstance(type, ir.Vector) and type.count == 3 and len(data) == 3 * size_of(type.elem):
        data += bytes(size_of(type.elem))
    if len(data) != wanted:
        raise DeviceError("CL_INVALID_ARG_SIZE", f"{where}: expected {wanted} bytes, got {len(data)}")
    return data


def _number(where: str, type: ir.Type, value: float) -> bytes:
    if isinstance(type, ir.Float):
        return np.dtype(f"f{type.bits // 8}").type(value).tobytes()
    if not isinstance(type, ir.Int) or (isinstance(value, float) and not value.is_integer()):
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: the number {value!r} cannot be one")
    bits = max(type.bits, 8)
    if not -(1 << (bits - 1)) <= int(value) < 1 << bits:
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: {value} does not fit {bits} bits")
    return (int(value) % (1 << bits)).to_bytes(bits // 8, "little")


def _check_elements(where: str, type: ir.Type, dtype: np.dtype) -> None:
    """Raises DeviceError for a numpy value of the right size but the wrong kind of number: it is a mistake, not a bit
    pattern."""
    elem = type.elem if isinstance(type, ir.Vector) else type
    sorts = {ir.Int: "iub", ir.Float: "f"}
    wanted = next((kinds for ir_type, kinds in sorts.items() if isinstance(elem, ir_type)), "")
    if wanted and dtype.kind not in wanted:
        raise DeviceError("CL_INVALID_ARG_VALUE", f"{where}: expected {elem}, got {dtype.name}")
    if wanted and dtype.itemsize != size_of(elem):
        raise DeviceError("CL_INVALID_ARG_SIZE", f"{where}: expected {elem}, got {dtype.name}")
