"""Reductions in blocks, and of whole tensors, that TVM's Reduction rule gets wrong or fails on; twins that it gets right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from operators import graph, op, weight

pytestmark = pytest.mark.tvm

Body = Callable[[Any], Any]

CASES: dict[str, tuple[Body, Body, tuple[int, ...], tuple[int, ...]]] = {
    "row of groups": (
        lambda x: op.nn.conv2d(x, weight(6, 4, 1, 1), groups=2),
        lambda x: op.nn.conv2d(x, weight(6, 8, 1, 1)),
        (2, 8, 1, 1), (2, 8, 1, 1),
    ),
    "row of groups with a bias": (
        lambda x: op.nn.relu(op.add(op.nn.conv2d(x, weight(6, 4, 1, 1), groups=2), weight(1, 6, 1, 1))),
        lambda x: op.nn.relu(op.add(op.nn.conv2d(x, weight(6, 8, 1, 1)), weight(1, 6, 1, 1))),
        (2, 8, 1, 1), (2, 8, 1, 1),
    ),
    "rest of a block": (
        lambda x: op.nn.conv2d_transpose(x, weight(3, 1, 1, 1), strides=2),
        lambda x: op.nn.conv2d_transpose(x, weight(3, 1, 1, 1), strides=(2, 1), output_padding=(1, 0)),
        (2, 3, 6, 1), (2, 3, 6, 1),
    ),
    "mean of all": (
        lambda x: op.nn.relu(op.mean(x)),
        lambda x: op.nn.relu(op.mean(x, axis=[1])),
        (4, 5), (4, 5),
    ),
}  # fmt: skip
"""Operator -> what TVM's rule gets wrong, what it gets right, and the shapes of their inputs."""


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
def test_it_is_right_with_the_fix_alone(name: str, verdict: Callable[..., str]) -> None:
    wrong, right, shape, shape_of_right = CASES[name]
    assert verdict(graph(wrong, shape), "buffer", "fixed") == "ok"
    assert verdict(graph(wrong, shape), "buffer", "fixed", without_fix=("reduction-epilogue",)) != "ok"
    assert verdict(graph(right, shape_of_right), "buffer", "fixed", without_fix=("reduction-epilogue",)) == "ok"
