"""Which operator a kernel node asks for: by its name, as TVM's runtime reads it."""

from __future__ import annotations

from ..base.errors import UnsupportedError

ENDINGS = (
    ("nn.conv2d", "conv2d"), ("nn.pad_conv2d", "conv2d"), ("nn.depthwise_conv2d", "depthwise_conv2d"),
    ("nn.conv2d_transpose", "conv2d_transpose"), ("nn.relu6", "relu6"), ("nn.relu", "relu"), ("nn.batch_norm", "batch_norm"),
    ("nn.max_pool2d", "max_pool2d"), ("nn.avg_pool2d", "avg_pool2d"), ("nn.global_avg_pool2d", "global_avg_pool2d"),
    ("nn.global_max_pool2d", "global_max_pool2d"), ("reshape", "reshape"), ("nn.softmax", "softmax"),
    ("relax.add", "add"), ("relax.subtract", "subtract"), ("relax.multiply", "multiply"), ("relax.minimum", "minimum"),
    ("relax.maximum", "maximum"), ("relax.divide", "divide"),
)  # fmt: skip
"""End of a node's name -> operator; the first that fits counts."""

WHOLE = {
    "concatenate": "concatenate", "nn.dense": "dense", "openclml.dequant_matmul": "dequant_matmul", "nn.pad": "pad",
    "nn.batch_flatten": "reshape", "clip": "clip", "add": "add", "subtract": "subtract", "multiply": "multiply",
    "minimum": "minimum", "maximum": "maximum", "divide": "divide", "nn.depth_to_space": "depth_to_space",
    "nn.upsampling": "resize_bilinear", "nn.batch_matmul": "batch_matmul",
}  # fmt: skip
"""Whole name of a node -> operator."""


def kind_of(name: str) -> str:
    """The operator of a node. UnsupportedError if TVM's runtime knows none of that name."""
    if name in WHOLE:
        return WHOLE[name]
    for ending, kind in ENDINGS:
        if name.endswith(ending):
            return kind
    raise UnsupportedError(f"unsupported: TVM's OpenCL ML runtime knows no operator {name!r}")
