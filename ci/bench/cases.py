"""The kernel suite: what each kernel of `kernels/` is launched with, in float and half, in three sizes.

A case is data alone; `device_case.py` launches it. Sizes are chosen by what PoCL takes on two threads: small well under a
millisecond, medium a few, large ten or more.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from adreno_sim.base.specs import BufferSpec, ImageSpec, Local

FOLDER = Path(__file__).with_name("kernels")
SIZES = ("small", "medium", "large")
ELEMENT = {"float": "float32", "half": "float16"}
TOLERANCE = {"float": 1e-4, "half": 4e-3}
"""Largest error allowed, relative to a value or the rms of the result, whichever is larger.

Half: 2^-8, one rounding of a sum kept in float.
"""


@dataclass(frozen=True)
class Tensor:
    """An argument in memory. extents: (count,) of a buffer, (width, height[, layers]) of an image. Inputs are normal
    numbers of standard deviation `scale`."""

    extents: tuple[int, ...]
    output: bool = False
    scale: float = 1.0

    @property
    def image(self) -> bool:
        return len(self.extents) > 1

    def spec(self, element: str) -> BufferSpec | ImageSpec:
        """The view for elements of numpy type `element`."""
        if not self.image:
            return BufferSpec(self.extents[0] * np.dtype(element).itemsize, element)
        kind = "image2d" if len(self.extents) == 2 else "image2d_array"
        return ImageSpec(kind, *self.extents, channel_type="HALF_FLOAT" if element == "float16" else "FLOAT")

    @property
    def count(self) -> int:
        """Elements; an image has four channels."""
        return int(np.prod(self.extents)) * (4 if self.image else 1)


@dataclass(frozen=True)
class Case:
    """One launch. `macros` are the constants of its source; `tolerance` is as TOLERANCE."""

    kernel: str
    dtype: str
    size: str
    macros: tuple[tuple[str, int], ...]
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    arguments: tuple[Tensor | Local, ...]
    tolerance: float

    @property
    def name(self) -> str:
        return f"{self.kernel}/{self.dtype}/{self.size}"

    @property
    def uses_images(self) -> bool:
        return any(isinstance(argument, Tensor) and argument.image for argument in self.arguments)

    @property
    def source(self) -> str:
        return (FOLDER / "prelude.h").read_text() + kernel_text(self.kernel)

    @property
    def options(self) -> str:
        macros = dict(self.macros) | ({"HALF": 1} if self.dtype == "half" else {})
        return " ".join(["-cl-std=CL1.2", *(f"-D{name}={value}" for name, value in macros.items())])

    def twin(self) -> Case:
        """The same in float, for devices without half."""
        return replace(self, dtype="float")

    def inputs(self) -> list[np.ndarray | None]:
        """Data by argument, None for what is not read. A half case and its twin get the same numbers."""
        rng = np.random.default_rng(zlib.crc32(f"{self.kernel}/{self.size}".encode()))
        return [self._data(rng, argument) for argument in self.arguments]

    def _data(self, rng: np.random.Generator, argument: Tensor | Local) -> np.ndarray | None:
        if isinstance(argument, Local) or argument.output:
            return None
        numbers = rng.standard_normal(argument.count, np.float32) * np.float32(argument.scale)
        return numbers.astype(np.float16).astype(ELEMENT[self.dtype])


def kernel_text(kernel: str) -> str:
    """One kernel of a file with the macros above all of them, as compilers hand kernels to a driver one at a time."""
    start = f"kernel void {kernel}("
    text = next(text for path in sorted(FOLDER.glob("*.cl")) if start in (text := path.read_text()))
    head = re.split(r"^(?://.*\n)*kernel void", text, maxsplit=1, flags=re.MULTILINE)[0]
    return head + text[text.index(start) : text.index("\n}\n", text.index(start)) + 3]


Launch = tuple[tuple[int, int, int], tuple[int, int, int], list[Tensor]]
"""Global size, local size, arguments except for local memory."""


def buffer(*extents: int, scale: float = 1.0) -> Tensor:
    return Tensor((int(np.prod(extents)),), scale=scale)


def texture(*extents: int, scale: float = 1.0) -> Tensor:
    return Tensor(extents, scale=scale)


def result(tensor: Tensor) -> Tensor:
    return replace(tensor, output=True)


def rounded(count: int, part: int) -> int:
    """The least multiple of `part` that holds `count`."""
    return -(-count // part) * part


def flat(count: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """One item an element, in groups of 256."""
    return (rounded(count, 256), 1, 1), (256, 1, 1)


def convolution(taps: int, grid: Callable[..., tuple[tuple[int, int, int], tuple[int, int, int]]]) -> Callable[..., Launch]:
    """A convolution over buffers: y, x, weights, bias; `taps` in a filter."""

    def launch(C: int, K: int, H: int, W: int) -> Launch:
        scale = (C * taps) ** -0.5
        return *grid(C, K, H, W), [result(buffer(K, H, W)), buffer(C, H, W), buffer(K, C, taps, scale=scale), buffer(K)]

    return launch


def depthwise_direct(C: int, H: int, W: int) -> Launch:
    return *flat(C * H * W), [result(buffer(C, H, W)), buffer(C, H, W), buffer(C, 9), buffer(C)]


def conv3x3_texture(C: int, K: int, H: int, W: int) -> Launch:
    tensors = [result(texture(H * W, K // 4, 1)), texture(H * W, C // 4, 1), buffer(K, C, 9, scale=(9 * C) ** -0.5)]
    return (rounded(W, 16), rounded(H, 8), K // 4), (16, 8, 1), [*tensors, texture(1, K // 4, 1)]


def conv1x1_texture(C: int, K: int, H: int, W: int) -> Launch:
    tensors = [result(texture(K // 4 * W, H)), texture(C // 4 * W, H), texture(C, K // 4, scale=C**-0.5), texture(K // 4, 1)]
    return (rounded(-(-W // 4), 8), rounded(K // 4, 8), H), (8, 8, 1), tensors


def depthwise_texture(C: int, H: int, W: int) -> Launch:
    tensors = [result(texture(W, H, C // 4)), texture(W, H, C // 4), texture(9, C // 4), texture(C // 4, 1)]
    return (rounded(W, 16), rounded(H, 8), C // 4), (16, 8, 1), tensors


def max_pool_buffer(C: int, H: int, W: int) -> Launch:
    return *flat(C * H * W), [result(buffer(C, H, W)), buffer(C, 2 * H + 1, 2 * W + 1)]


def max_pool_texture(C: int, H: int, W: int) -> Launch:
    return *flat(C // 4 * H * W), [result(texture(H * W, C // 4, 1)), texture(4 * H * W, C // 4, 1)]


def average_pool_texture(C: int, H: int, W: int) -> Launch:
    return (rounded(W, 16), rounded(H, 8), C // 4), (16, 8, 1), [result(texture(W, H, C // 4)), texture(W, H, C // 4)]


def global_pool_buffer(C: int, H: int, W: int) -> Launch:
    return (C, 1, 1), (64, 1, 1), [result(buffer(C)), buffer(C, H, W)]


def pack_buffer(C: int, H: int, W: int) -> Launch:
    return *flat(C * H * W), [result(buffer(C, H, W)), buffer(C, H, W)]


def pack_texture(C: int, H: int, W: int) -> Launch:
    return (rounded(H * W, 64), C // 4, 1), (64, 1, 1), [result(texture(H * W, C // 4, 1)), buffer(C, H, W)]


def unpack_texture(C: int, H: int, W: int) -> Launch:
    return (rounded(H * W, 64), C // 4, 1), (64, 1, 1), [result(buffer(C, H, W)), texture(H * W, C // 4, 1)]


def add_relu_buffer(C: int, H: int, W: int) -> Launch:
    return *flat(C * H * W // 4), [result(buffer(C, H, W)), buffer(C, H, W), buffer(C, H, W)]


def add_relu_texture(C: int, H: int, W: int) -> Launch:
    shape = (W, H * C // 4)
    return (rounded(W, 16), rounded(H * C // 4, 8), 1), (16, 8, 1), [result(texture(*shape)), texture(*shape), texture(*shape)]


def sum_rows(M: int, N: int) -> Launch:
    return (M * 256, 1, 1), (256, 1, 1), [result(buffer(M)), buffer(M, N)]


def max_columns(M: int, N: int) -> Launch:
    return *flat(N), [result(buffer(N)), buffer(M, N)]


def softmax_rows(M: int, N: int) -> Launch:
    return (M * 256, 1, 1), (256, 1, 1), [result(buffer(M, N)), buffer(M, N)]


def softmax_columns(M: int, N: int) -> Launch:
    return *flat(N), [result(buffer(M, N)), buffer(M, N)]


def layer_norm(M: int, N: int) -> Launch:
    return (M * 256, 1, 1), (256, 1, 1), [result(buffer(M, N)), buffer(M, N), buffer(N), buffer(N)]


def matmul_local(M: int, N: int, K: int) -> Launch:
    return (N, M, 1), (16, 16, 1), [result(buffer(M, N)), buffer(M, K), buffer(K, N, scale=K**-0.5)]


def matmul_registers(M: int, N: int, K: int) -> Launch:
    return (N // 4, M // 4, 1), (16, 8, 1), [result(buffer(M, N)), buffer(M, K), buffer(K, N, scale=K**-0.5)]


def matmul_texture(M: int, N: int, K: int) -> Launch:
    tensors = [result(texture(N // 4, M)), texture(K // 4, M), texture(N // 4, K, scale=K**-0.5)]
    return (N // 4, M // 2, 1), (16, 8, 1), tensors


def matvec_tree(N: int, K: int) -> Launch:
    return (N * 64, 1, 1), (64, 1, 1), [result(buffer(N)), buffer(K), buffer(N, K, scale=K**-0.5)]


conv3x3_direct = convolution(9, lambda C, K, H, W: flat(K * H * W))
conv3x3_local = convolution(9, lambda C, K, H, W: ((rounded(W, 16), rounded(H, 16), K // 4), (16, 16, 1)))
conv1x1_registers = convolution(1, lambda C, K, H, W: ((rounded(H * W // 4, 32), K // 4, 1), (32, 1, 1)))
conv1x1_tree = convolution(1, lambda C, K, H, W: ((K * H * W * 64, 1, 1), (64, 1, 1)))


@dataclass(frozen=True)
class Family:
    """One kernel: what a launch is for given constants, their names (a letter each), and their values in each size."""

    launch: Callable[..., Launch]
    names: str
    sizes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    local: tuple[Local, ...] = ()
    tolerance: float = 1.0
    """Factor of the usual tolerance: for sums kept in half, at least half the square root of the terms of the largest size."""


FAMILIES = {
    "conv3x3_direct": Family(conv3x3_direct, "CKHW", ((8, 16, 14, 14), (32, 32, 28, 28), (64, 64, 28, 28)), tolerance=12),
    "conv3x3_local": Family(conv3x3_local, "CKHW", ((8, 8, 28, 28), (32, 32, 28, 28), (64, 64, 40, 40))),
    "conv3x3_texture": Family(conv3x3_texture, "CKHW", ((16, 16, 14, 14), (32, 32, 28, 28), (48, 48, 56, 56)), tolerance=12),
    "conv1x1_registers": Family(conv1x1_registers, "CKHW", ((32, 32, 14, 14), (128, 256, 28, 28), (128, 256, 56, 56))),
    "conv1x1_tree": Family(conv1x1_tree, "CKHW", ((64, 8, 7, 7), (128, 32, 14, 14), (128, 64, 28, 28))),
    "conv1x1_texture": Family(conv1x1_texture, "CKHW", ((32, 32, 14, 14), (64, 128, 28, 28), (128, 128, 56, 56)), tolerance=8),
    "depthwise_direct": Family(depthwise_direct, "CHW", ((32, 14, 14), (96, 56, 56), (96, 112, 112)), tolerance=8),
    "depthwise_texture": Family(depthwise_texture, "CHW", ((32, 14, 14), (96, 56, 56), (96, 112, 112)), tolerance=8),
    "max_pool_buffer": Family(max_pool_buffer, "CHW", ((32, 14, 14), (192, 55, 55), (512, 56, 56))),
    "max_pool_texture": Family(max_pool_texture, "CHW", ((64, 14, 14), (128, 56, 56), (512, 56, 56))),
    "average_pool_texture": Family(average_pool_texture, "CHW", ((32, 14, 14), (192, 35, 35), (768, 35, 35))),
    "global_pool_buffer": Family(global_pool_buffer, "CHW", ((256, 7, 7), (1024, 56, 56), (4096, 56, 56))),
    "pack_buffer": Family(pack_buffer, "CHW", ((16, 28, 28), (192, 112, 112), (512, 112, 112))),
    "pack_texture": Family(pack_texture, "CHW", ((32, 28, 28), (128, 112, 112), (512, 112, 112))),
    "unpack_texture": Family(unpack_texture, "CHW", ((32, 28, 28), (128, 112, 112), (512, 112, 112))),
    "add_relu_buffer": Family(add_relu_buffer, "CHW", ((64, 14, 14), (256, 112, 112), (1024, 112, 112))),
    "add_relu_texture": Family(add_relu_texture, "CHW", ((64, 14, 14), (128, 56, 56), (256, 112, 112))),
    "sum_rows": Family(sum_rows, "MN", ((16, 1000), (2048, 1000), (4096, 2000)), local=(Local(1024),)),
    "max_columns": Family(max_columns, "MN", ((32, 1000), (500, 4000), (2000, 4000))),
    "softmax_rows": Family(softmax_rows, "MN", ((4, 1000), (128, 1000), (1024, 1000))),
    "softmax_columns": Family(softmax_columns, "MN", ((21, 400), (64, 65 * 65), (64, 128 * 128))),
    "layer_norm": Family(layer_norm, "MN", ((8, 384), (1024, 768), (4096, 768))),
    "matmul_local": Family(matmul_local, "MNK", ((32, 32, 64), (128, 128, 128), (256, 256, 256))),
    "matmul_registers": Family(matmul_registers, "MNK", ((32, 64, 64), (256, 256, 256), (256, 512, 512))),
    "matmul_texture": Family(matmul_texture, "MNK", ((32, 64, 64), (128, 128, 128), (256, 512, 256)), tolerance=8),
    "matvec_tree": Family(matvec_tree, "NK", ((64, 512), (2000, 2048), (4000, 4096))),
}  # fmt: skip


def case_of(kernel: str, dtype: str, size: str) -> Case:
    """The case of that kernel, "float" or "half", and size."""
    family = FAMILIES[kernel]
    return make_case(kernel, dtype, size, dict(zip(family.names, family.sizes[SIZES.index(size)], strict=True)))


def make_case(kernel: str, dtype: str, size: str, constants: dict[str, int]) -> Case:
    """A case with constants of its own; `size` only names it."""
    family = FAMILIES[kernel]
    global_size, local_size, tensors = family.launch(**constants)
    tolerance = TOLERANCE[dtype] * (family.tolerance if dtype == "half" else 1)
    arguments = (*tensors, *family.local)
    return Case(kernel, dtype, size, tuple(constants.items()), global_size, local_size, arguments, tolerance)


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every case, sizes of a kernel one after another."""
    return tuple(case_of(kernel, dtype, size) for kernel in FAMILIES for dtype in ELEMENT for size in SIZES)


def choose_cases(only: str, quick: bool) -> list[Case]:
    """Those whose names hold `only`; `quick`, and no name: of floats alone, and no large ones."""
    chosen = [case for case in all_cases() if only in case.name]
    return [case for case in chosen if case.size != "large" and case.dtype == "float"] if quick and not only else chosen
