"""The report of a check before its model runs: what is checked, and its memory plan."""

from __future__ import annotations

from ....findings import Finding, Kind
from ....results.model import Report
from ...artifact.memory_plan import MemoryPlan
from ...plan.audit import audit
from ...plan.rules import DeviceRules
from ..evidence.arrays import describe_input
from ..prepare import PreparedRun
from .context import CheckContext

INFLATED = 1.1
"""planned / right bytes from which a memory plan is reported as inflated."""

UNIT = 128
"""Bytes that the size of a storage may be rounded up to: addresses of tensors are multiples of it."""


def begin_report(context: CheckContext, ready: PreparedRun) -> Report:
    """The report of a model that is ready to run, its plan audited."""
    compiled, options = ready.compiled, context.options
    report = Report(
        model=compiled.name,
        target=compiled.target,
        pipeline=compiled.pipeline,
        fixes=compiled.fixes,
        tuned=ready.tuned,
        scopes=ready.scopes,
        device=context.device.info.name,
        checks=context.device.options.checks,
        seed=options.seed,
        tvm_version=compiled.tvm_version,
        kernels_in_model=len(compiled.kernels) + len(compiled.graphs),
        strict=options.strict,
        inputs=[describe_input(name, array, ready.origin) for name, array in ready.arrays.items()],
    )
    if compiled.plan is not None:
        report.plan = compiled.plan.summary
        with context.stage("plan"):
            _audit_plan(context, report, compiled.plan)
    else:
        context.unchecked.append("memory plan: input shapes are symbolic")
    return report


def _audit_plan(context: CheckContext, report: Report, whole: MemoryPlan) -> None:
    planner = context.options.plan
    audited = audit(whole, DeviceRules.of_device(context.device), planner or "tvm")
    report.planner, report.plan_causes = planner or "", audited.causes
    context.findings.add(audited.findings)
    context.audited = {finding.kind for finding in audited.findings}
    plan = report.plan
    if plan is not None and plan.inflation > INFLATED and plan.planned - plan.right > plan.storages * UNIT:
        message = (
            f"{plan.planned:,} bytes planned, {plan.right:,} with right texture sizes ({plan.inflation:.2f}x); "
            f"live lower bound {plan.live_lower_bound:,}"
        )
        context.findings.add([Finding(Kind.PLAN_INFLATED, message)])
