"""Every operator of the table: the fixed pipeline is right, the stock one is as recorded; on one target each, the stock one for a
third of them, unless slow ones run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from operators import OPERATORS

import adreno_sim
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytestmark = pytest.mark.tvm

TARGETS = ("buffer", "texture")

NOT_IN = {("0.25", "dropout"): "TVM 0.25 has no legalisation of dropout at all"}
"""Operators that a TVM series cannot compile for any target."""


def build(name: str) -> Any:
    reason = NOT_IN.get((tvm_series(), name))
    if reason is not None:
        pytest.skip(reason)
    return OPERATORS[name]()


def test_the_table_is_large() -> None:
    assert len(OPERATORS) >= 30


@pytest.mark.share(8)
@pytest.mark.each_value
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OPERATORS)
def test_fixed(name: str, target: str, adreno: Any) -> None:
    report = adreno_sim.check(build(name), device=adreno, target=target, pipeline="fixed")
    assert report.ok, str(report)
    assert report.kernels, str(report)
    assert {kernel.status for kernel in report.kernels} <= {"ok", "part"}, str(report)


@pytest.mark.share(5)
@pytest.mark.each_value
@pytest.mark.parametrize("target", TARGETS[::-1])  # for each operator the one that the fixed pipeline was not tried on
@pytest.mark.parametrize("name", [pytest.param(o, marks=[pytest.mark.slow] * (n % 3 > 0)) for n, o in enumerate(OPERATORS)])
def test_stock(name: str, target: str, verdict: Callable[..., str], snapshot: Callable[[str, str, object], None]) -> None:
    snapshot(f"operators-stock-{tvm_series()}", f"{name} {target}", verdict(build(name), target, "stock"))
