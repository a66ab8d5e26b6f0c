"""Convolutions over texels: data NCHW4c, weights OIHW4o, any number of groups, with a wider accumulator if wanted.

TVM's operator library has conv2d_NCHWc_OIHWo, whose groups must be whole texels on both sides (a depthwise one divides by
zero), and no transposed convolution over texels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tvm_bridge.versions import import_tvm

LANES = 4
"""Channels of a texel."""

CONV2D = "packed_conv2d"
CONV2D_TRANSPOSE = "packed_conv2d_transpose"
"""Names of the reduction blocks, by which the schedule rule knows them."""

Index = tuple[Any, Any]
"""(channel block, lane) of a channel."""


def packed_conv2d(
    data: Any, weight: Any, strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, accumulate: str
) -> Any:
    """conv2d as a te tensor of the type `accumulate`, in which it is summed.

    data (N, C/4, H, W, 4); weight (O/4, C/groups, KH, KW, 4); padding top, left, bottom, right; result (N, O/4, OH, OW, 4).
    """
    tvm = import_tvm()
    batch, blocks, height, width, _ = _sizes(data)
    out_blocks, group_inputs, kernel_h, kernel_w, _ = _sizes(weight)
    channel = input_channel(groups, blocks * LANES // groups, out_blocks * LANES // groups)
    top, left, bottom, right = padding
    out_h = (height + top + bottom - dilation[0] * (kernel_h - 1) - 1) // strides[0] + 1
    out_w = (width + left + right - dilation[1] * (kernel_w - 1) - 1) // strides[1] + 1
    ic, kh, kw = _reduce_axes(ic=group_inputs, kh=kernel_h, kw=kernel_w)

    def sum_of(n: Any, oc: Any, y: Any, x: Any, lane: Any) -> Any:
        block, inner = channel(oc, lane, ic)
        row, column = y * strides[0] + kh * dilation[0] - top, x * strides[1] + kw * dilation[1] - left
        inside = _inside(row, height, top or bottom) + _inside(column, width, left or right)
        value = _guard(inside, data[n, block, row, column, inner], data.dtype)
        return tvm.te.sum(value.astype(accumulate) * weight[oc, ic, kh, kw, lane].astype(accumulate), axis=[ic, kh, kw])

    return tvm.te.compute((batch, out_blocks, out_h, out_w, LANES), sum_of, name=CONV2D)


def packed_conv2d_transpose(
    data: Any,
    weight: Any,
    strides: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    accumulate: str,
) -> Any:
    """conv2d_transpose as a te tensor of the type `accumulate`, in which it is summed.

    data (N, C/4, H, W, 4); weight (O/4, C/groups, KH, KW, 4), that is OIHW4o of the IOHW weight; result (N, O/4, OH, OW, 4)
    with OH = (H - 1) * stride - top - bottom + dilation * (KH - 1) + output_padding + 1. Each result adds up the taps that
    meet it: with dilation 1 those of its phase alone, every stride-th of the kernel, so that no zero is multiplied.
    """
    tvm = import_tvm()
    batch, blocks, height, width, _ = _sizes(data)
    out_blocks, group_inputs, kernel_h, kernel_w, _ = _sizes(weight)
    channel = input_channel(groups, blocks * LANES // groups, out_blocks * LANES // groups)
    top, left, bottom, right = padding
    out_h = (height - 1) * strides[0] - top - bottom + dilation[0] * (kernel_h - 1) + output_padding[0] + 1
    out_w = (width - 1) * strides[1] - left - right + dilation[1] * (kernel_w - 1) + output_padding[1] + 1
    rows, columns = _Taps(height, kernel_h, strides[0], top, dilation[0]), _Taps(width, kernel_w, strides[1], left, dilation[1])
    ic, kh, kw = _reduce_axes(ic=group_inputs, kh=rows.count, kw=columns.count)

    def sum_of(n: Any, oc: Any, y: Any, x: Any, lane: Any) -> Any:
        block, inner = channel(oc, lane, ic)
        (row, tap_h, row_meets), (column, tap_w, column_meets) = rows.at(y, kh), columns.at(x, kw)
        value = data[n, block, row, column, inner].astype(accumulate) * weight[oc, ic, tap_h, tap_w, lane].astype(accumulate)
        return tvm.te.sum(_guard(row_meets + column_meets, value, accumulate), axis=[ic, kh, kw])

    return tvm.te.compute((batch, out_blocks, out_h, out_w, LANES), sum_of, name=CONV2D_TRANSPOSE)


class _Taps:
    """The taps of a transposed convolution along one axis: which input meets which tap of the kernel at an output."""

    def __init__(self, size: int, kernel: int, stride: int, before: int, dilation: int):
        self.size, self.kernel, self.stride, self.before, self.dilation = size, kernel, stride, before, dilation
        self.count = -(-kernel // stride) if dilation == 1 else kernel

    def at(self, out: Any, tap: Any) -> tuple[Any, Any, list[Any]]:
        """(position in the input, tap of the kernel, conditions that they meet), for the tap-th candidate."""
        pos = out + self.before
        if self.dilation == 1:
            taken = pos % self.stride + tap * self.stride
            position = pos // self.stride - tap
            meets = [taken < self.kernel] if self.kernel % self.stride else []
            return position, taken, [*meets, position >= 0, position < self.size]
        reach = pos - tap * self.dilation
        return reach // self.stride, tap, [reach % self.stride == 0, reach >= 0, reach < self.size * self.stride]


def input_channel(groups: int, inputs: int, outputs: int) -> Callable[[Any, Any, Any], Index]:
    """index(block of the output, its lane, input of its group) -> the position of that input channel in the packed data.

    inputs, outputs: channels per group. Where a group's outputs are whole texels the index does not depend on the lane;
    depthwise it is the output's own.
    """

    def index(block: Any, lane: Any, ic: Any) -> Index:
        if groups > 1 and inputs == outputs == 1:
            return block, lane
        group: Any = 0
        if groups > 1:
            group = block // (outputs // LANES) if outputs % LANES == 0 else (block * LANES + lane) // outputs
        if inputs % LANES == 0:
            return group * (inputs // LANES) + ic // LANES, ic % LANES
        pos = group * inputs + ic
        return pos // LANES, pos % LANES

    return index


def _sizes(tensor: Any) -> list[int]:
    return [int(size) for size in tensor.shape]


def _reduce_axes(**extents: int) -> list[Any]:
    te = import_tvm().te
    return [te.reduce_axis((0, extent), name=name) for name, extent in extents.items()]


def _inside(position: Any, size: int, padded: int) -> list[Any]:
    return [position >= 0, position < size] if padded else []


def _guard(conditions: list[Any], value: Any, dtype: str) -> Any:
    """`value` where every condition holds, else zero; what it reads is not read then."""
    tirx = import_tvm().tirx
    return tirx.if_then_else(tirx.all(*conditions), value, tirx.const(0, str(dtype))) if conditions else value
