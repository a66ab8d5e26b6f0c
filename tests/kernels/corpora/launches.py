"""A launch for a kernel of which nothing but the signature is known: small sizes, small numbers, enough memory for most."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adreno_sim.base.specs import Argument, BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.device.protocol import Device
from adreno_sim.ir import ir
from adreno_sim.ir.layout import size_of

BUFFER_BYTES = 1 << 16
IMAGE_SIDE = 64
LOCAL_BYTES = 4096
LARGEST = 16
"""The largest whole number that is given as a scalar."""
LOCAL_SIZES = ((64, 1, 1), (32, 2, 1), (8, 8, 1), (16, 16, 1))
_CHANNELS = {"read_imageui": "UNSIGNED_INT32", "write_imageui": "UNSIGNED_INT32", "read_imagei": "SIGNED_INT32"}
_CHANNELS |= {"write_imagei": "SIGNED_INT32", "read_imageh": "HALF_FLOAT", "write_imageh": "HALF_FLOAT"}


@dataclass(frozen=True)
class Launch:
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    args: list[Argument]


def make_launch(device: Device, kernel: Any, seed: str) -> Launch:
    """A launch of two work-groups along each axis that the group has. seed: another text, other numbers."""
    choose = random.Random(seed)
    function: ir.Function = kernel.function
    local = function.required_work_group_size or choose.choice(LOCAL_SIZES)
    total = tuple(size * (2 if size > 1 else 1) for size in local)
    return Launch(total, tuple(local), [_argument(device, function, param, choose) for param in function.params])


def _argument(device: Device, function: ir.Function, param: ir.Param, choose: random.Random) -> Argument:
    kind = param.type
    if isinstance(kind, ir.Image):
        return _image(device, kind.kind, _channel_type(function, param), choose)
    if isinstance(kind, ir.Sampler):
        return Sampler()
    if isinstance(kind, ir.Pointer):
        return Local(LOCAL_BYTES) if kind.space == ir.LOCAL else _buffer(device, param.spelled, choose)
    if isinstance(kind, (ir.Int, ir.Float, ir.Vector)):
        scalar = kind.elem if isinstance(kind, ir.Vector) else kind
        count = kind.count if isinstance(kind, ir.Vector) else 1
        numbers = _numbers(scalar, count, choose)
        return numbers if count > 1 else numbers[0]
    return np.zeros(size_of(kind), np.uint8).view(f"V{size_of(kind)}")[0]


def _numbers(scalar: ir.Type, count: int, choose: random.Random) -> np.ndarray:
    if isinstance(scalar, ir.Float):
        return np.array([choose.uniform(0, 2) for _ in range(count)], f"float{scalar.bits}")
    assert isinstance(scalar, ir.Int)
    return np.array([choose.randint(0, LARGEST) for _ in range(count)], f"int{max(8, scalar.bits)}")


def _buffer(device: Device, spelled: str, choose: random.Random) -> Argument:
    dtype = next((name for word, name in (("half", "float16"), ("float", "float32")) if word in spelled), "uint8")
    view = device.view(device.allocate(BUFFER_BYTES), BufferSpec(BUFFER_BYTES, dtype))
    device.write(view, _contents(view.spec.count, dtype, choose))  # type: ignore[union-attr]
    return view


def _image(device: Device, kind: str, channel_type: str, choose: random.Random) -> Argument:
    flat = kind.startswith("image1d")
    layers = 4 if kind == "image3d" or kind.endswith("array") else 1
    spec = ImageSpec(kind, IMAGE_SIDE, 1 if flat else IMAGE_SIDE, layers, channel_type=channel_type)
    view = device.view(device.allocate(device.view_nbytes(spec)), spec)
    held = device.read(view)
    device.write(view, _contents(held.size, held.dtype.name, choose).reshape(held.shape))
    return view


def _contents(count: int, dtype: str, choose: random.Random) -> np.ndarray:
    numbers = np.random.default_rng(choose.randint(0, 1 << 30)).integers(0, 4, count)
    return (numbers / 4).astype(dtype) if dtype.startswith("float") else numbers.astype(dtype)


def _channel_type(function: ir.Function, param: ir.Param) -> str:
    """What the kernel's own reads and writes of an image expect of it."""
    for instr in (instr for block in function.blocks for instr in block.instrs):
        if instr.callee is not None and _is_among(param, instr.operands):
            return _CHANNELS.get(instr.callee.name, "FLOAT")
    return "FLOAT"


def _is_among(param: ir.Param, operands: Sequence[ir.Value]) -> bool:
    return any(operand is param for operand in operands)
