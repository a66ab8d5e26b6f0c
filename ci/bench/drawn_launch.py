"""A launch of a size that people use, for a kernel that is given only by its signature.

What the scalars mean is guessed from their names: extents, steps of rows, offsets. Whether the guess fits, the simulator says: a
launch without findings accesses what it was given, and nothing else.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from adreno_sim.base.specs import Argument, BufferSpec, ImageSpec, Local, Sampler
from adreno_sim.ir import ir
from adreno_sim.ir.layout import size_of

BUFFERS = (256 << 10, 1 << 20, 4 << 20, 16 << 20)
"""Bytes of every buffer: the smallest in which all accesses are is taken, as hosts do."""
CONSTANT_BYTES = 16 << 10
LOCAL_BYTES = 16 << 10
SIZES = (512, 128, 32)
"""Work-items along each of two axes, or their product along one: the largest that fits is taken."""
LOCAL_SIZES = ((64, 1, 1), (256, 1, 1), (16, 16, 1), (8, 8, 1))

_STEP = re.compile(r"step|stride|pitch|(^|_)ld|^nb\d", re.IGNORECASE)
_OFFSET = re.compile(r"off|start|begin|^[xy]0$", re.IGNORECASE)
_EXTENT = re.compile(r"rows|cols|width|height|size|len|count|num|total|^ne\d|^n[a-z]?$|^[mkwh]$|^k?size", re.IGNORECASE)
_CHANNELS = {"read_imageui": "UNSIGNED_INT32", "write_imageui": "UNSIGNED_INT32"}
_CHANNELS |= {"read_imagei": "SIGNED_INT32", "write_imagei": "SIGNED_INT32"}


@dataclass(frozen=True)
class Drawn:
    """A kernel and its launch. arguments: specifications of memory, whose contents `contents` gives, and values of scalars."""

    name: str
    text: str
    options: str
    kernel: str
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    arguments: tuple[Any, ...]


def make_drawn(name: str, text: str, options: str, function: ir.Function, size: int, nbytes: int) -> Drawn:
    """A launch of `size` by `size` work-items over buffers of `nbytes`, the same for the same name."""
    choose = random.Random(name)
    local = function.required_work_group_size or choose.choice(LOCAL_SIZES)
    wanted = (size, size, 1) if local[1] > 1 else (size * size, 1, 1)
    total = tuple(-(-most // group) * group for most, group in zip(wanted, local, strict=True))
    arguments = tuple(_argument(function, param, size, nbytes, choose) for param in function.params)
    return Drawn(name, text, options, function.name, total, tuple(local), arguments)  # type: ignore[arg-type]


def contents(drawn: Drawn, position: int, count: int, dtype: str) -> np.ndarray:
    """What is in an argument's memory: fractions below one, small whole numbers."""
    numbers = np.random.default_rng([position, *drawn.name.encode()]).integers(0, 4, count)
    return (numbers / 4).astype(dtype) if dtype.startswith("float") else numbers.astype(dtype)


def _argument(function: ir.Function, param: ir.Param, size: int, nbytes: int, choose: random.Random) -> Argument:
    kind = param.type
    if isinstance(kind, ir.Image):
        layers = 4 if kind.kind == "image3d" or kind.kind.endswith("array") else 1
        height = 1 if kind.kind.startswith("image1d") else size
        return ImageSpec(kind.kind, size, height, layers, channel_type=_channel_type(function, param))  # type: ignore[return-value]
    if isinstance(kind, ir.Sampler):
        return Sampler()
    if isinstance(kind, ir.Pointer):
        if kind.space == ir.LOCAL:
            return Local(LOCAL_BYTES)
        dtype = next((name for word, name in (("half", "float16"), ("float", "float32")) if word in param.spelled), "uint8")
        return BufferSpec(CONSTANT_BYTES if kind.space == ir.CONSTANT else nbytes, dtype)  # type: ignore[return-value]
    if isinstance(kind, (ir.Int, ir.Float, ir.Vector)):
        scalar = kind.elem if isinstance(kind, ir.Vector) else kind
        count = kind.count if isinstance(kind, ir.Vector) else 1
        numbers = _numbers(param.name, scalar, count, size, choose)
        return numbers if count > 1 else numbers[0]
    return np.zeros(size_of(kind), np.uint8).view(f"V{size_of(kind)}")[0]


def _numbers(name: str, scalar: ir.Type, count: int, size: int, choose: random.Random) -> np.ndarray:
    if isinstance(scalar, ir.Float):
        return np.array([choose.uniform(0, 2) for _ in range(count)], f"float{scalar.bits}")
    assert isinstance(scalar, ir.Int)
    if _STEP.search(name):
        value = 16 * size
    elif _OFFSET.search(name):
        value = 0
    else:
        value = size if _EXTENT.search(name) else choose.randint(1, 4)
    return np.array([min(value, 127) if scalar.bits <= 8 else value] * count, f"int{max(8, scalar.bits)}")


def _channel_type(function: ir.Function, param: ir.Param) -> str:
    """What the kernel's own reads and writes of an image expect of it."""
    for instr in (instr for block in function.blocks for instr in block.instrs):
        if instr.callee is not None and any(operand is param for operand in instr.operands):
            return _CHANNELS.get(instr.callee.name, "FLOAT")
    return "FLOAT"
