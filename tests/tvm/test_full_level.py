"""Level full on TVM's kernels: nothing to say of the fixed pipeline; the stock one's texture stores overwrite each other."""

from __future__ import annotations

from typing import Any

import pytest
from operators import OPERATORS
from test_operators import NOT_IN

import adreno_sim
from adreno_sim.compiler.tvm_bridge.versions import tvm_series
from adreno_sim.device.protocol import Device
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm

SAMPLE = [("conv2d", "texture"), ("softmax", "buffer")]


@pytest.fixture(scope="module")
def full() -> Device:
    return adreno_sim.open_device("sim:adreno-740", checks="full", timeout=600)


def check(name: str, target: str, device: Device, pipeline: str) -> Any:
    reason = NOT_IN.get((tvm_series(), name))
    if reason is not None:
        pytest.skip(reason)
    return adreno_sim.check(OPERATORS[name](), device=device, target=target, pipeline=pipeline, keep_going=True)


def check_silent(name: str, target: str, device: Device) -> None:
    report = check(name, target, device, "fixed")
    assert report.ok, str(report)
    assert report.checks == "full", str(report)
    assert not [f for f in report.findings if f.severity > Severity.NOTE], str(report)


@pytest.mark.parametrize("name, target", SAMPLE)
def test_nothing_is_found_in_the_fixed_pipeline(name: str, target: str, full: Device) -> None:
    check_silent(name, target, full)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["buffer", "texture"])
@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_is_found_in_any_operator(name: str, target: str, full: Device) -> None:
    check_silent(name, target, full)


@pytest.mark.skipif(tvm_series() == "0.25", reason="TVM 0.25 stores texels whole")
def test_the_texture_stores_of_the_stock_pipeline_overwrite_each_other(full: Device) -> None:
    report = check("conv2d", "texture", full, "stock")
    assert "store-overwritten" in {finding.kind.label for finding in report.findings}, str(report)
