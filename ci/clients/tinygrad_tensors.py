"""tinygrad's tensors on OpenCL against NumPy in float64. Exit code 1 where one differs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from tinygrad import Device, Tensor

RNG = np.random.default_rng(0)
A, B, ROWS = (RNG.normal(size=shape).astype(np.float32) for shape in ((64, 96), (96, 80), (64, 96)))
PICTURE, KERNEL, DEPTH = (RNG.normal(size=shape).astype(np.float32) for shape in ((2, 16, 20, 20), (32, 16, 3, 3), (16, 1, 3, 3)))
NUMBERS = RNG.integers(-100, 100, (33, 17)).astype(np.int32)


def convolve(picture: np.ndarray, kernel: np.ndarray, groups: int = 1) -> np.ndarray:
    padded = np.pad(picture.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    each = picture.shape[1] // groups
    parts = []
    for group in range(groups):
        own = kernel[group * (len(kernel) // groups) : (group + 1) * (len(kernel) // groups)].astype(np.float64)
        seen = padded[:, group * each : (group + 1) * each]
        windows = np.lib.stride_tricks.sliding_window_view(seen, (3, 3), (2, 3))
        parts.append(np.einsum("nchwij,ocij->nohw", windows, own))
    return np.concatenate(parts, 1)


def softmax(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


WIDE = A.astype(np.float64)
CASES: dict[str, tuple[Callable[[], Tensor], np.ndarray, float]] = {
    "matmul": (lambda: Tensor(A) @ Tensor(B), WIDE @ B, 1e-5),
    "matmul in half": (lambda: (Tensor(A).half() @ Tensor(B).half()).float(), WIDE @ B, 4e-3),
    "relu": (lambda: Tensor(A).relu(), np.maximum(WIDE, 0), 0),
    "gelu": (lambda: Tensor(A).quick_gelu(), WIDE / (1 + np.exp(-1.702 * WIDE)), 1e-5),
    "exp and log": (lambda: (Tensor(A).exp() + 1).log(), np.log(np.exp(WIDE) + 1), 1e-5),
    "sin": (lambda: Tensor(A).sin(), np.sin(WIDE), 1e-5),
    "softmax": (lambda: Tensor(A).softmax(), softmax(WIDE), 1e-5),
    "layer norm": (
        lambda: Tensor(A).layernorm(),
        (WIDE - WIDE.mean(-1, keepdims=True)) / np.sqrt(WIDE.var(-1, keepdims=True) + 1e-5),
        1e-5,
    ),
    "sum of an axis": (lambda: Tensor(A).sum(0), WIDE.sum(0), 1e-5),
    "largest": (lambda: Tensor(A).max(1), WIDE.max(1), 0),
    "index of the largest": (lambda: Tensor(A).argmax(1), WIDE.argmax(1), 0),
    "cumulative sum": (lambda: Tensor(A).cumsum(1), WIDE.cumsum(1), 1e-5),
    "transpose and slice": (lambda: Tensor(A).transpose()[3:50, ::2].contiguous(), WIDE.T[3:50, ::2], 0),
    "gather": (lambda: Tensor(A)[Tensor([3, 1, 60, 3])], WIDE[[3, 1, 60, 3]], 0),
    "sort": (lambda: Tensor(A[:, :40]).sort(1)[0], np.sort(WIDE[:, :40], 1), 0),
    "integers": (lambda: (Tensor(NUMBERS) * 7) // 3 - Tensor(NUMBERS) % 5, NUMBERS.astype(int) * 7 // 3 - NUMBERS % 5, 0),
    "shifts": (lambda: Tensor(NUMBERS) << 3, NUMBERS.astype(int) << 3, 0),
    "where": (lambda: (Tensor(A) > Tensor(ROWS)).where(Tensor(A), 0), np.where(A > ROWS, WIDE, 0), 0),
    "convolution": (lambda: Tensor(PICTURE).conv2d(Tensor(KERNEL), padding=1), convolve(PICTURE, KERNEL), 1e-5),
    "depthwise": (lambda: Tensor(PICTURE).conv2d(Tensor(DEPTH), groups=16, padding=1), convolve(PICTURE, DEPTH, 16), 1e-5),
    "max pool": (lambda: Tensor(PICTURE).max_pool2d(), PICTURE.reshape(2, 16, 10, 2, 10, 2).max((3, 5)), 0),
    "average pool": (
        lambda: Tensor(PICTURE).avg_pool2d(),
        PICTURE.astype(np.float64).reshape(2, 16, 10, 2, 10, 2).mean((3, 5)),
        1e-5,
    ),
}
"""A tensor, what it should be, and how far it may be off as a share of the largest value."""


def main() -> int:
    """Compare all cases; print a line for each."""
    print(f"tinygrad on {Device.DEFAULT}")
    wrong = 0
    for name, (make, expected, tolerance) in CASES.items():
        error = np.abs(make().numpy().astype(np.float64) - expected).max()
        allowed = tolerance * np.abs(expected).max()
        wrong += not error <= allowed
        print(f"{name}: largest error {error:.3g}, allowed {allowed:.3g}: {'ok' if error <= allowed else 'DIFFERS'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
