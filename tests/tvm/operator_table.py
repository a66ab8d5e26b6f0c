"""The table of operators and what its graphs are made of (`operators` fills and exports it).

Shapes are small but never a multiple of the work-group size, with several channel blocks, so that guards and layouts
matter. Weights come from a fixed seed and are scaled so that no result saturates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from relax_models import one_block

from adreno_sim.compiler.tvm_bridge.versions import import_tvm

tvm = import_tvm()
relax = tvm.relax
op = relax.op

Builder = Callable[[], Any]
OPERATORS: dict[str, Builder] = {}

N, C, H, W = 1, 8, 13, 11
IMAGE = (N, C, H, W)


def case(build: Builder) -> Builder:
    """Enter a builder into the table under its function's name."""
    OPERATORS[build.__name__] = build
    return build


def graph(body: Callable[..., Any], *shapes: tuple[Any, ...], dtype: str = "float32") -> Any:
    """An IRModule whose "main" takes x0, x1, ... of these shapes and returns what `body` makes of them."""
    return one_block(body, *((f"x{i}", shape, dtype) for i, shape in enumerate(shapes)))


def weight(*shape: int, dtype: str = "float32", gain: float = 1.0) -> Any:
    """A constant of normal values, scaled by the fan-in."""
    generator = np.random.default_rng(shape)
    scale = gain / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 else gain
    return relax.const((generator.standard_normal(shape) * scale).astype(dtype))


def conv(x: Any, out: int, kernel: int = 3, inputs: int = C, **attributes: Any) -> Any:
    """A convolution with constant weights; padding keeps the size unless given."""
    attributes.setdefault("padding", kernel // 2)
    return op.nn.conv2d(x, weight(out, inputs, kernel, kernel), **attributes)


def bias(channels: int) -> Any:
    """A constant to add along the channel axis."""
    return weight(1, channels, 1, 1)


def twice_as_large(x: Any) -> Any:
    """An H x W image doubled by repeating its pixels."""
    return op.image.resize2d(
        x, relax.ShapeExpr((2 * H, 2 * W)), layout="NCHW", method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric", rounding_method="floor",
    )  # fmt: skip
