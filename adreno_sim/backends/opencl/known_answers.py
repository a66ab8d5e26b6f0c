"""Kernels whose results are known without any driver: what a device must get right before its results count for anything.

Each answer is computed here in NumPy from small whole numbers, so that it is exact in every order of summation, and a device
must give it bit by bit. One table serves the product and the tests.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Union

import numpy as np

from ...base.specs import Local
from ...records import dataclass

IMAGES = "images"
"""What a kernel needs that uses images; every other need is the name of an extension."""


@dataclass(frozen=True)
class Texels:
    """An image argument of RGBA texels: `array` of float32 in the shape (layers, height, width, 4)."""

    array: np.ndarray
    kind: str = "image2d"


KnownArgument = Union[np.ndarray, np.generic, Texels, Local]
"""A global buffer, a scalar, an image, local memory."""


@dataclass(frozen=True)
class KnownAnswer:
    """Kernel `k` of `source`, after which argument `at` holds `expected` on every device that has what it `needs`.

    what: the sentence of a device that fails begins with "gets WHAT wrong".
    """

    name: str
    what: str
    source: str
    args: tuple[KnownArgument, ...]
    at: int
    expected: np.ndarray
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    needs: str = ""

    def applies(self, extensions: Set[str], images: bool) -> bool:
        """Whether a device with these extensions must know it."""
        return images if self.needs == IMAGES else not self.needs or self.needs in extensions

    def judge(self, found: np.ndarray) -> str:
        """What is wrong with a result, as one sentence; "" if it is right."""
        expected = self.expected.reshape(-1)
        got = found.reshape(-1)
        wrong = np.flatnonzero(got != expected)  # NaN too
        if not len(wrong):
            return ""
        first = wrong[0]
        return self.failure(
            f"element {first} is {got[first]:g} where {expected[first]:g} is right, {len(wrong)} of {len(expected)} differ"
        )

    def failure(self, how: str) -> str:
        """The sentence of a device that fails."""
        return f"gets {self.what} wrong ({self.name}: {how})"


def _numbers(*shape: int) -> np.ndarray:
    """Whole numbers from -4 to 4, the same each time."""
    return np.random.default_rng(len(shape)).integers(-4, 5, shape).astype(np.float32)


def _sum() -> KnownAnswer:
    a, b = _numbers(2, 16)
    source = "kernel void k(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] + b[i]; }"
    return KnownAnswer("a sum of two", "the simplest kernel", source, (a, b), 1, a + b, (16,), (4,))


def _product() -> KnownAnswer:
    a, b = _numbers(2, 16, 16)
    source = """
kernel void k(global const float *a, global const float *b, global float *c, int n) {
  local float ta[8][8], tb[8][8];
  int x = get_local_id(0), y = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
  float sum[2] = {0, 0};
  for (int t = 0; t < n / 8; t++) {
    ta[y][x] = a[gy * n + t * 8 + x];
    tb[y][x] = b[(t * 8 + y) * n + gx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 8; i++) sum[i & 1] += ta[y][i] * tb[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[gy * n + gx] = sum[0] + sum[1];
}"""
    args = (a, b, np.zeros_like(a), np.int32(16))
    return KnownAnswer("a tiled matrix product", "loops with barriers", source, args, 2, a @ b, (16, 16), (8, 8))


def _reduction() -> KnownAnswer:
    x = _numbers(256)
    source = """
kernel void k(global const float *x, global float *y, local float *part) {
  int i = get_local_id(0);
  part[i] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int w = get_local_size(0) / 2; w > 0; w >>= 1) {
    if (i < w) part[i] += part[i + w];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i == 0) y[get_group_id(0)] = part[0];
}"""
    args = (x, np.zeros(4, np.float32), Local(256))
    return KnownAnswer(
        "a sum by halves", "local memory given as an argument", source, args, 1, x.reshape(4, 64).sum(1), (256,), (64,)
    )


def _scan() -> KnownAnswer:
    x = _numbers(128).astype(np.int32)
    source = """
kernel void k(global const int *x, global int *y) {
  local int s[2][64];
  int i = get_local_id(0), from = 0;
  s[0][i] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 64; d *= 2) {
    s[1 - from][i] = i >= d ? s[from][i] + s[from][i - d] : s[from][i];
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[get_global_id(0)] = s[from][i];
}"""
    expected = np.cumsum(x.reshape(2, 64), axis=1, dtype=np.int32)
    return KnownAnswer("running sums", "local arrays", source, (x, np.zeros_like(x)), 1, expected, (128,), (64,))


def _halves() -> KnownAnswer:
    x = np.arange(-24, 40, dtype=np.float16)
    source = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const half *x, global half *y, local half *s) {
  int i = get_local_id(0);
  s[i] = x[get_global_id(0)] * x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = s[i ^ 1] / (half)2 + (half)1;
}"""
    swapped = (x * x).reshape(-1, 2)[:, ::-1].reshape(-1)
    args = (x, np.zeros_like(x), Local(32))
    expected = swapped / np.float16(2) + np.float16(1)
    return KnownAnswer("squares of neighbours", "halves", source, args, 1, expected, (64,), (16,), "cl_khr_fp16")


def _image() -> KnownAnswer:
    x = _numbers(1, 5, 8, 4)
    source = """
constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void k(read_only image2d_t x, write_only image2d_t y) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(y, at, read_imagef(x, s, at - (int2)(1, 0)).yxwz + 2.0f * read_imagef(x, s, at + (int2)(1, 1)));
}"""
    wide = np.pad(x, ((0, 0), (0, 1), (1, 1), (0, 0)), mode="edge")
    expected = wide[:, :-1, :-2][..., [1, 0, 3, 2]] + 2 * wide[:, 1:, 2:]
    args = (Texels(x), Texels(np.zeros_like(x)))
    return KnownAnswer("neighbours of texels", "images", source, args, 1, expected, (8, 5), (4, 1), IMAGES)


def _layers() -> KnownAnswer:
    x = _numbers(3, 5, 8, 4)
    source = """
constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
kernel void k(read_only image2d_array_t x, write_only image2d_array_t y) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagef(y, at, read_imagef(x, s, at + (int4)(1, 0, 0, 0)) + (float)get_image_array_size(x));
}"""
    expected = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)))[:, :, 1:] + 3
    args = (Texels(x, "image2d_array"), Texels(np.zeros_like(x), "image2d_array"))
    return KnownAnswer("neighbours in layers", "image arrays", source, args, 1, expected, (8, 5, 3), (4, 1, 1), IMAGES)


SIMPLEST = _sum()
"""A driver that does not give this one runs nothing on this machine (its compiler may not know the processor)."""

KNOWN_ANSWERS: Sequence[KnownAnswer] = (SIMPLEST, _product(), _reduction(), _scan(), _halves(), _image(), _layers())
