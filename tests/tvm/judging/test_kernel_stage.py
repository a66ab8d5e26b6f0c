"""A kernel that computes something else than its PrimFunc: the schedule changed that, or what comes behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from operators import OPERATORS, graph, op

pytest.importorskip("tvm")

import adreno_sim
from adreno_sim.compiler.check.judging.device_stage import DEVICE
from adreno_sim.compiler.check.whole_model import kernel_stage
from adreno_sim.compiler.check.whole_model.kernel_stage import GENERATED, SCHEDULED
from adreno_sim.compiler.passes import registry
from adreno_sim.compiler.passes.base import ALL_VERSIONS, SCHEDULE, Fix, before_first
from adreno_sim.compiler.tvm_bridge.rewrite import map_nodes
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

pytestmark = pytest.mark.tvm

ROWS = (4, 12)


def wrong_value(module: Any, device: Any, **options: Any) -> str:
    """What the one wrong value of a check says."""
    report = adreno_sim.check(module, device=device, target="buffer", allow=[], **options)
    (message,) = [finding.message for finding in report.findings if finding.kind.label == "wrong-value"]
    return message


@pytest.mark.parametrize(
    ("name", "fix", "stage"),
    [("conv2d_of_one_channel", "one-term-reduction", SCHEDULED), ("conv2d_blocks", "reduction-epilogue", GENERATED)],
)
def test_the_stage_of_a_known_defect(name: str, fix: str, stage: str, adreno: Any) -> None:
    """TVM writes what follows a sum of one term into both of its statements; it cuts an array down to what a work-item wrote."""
    message = wrong_value(OPERATORS[name](), adreno, without_fix=(fix,))
    assert f"; {stage}; still wrong in float64" in message


def schedule_wrongly(module: Any, _ctx: Any) -> Any:
    """A schedule rule that takes the first function's maximum for a minimum."""
    tirx = import_tvm().tirx
    for var, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc) and "max" in str(var.name_hint):
            body = map_nodes(function.body, "Max", lambda node: tirx.Min(node.a, node.b))
            module.update_func(var, function.with_body(body))
    return module


def test_a_reference_of_the_callers_says_nothing_of_stages(adreno: Any) -> None:
    """Its PrimFunc means something else than it before any stage."""
    module = graph(lambda x: op.maximum(x, op.multiply(x, x)), ROWS)
    message = wrong_value(module, adreno, references={"fused_multiply_maximum": lambda x, y: [None, x + 9]})
    assert SCHEDULED not in message
    assert GENERATED not in message


@pytest.mark.parametrize("found", [SCHEDULED, ""])
def test_a_wrong_schedule_rule(found: str, adreno: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a stage is not to be found nothing is said of it."""
    rule = import_tvm().transform.module_pass(schedule_wrongly, opt_level=0, name=SCHEDULE)
    fix = Fix("wrong-rule", ALL_VERSIONS, "wrong", relax=lambda passes, _target: before_first(passes, SCHEDULE, rule))
    monkeypatch.setattr(registry, "FIXES", (*registry.FIXES, fix))
    if not found:
        monkeypatch.setattr(kernel_stage, "_evaluate", lambda *given: [])
    message = wrong_value(graph(lambda x: op.maximum(x, op.multiply(x, x)), ROWS), adreno)
    assert (f"; {SCHEDULED}" in message) == bool(found)
    assert GENERATED not in message


@pytest.mark.parametrize("fault", ["driver", "schedule"])
def test_what_only_a_real_device_has_wrong(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that reads max as min; a schedule that does so, which any device follows. Here it is called real."""
    device = adreno_sim.open_device("sim:adreno-740", checks="bounds")
    monkeypatch.setattr(device, "info", replace(device.info, profile=None))
    build, fixes = device.build, registry.FIXES
    if fault == "driver":
        monkeypatch.setattr(device, "build", lambda source, options="": build(source.replace("max(", "min("), options))
    else:
        rule = import_tvm().transform.module_pass(schedule_wrongly, opt_level=0, name=SCHEDULE)
        fix = Fix("wrong-rule", ALL_VERSIONS, "wrong", relax=lambda passes, _target: before_first(passes, SCHEDULE, rule))
        monkeypatch.setattr(registry, "FIXES", (*fixes, fix))
    message = wrong_value(graph(lambda x: op.maximum(x, op.multiply(x, x)), ROWS), device)
    assert (f"; {DEVICE}" in message) == (fault == "driver")
    assert (SCHEDULED in message) == (fault == "schedule")
