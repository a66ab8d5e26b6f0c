"""Results of one texel: one work-item makes it, no other of its group writes it too. Their twins have two texels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
pytest.importorskip("onnx")

from onnx.reference import ReferenceEvaluator

from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.run import vm
from degenerate.cases import Graph
from degenerate.judge import TOLERANCE

pytestmark = pytest.mark.tvm

Build = Callable[[Graph], None]


def grouped(groups: int, kernel: int = 1) -> Build:
    """Four channels of an image of one pixel, in groups, with a bias and what follows."""

    def build(graph: Graph) -> None:
        n, c, _, _ = graph.shape
        weights = [graph.weight(4, c // groups, kernel, kernel), graph.weight(4)]
        graph.add("Conv", [graph.last, *weights], (n, 4, 1, 1), group=groups, pads=[kernel // 2] * 4)
        graph.add("Relu", [graph.last], graph.shape)

    return build


def transposed(graph: Graph) -> None:
    n, c, _, _ = graph.shape
    graph.add("ConvTranspose", [graph.last, graph.weight(c, 4, 1, 1), graph.weight(4)], (n, 4, 1, 1))


def after_convolution(operator: str, **attributes: Any) -> Build:
    """What makes one pixel of four channels of an image over texels."""

    def build(graph: Graph) -> None:
        n, c, h, w = graph.shape
        graph.add("Conv", [graph.last, graph.weight(4, c, 1, 1)], (n, 4, h, w))
        graph.add(operator, [graph.last], (n, 4, 1, 1), **attributes)
        graph.add("Tanh", [graph.last], graph.shape)

    return build


CASES: dict[str, tuple[Build, tuple[int, ...]]] = {
    "two groups": (grouped(2), (8, 1, 1)),
    "four groups": (grouped(4, kernel=3), (8, 1, 1)),
    "transposed": (transposed, (8, 1, 1)),
    "maximum of a window": (after_convolution("MaxPool", kernel_shape=[3, 2]), (8, 3, 2)),
    "maximum of an image": (after_convolution("ReduceMax", axes=[2, 3], keepdims=1), (8, 3, 2)),
}
"""A sum -> how its graph is built, and the shape of an image that gives one texel."""


@pytest.mark.share(2.5)
@pytest.mark.parametrize(("texels", "dtype"), [(1, "float32"), (1, "float16"), (2, "float16")])
@pytest.mark.parametrize("name", CASES)
def test_one_work_item_makes_a_texel(name: str, texels: int, dtype: str, adreno: Any) -> None:
    build, image = CASES[name]
    rng, shape = np.random.default_rng(7), (texels, *image)
    graph = Graph(rng, dtype, shape)
    build(graph)
    given = rng.uniform(-2, 2, shape).astype(dtype)
    (got,) = vm.run(compile_model(graph.model(dtype, shape), target="texture"), [given], adreno)
    (expected,) = ReferenceEvaluator(graph.model("float64", shape)).run(None, {"x": given.astype("f8")})
    assert got.shape == (texels, 4, 1, 1)
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE[dtype])
