"""Products with weights in four bits: the pattern of language models."""

from __future__ import annotations

import clml_modules as modules
import numpy as np
import pytest

import adreno_sim
from adreno_sim.compiler.clml.partition import Offload
from adreno_sim.mlops.policy import OffloadPolicy
from adreno_sim.profiles.ml import NEWEST, MLCapabilities

pytestmark = pytest.mark.tvm


def _inputs():
    rng = np.random.default_rng(2)
    return {
        "x": rng.uniform(-1, 1, (1, 3, 64)).astype(np.float16),
        "w": rng.integers(0, 1 << 32, (8, 16), dtype=np.uint32),
        "s": rng.uniform(0.01, 0.1, (2, 16)).astype(np.float16),
    }


def test_packed_product_runs_and_agrees():
    device = adreno_sim.open_device("sim:adreno-830")
    report = adreno_sim.check(modules.packed_product(), _inputs(), device=device, target="clml", clml_min_flops=0)
    assert report.ok, str(report)
    assert [graph.operators for graph in report.subgraphs] == [("dequant_matmul",)], str(report)
    assert (report.subgraphs[0].bound, report.subgraphs[0].copies_in) == (4, 0)


def test_older_interface_keeps_it_in_kernels(adreno):
    report = adreno_sim.check(modules.packed_product(), _inputs(), device=adreno, target="clml", clml_min_flops=0)
    assert report.ok
    assert not report.subgraphs


def test_another_way_of_unpacking_is_not_offloaded():
    for middle, offloaded in ((7, True), (8, False)):
        offload = Offload(OffloadPolicy(capabilities=MLCapabilities(version=NEWEST), min_flops=0))
        offload.partition(modules.packed_product(middle))
        assert any(decision.offloaded for decision in offload.decisions) == offloaded
