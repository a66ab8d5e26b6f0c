"""ONNX networks whose branches can run in several orders: pyramids, decoders that join what encoders kept, parallel heads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes named after what they are; weights come from the seed."""

    def __init__(self, name: str, channels: int, size: int):
        self.name = name
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.channels = {"x": channels}
        self.rng = np.random.default_rng(0)
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, size, size])

    def add(self, operator: str, label: str, inputs: list[str], channels: int, **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [label], name=label, **attributes))
        self.channels[label] = channels
        return label

    def conv(self, label: str, source: str, channels: int, kernel: int = 3, dilation: int = 1, stride: int = 1) -> str:
        """A convolution of the size of its input (halved by a stride of 2), and relu."""
        weight = self.rng.standard_normal((channels, self.channels[source], kernel, kernel)) / (
            kernel * self.channels[source] ** 0.5
        )
        self.weights.append(numpy_helper.from_array(weight.astype(np.float32), f"{label}_w"))
        pad = dilation * (kernel // 2)
        out = self.add(
            "Conv", label, [source, f"{label}_w"], channels, pads=[pad] * 4, dilations=[dilation] * 2, strides=[stride] * 2
        )
        return self.add("Relu", f"{label}_relu", [out], channels)

    def pool(self, label: str, source: str) -> str:
        return self.add("MaxPool", label, [source], self.channels[source], kernel_shape=[2, 2], strides=[2, 2])

    def shrink(self, label: str, source: str) -> str:
        """The mean of each channel."""
        return self.add("GlobalAveragePool", label, [source], self.channels[source])

    def grow(self, label: str, source: str) -> str:
        """Twice the size, nearest."""
        self.weights.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), f"{label}_scales"))
        return self.add(
            "Resize", label, [source, "", f"{label}_scales"], self.channels[source], mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip

    def join(self, label: str, sources: list[str]) -> str:
        return self.add("Concat", label, sources, sum(self.channels[source] for source in sources), axis=1)

    def plus(self, label: str, a: str, b: str) -> str:
        return self.add("Add", label, [a, b], self.channels[a])

    def model(self, outputs: list[str]) -> onnx.ModelProto:
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, [self.input], values, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def parallel_heads() -> onnx.ModelProto:
    """Heads that all widen the same features before any of them narrows."""
    g = Graph("parallel_heads", 8, 32)
    stem = g.conv("stem", "x", 16)
    wide = [g.conv(f"head{n}_wide", stem, 64) for n in range(4)]
    return g.model([g.shrink(f"head{n}_mean", value) for n, value in enumerate(wide)])


def wide_inception() -> onnx.ModelProto:
    """Blocks whose branches are written level by level, each with a wide middle."""
    g = Graph("wide_inception", 8, 32)
    value = g.conv("stem", "x", 16)
    for block in range(2):
        wide = [g.conv(f"b{block}_{n}_wide", value, 48, 1 + 2 * (n % 2)) for n in range(3)]
        value = g.join(f"b{block}_join", [g.conv(f"b{block}_{n}_narrow", w, 8, 1) for n, w in enumerate(wide)])
    return g.model([value])


def unet() -> onnx.ModelProto:
    """An encoder whose every level is joined by the decoder."""
    g = Graph("unet", 4, 32)
    kept, value = [], "x"
    for level in range(3):
        value = g.conv(f"down{level}", value, 16 << level)
        kept.append(value)
        value = g.pool(f"pool{level}", value)
    value = g.conv("middle", value, 96)
    for level in reversed(range(3)):
        value = g.join(f"join{level}", [g.grow(f"up{level}", value), kept[level]])
        value = g.conv(f"out{level}", value, 16 << level)
    return g.model([value])


def pyramid() -> onnx.ModelProto:
    """A feature pyramid: lateral convolutions written first, then the way down, then a head at every level."""
    g = Graph("pyramid", 4, 64)
    levels, value = [], "x"
    for level in range(4):
        value = g.conv(f"c{level}", value, 12 << level, stride=2)
        levels.append(value)
    lateral = [g.conv(f"lateral{n}", value, 48, 1) for n, value in enumerate(levels)]
    merged = [lateral[-1]]
    for level in reversed(range(3)):
        merged.insert(0, g.plus(f"merge{level}", lateral[level], g.grow(f"grow{level}", merged[0])))
    heads = [g.conv(f"head{n}", value, 32) for n, value in enumerate(merged)]
    return g.model([g.shrink(f"score{n}", value) for n, value in enumerate(heads)])


def dilated() -> onnx.ModelProto:
    """Parallel dilated convolutions that are joined, as in DeepLab."""
    g = Graph("dilated", 8, 32)
    value = g.conv("stem", "x", 24)
    rates = [g.conv(f"rate{rate}", value, 32, dilation=rate) for rate in (1, 2, 4)]
    return g.model([g.conv("project", g.join("join", [*rates, g.conv("point", value, 32, 1)]), 16, 1)])


def hourglass() -> onnx.ModelProto:
    """Skips that are computed before the way down and added on the way up."""
    g = Graph("hourglass", 4, 32)
    value, skips = g.conv("stem", "x", 24), []
    for level in range(3):
        skips.append(g.conv(f"skip{level}", value, 24))
        value = g.conv(f"low{level}", g.pool(f"pool{level}", value), 24)
    for level in reversed(range(3)):
        value = g.plus(f"add{level}", g.grow(f"up{level}", value), skips[level])
    return g.model([value])


def two_resolutions() -> onnx.ModelProto:
    """Two resolutions side by side that exchange features, as in HRNet."""
    g = Graph("two_resolutions", 4, 32)
    high = g.conv("stem", "x", 16)
    low = g.conv("split", high, 32, stride=2)
    for stage in range(3):
        high_wide, low_wide = g.conv(f"h{stage}", high, 48), g.conv(f"l{stage}", low, 96)
        high_out, low_out = g.conv(f"h{stage}_out", high_wide, 16, 1), g.conv(f"l{stage}_out", low_wide, 32, 1)
        high = g.plus(f"h{stage}_sum", high_out, g.grow(f"h{stage}_up", g.conv(f"h{stage}_from_low", low_out, 16, 1)))
        low = g.plus(f"l{stage}_sum", low_out, g.conv(f"l{stage}_from_high", high_out, 32, stride=2))
    return g.model([high, low])


def dense_decoder() -> onnx.ModelProto:
    """Every layer joins all before it, and each feeds an output of its own at the end."""
    g = Graph("dense_decoder", 8, 24)
    values = [g.conv("stem", "x", 24)]
    for layer in range(4):
        joined = values[0] if layer == 0 else g.join(f"join{layer}", values)
        values.append(g.conv(f"layer{layer}", joined, 24))
    wide = [g.conv(f"wide{n}", value, 64, 1) for n, value in enumerate(values[1:])]
    return g.model([g.shrink(f"mean{n}", value) for n, value in enumerate(wide)])


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    made.__name__: made
    for made in (parallel_heads, wide_inception, unet, pyramid, dilated, hourglass, two_resolutions, dense_decoder)
}
