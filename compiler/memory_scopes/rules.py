"""What a consumer asks for: which of its operands it reads as textures, and which texture scope a shape fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tvm_bridge.read import kind

GLOBAL = "global"

WEIGHTS = ("buffer", "texture", "relay")
"""Where the weights of packed convolutions lie: see `weights_in_texture`."""

COMM_REDUCE = 3
"""TVM's OpPatternKind.kCommReduce: patterns below it only move or map elements."""
OPAQUE = 8

SPATIAL_LIMIT, DEPTH_LIMIT = 16384, 2048
"""What TVM assumes of a target without the attributes texture_spatial_limit and texture_depth_limit."""


def reads_textures(attributes: Sequence[Any], pattern: int, weights: bool = False) -> tuple[bool, ...]:
    """Per operand, whether a call reads it as a texture where its shape allows; operands past the end go like the first.

    attributes: the operator's, or those a PrimFunc carries as `op_attrs`. pattern: TVM's OpPatternKind. weights: whether this
    call's weights, if it is a convolution, are to be textures.
    """
    if pattern < COMM_REDUCE:
        return (True,)
    for attrs in attributes:
        name = kind(attrs)
        if name == "Conv2DAttrs" and str(attrs.data_layout) == "NCHW4c" and str(attrs.kernel_layout) == "OIHW4o":
            return (True, weights)
        if name in ("Pool2DAttrs", "AdaptivePool2DAttrs") and str(attrs.layout) == "NCHW4c":
            return (True,)
        if name == "LayerNormAttrs":
            return (True,)
    return (False,)


def weights_in_texture(where: str, shape: Sequence[int | None], dtype: str, constant: bool) -> bool:
    """Whether weights of this shape (O/4, I, KH, KW, 4) are wanted as a texture.

    where: "buffer" and "texture" for all weights; "relay" as Relay decided: constants of float32 whose kernel extents both differ
    from 1 are in buffers, all others in textures.
    """
    if where != "relay" or len(shape) != 5:
        return where == "texture"
    return not (constant and dtype == "float32" and 1 not in shape[2:4])


def texture_scope(shape: Sequence[int | None], spatial: int = SPATIAL_LIMIT, depth: int = DEPTH_LIMIT) -> str:
    """The scope of a tensor that is wanted as a texture: five dimensions, the innermost of 4; else "global".

    shape: sizes, None for one that is not constant (then the layout that suits most activations). spatial, depth: the
    largest extent of an image and of an array of images. A tensor that fits no layout stays "global".
    """
    if len(shape) != 5 or shape[4] != 4:
        return GLOBAL
    a, b, c, d = shape[:4]
    if a is None or b is None or c is None or d is None:
        return "global.texture-nchw"
    if a < spatial and b * c * d < spatial:
        return "global.texture-weight"
    if a < depth and b < spatial and c * d < spatial:
        return "global.texture-nhwc"
    if a * b < depth and c < spatial and d < spatial:
        return "global.texture"
    return GLOBAL


def is_texture(scope: str) -> bool:
    return scope.startswith("global.texture")
