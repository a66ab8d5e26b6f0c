"""Operators of OpenCL ML: each partitions, runs and agrees with TVM llvm; what the runtime refuses stays in kernels."""

from __future__ import annotations

import clml_modules as modules
import pytest

import adreno_sim
from adreno_sim.compiler.clml.partition import Offload
from adreno_sim.mlops.capabilities import NEWEST, MLCapabilities
from adreno_sim.mlops.policy import OffloadPolicy


@pytest.mark.parametrize("name", modules.OPERATORS)
def test_operator_is_offloaded_and_right(name, adreno):
    expected, make = modules.OPERATORS[name]
    report = adreno_sim.check(make(), device=adreno, target="clml", clml_min_flops=0)
    assert report.ok, str(report)
    assert [operator for graph in report.subgraphs for operator in graph.operators] == expected
    assert report.kept == [] and [row.name for row in report.kernels] == [graph.name for graph in report.subgraphs]
    assert all(row.status == "ok" for row in report.kernels) and all(output.ok for output in report.outputs)


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
    assert report.subgraphs == [] and any(words in kept.reason for kept in report.kept), report.kept


def test_old_interface_has_fewer_operators():
    _, make = modules.OPERATORS["clip"]
    report = adreno_sim.check(make(), device="sim:adreno-740,ml_interface=1", target="clml", clml_min_flops=0)
    assert report.ok and not report.subgraphs
    assert "takes interface version 2, the device has 1" in report.kept[0].reason
