"""Operators of OpenCL ML: each partitions, runs and agrees with TVM llvm; what the runtime refuses stays in kernels."""

from __future__ import annotations

import clml_modules as modules
import pytest

import adreno_sim
from adreno_sim.compiler.clml.partition import Offload
from adreno_sim.mlops.policy import OffloadPolicy
from adreno_sim.profiles.ml import NEWEST, MLCapabilities

pytestmark = pytest.mark.tvm


@pytest.mark.share(5)
@pytest.mark.parametrize("name", modules.OPERATORS)
def test_operator_is_offloaded_and_right(name, adreno):
    expected, make = modules.OPERATORS[name]
    report = adreno_sim.check(make(), device=adreno, target="clml", clml_min_flops=0)
    assert report.ok, str(report)
    assert [operator for graph in report.subgraphs for operator in graph.operators] == expected
    assert report.kept == []
    assert [row.name for row in report.kernels] == [graph.name for graph in report.subgraphs]
    assert all(row.status == "ok" for row in report.kernels)
    assert all(output.ok for output in report.outputs)


@pytest.mark.parametrize("name", modules.REFUSED)
def test_refused_operator_is_not_offloaded(name):
    words, make = modules.REFUSED[name]
    offload = Offload(OffloadPolicy(capabilities=MLCapabilities(version=NEWEST), min_flops=0))
    offload.partition(make())
    assert not any(decision.offloaded for decision in offload.decisions)
    assert any(words in decision.reason for decision in offload.decisions), offload.decisions


@pytest.mark.parametrize("name", ["sine", "broadcast", "softmax over rows"])
def test_refused_operator_runs_in_kernels(name, adreno):
    words, make = modules.REFUSED[name]
    report = adreno_sim.check(make(), device=adreno, target="clml", clml_min_flops=0)
    assert report.ok, str(report)
    assert report.subgraphs == [], report.kept
    assert any(words in kept.reason for kept in report.kept), report.kept


def test_old_interface_has_fewer_operators():
    _, make = modules.OPERATORS["clip"]
    report = adreno_sim.check(make(), device="sim:adreno-740,ml_interface=1", target="clml", clml_min_flops=0)
    assert report.ok
    assert not report.subgraphs
    assert "takes interface version 2, the device has 1" in report.kept[0].reason


HALF = [
    "conv2d + bias + relu", "transposed, padded + bias + relu", "max_pool2d", "avg_pool2d", "softmax, channels", "dense + bias",
    "add", "divide", "concatenate",
]  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize("accumulate", ["float32", "float16"])
@pytest.mark.parametrize("name", HALF)
def test_operator_in_half(name, accumulate, adreno):
    """Each subgraph within 2^-8 of its rms of TVM llvm on the same halves: sums in half are rounded in TVM's order.

    The whole model is judged against float32, which sums in half need not be near to.
    """
    _, make = modules.OPERATORS[name]
    report = adreno_sim.check(make(), device=adreno, target="clml", clml_min_flops=0, dtype="float16", accumulate=accumulate)
    assert report.ok or accumulate == "float16", str(report)
    halves = [row for row in report.kernels if row.name.startswith("clml_")]
    assert halves
    assert all(row.status in ("ok", "vacuous") for row in halves)


def test_sums_in_float32_are_asked_for_in_the_graph():
    from adreno_sim.compiler.compile import compile_model
    from adreno_sim.mlops.graph import parse

    for accumulate, expected in (("float32", "float32"), ("float16", None)):
        model = compile_model(
            modules.OPERATORS["conv2d + bias + relu"][1](),
            target="clml",
            clml_min_flops=0,
            dtype="float16",
            accumulate=accumulate,
        )
        (code,) = model.graphs.values()
        (_, node), *_ = parse(code.source).of("kernel")
        assert node.dtype == "float16"
        assert node.attrs.get("accumulate") == expected
