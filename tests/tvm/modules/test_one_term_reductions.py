"""Sums of one term, and what follows them: with the fix each is right, and stays one kernel; without it TVM applies it twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from operators import graph, op, weight

from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.passes.kernels.one_term_reduction import make_elementwise
from adreno_sim.compiler.tvm_bridge.versions import import_tvm, tvm_series

pytestmark = pytest.mark.tvm

Body = Callable[[Any], Any]


def packed_twice(x: Any, terms: int) -> Any:
    """Between two convolutions, one in which the lanes of a texel read two lanes of another one."""
    inner = op.add(op.nn.conv2d(op.nn.conv2d(x, weight(8, 8, 1, 1)), weight(16, 1, 1, terms), groups=8), weight(1, 16, 1, 1))
    return op.nn.conv2d(inner, weight(8, 16, 1, 1))


CASES: dict[str, tuple[Body, Body, tuple[int, ...], tuple[int, ...]]] = {
    "conv2d": (
        lambda x: op.add(op.nn.conv2d(x, weight(8, 1, 1, 1)), weight(1, 8, 1, 1)),
        lambda x: op.add(op.nn.conv2d(x, weight(8, 2, 1, 1)), weight(1, 8, 1, 1)),
        (1, 1, 9, 7), (1, 2, 9, 7),
    ),
    "depthwise": (
        lambda x: op.add(op.nn.conv2d(x, weight(8, 1, 1, 1), groups=8), weight(1, 8, 1, 1)),
        lambda x: op.add(op.nn.conv2d(x, weight(8, 1, 1, 2), groups=8), weight(1, 8, 1, 1)),
        (1, 8, 9, 7), (1, 8, 9, 7),
    ),
    "multiplier": (lambda x: packed_twice(x, 1), lambda x: packed_twice(x, 2), (1, 8, 9, 7), (1, 8, 9, 7)),
    "matmul": (
        lambda x: op.nn.silu(op.add(op.matmul(x, weight(1, 12)), weight(12))),
        lambda x: op.nn.silu(op.add(op.matmul(x, weight(2, 12)), weight(12))),
        (5, 1), (5, 2),
    ),
    "linear": (
        lambda x: op.nn.relu(op.add(op.linear(x, weight(12, 1)), weight(12))),
        lambda x: op.nn.relu(op.add(op.linear(x, weight(12, 2)), weight(12))),
        (5, 1), (5, 2),
    ),
    "rope": (
        lambda x: op.cos(op.matmul(op.expand_dims(x, [1]), weight(1, 16))),
        lambda x: op.cos(op.matmul(x, weight(2, 16))),
        (10,), (10, 2),
    ),
    "max_pool2d": (
        lambda x: op.exp(op.nn.max_pool2d(x, (1, 1), strides=(2, 2))),
        lambda x: op.exp(op.nn.max_pool2d(x, (1, 2), strides=(2, 2))),
        (1, 8, 9, 7), (1, 8, 9, 7),
    ),
    "mean_in_variance": (
        lambda x: op.exp(op.add(op.variance(op.expand_dims(x, [1]), axis=[1]), x)),
        lambda x: op.exp(op.variance(x, axis=[1])),
        (5, 7), (5, 2, 7),
    ),
}  # fmt: skip
"""Operator -> a reduction of one term, the same of two, and the shapes of their inputs."""


@pytest.mark.share(2.5)
@pytest.mark.parametrize("name", CASES)
def test_what_follows_is_applied_once(name: str, verdict: Callable[..., str]) -> None:
    one, two, shape, shape_of_two = CASES[name]
    assert verdict(graph(one, shape), "buffer", "fixed") == verdict(graph(one, shape), "texture", "fixed") == "ok"
    if name != "mean_in_variance":  # whose mean TVM applies twice to no effect
        assert verdict(graph(one, shape), "buffer", "fixed", without_fix=("one-term-reduction",)).startswith("wrong-value")
    assert verdict(graph(two, shape_of_two), "buffer", "fixed", without_fix=("one-term-reduction",)) == "ok"


def test_it_stays_one_kernel() -> None:
    one, _, shape, _ = CASES["matmul"]
    assert len(extract(lower(graph(one, shape), "buffer")).kernels) == 1


SCRIPT = """
@T.prim_func(private=True, s_tir=True)
def function(a: T.Buffer((4, {terms}), "float32"), b: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, {terms}):
        with T.sblock("sum"):
            v_i, v_k = T.axis.remap("SR", [i, k])
            with T.init():
                b[v_i] = T.float32(3)
            {body}
"""

SUM = "b[v_i] = b[v_i] + a[v_i, v_k]"


@pytest.mark.skipif(tvm_series() != "0.27", reason="TVMScript as 0.27 reads it")
@pytest.mark.parametrize(
    ("terms", "body", "changed"),
    [(1, SUM, True), (2, SUM, False), (1, f"{SUM}\n            b[v_i] = b[v_i] * a[v_i, v_k]", False),
     (1, "for again in range(2):\n                " + SUM, False)],
)  # fmt: skip
def test_what_begins_is_put_in_where_it_is_read_once(terms: int, body: str, changed: bool) -> None:
    tvm = import_tvm()
    function = tvm.script.from_source(SCRIPT.format(terms=terms, body=body))
    module = make_elementwise()(tvm.IRModule({"function": function}))
    assert ("T.init()" not in module.script()) == changed
    given, results = tvm.runtime.tensor(np.arange(4 * terms, dtype="float32").reshape(4, terms)), []
    for each in (module["function"], function):
        result = tvm.runtime.tensor(np.zeros(4, "float32"))
        alone = tvm.IRModule({"function": each.with_attr("global_symbol", "function")})
        tvm.compile(alone, target="llvm")["function"](given, result)
        results.append(result.numpy().tolist())
    assert results[0] == results[1]
