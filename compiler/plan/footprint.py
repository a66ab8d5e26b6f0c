"""What a model's memory plan takes, and what other planners would: the figures behind `adreno-sim footprint`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError, UnsupportedError
from ...base.version import __version__
from ...findings import Finding
from ...records import dataclass
from ...results.encode import finding_to_json
from ..artifact.memory_plan import MemoryPlan
from ..artifact.model import CompiledModel
from . import planners
from .allocation import Allocation
from .apply import read_allocation
from .audit import audit
from .chip.planner import chip_problem, fill_chip, place_on_chip, recordable_plan
from .compare import PlannerResult, row
from .extract import live_lower_bound
from .graphs import GraphPlan
from .order.planner import in_order, place_reordered
from .peak import find_peak
from .plan_file import SCHEMA as PLAN_SCHEMA
from .plan_file import is_saved_module, plan_from_json, plan_to_json, read_object
from .problem import Problem
from .replan import AS_COMPILED, allocation_of, plan_of, with_rules
from .rules import DeviceRules, spec_of
from .trace import SCHEMA as TRACE_SCHEMA
from .trace import read as read_trace

if TYPE_CHECKING:
    from .advice.advice import Advice

SCHEMA = "adreno-sim/footprint/1"

PRECISE = "optimal"
"""The planner that may take minutes: `all` leaves it out."""


@dataclass(frozen=True)
class Footprint:
    """Plans of one set of tensors side by side.

    plan: None for a trace, which has no storages yet. rows, allocations: in the same order; an allocation is None if
    its row says why it was skipped. rule: how sizes were computed. findings: of the audit of `plan` as compiled.
    graphs: plans of the tensors inside subgraphs for OpenCL ML, which `problem` does not contain. reordered: the plan in the
    order of execution that a planner chose, where one did. advice: about `plan`, where it was asked for.
    command: the command line that runs the model as it was given; "" if there is no model. target: of the model, in TVM's words.
    """

    source: str
    rule: str
    problem: Problem
    rows: tuple[PlannerResult, ...]
    allocations: tuple[Allocation | None, ...]
    plan: MemoryPlan | None = None
    findings: tuple[Finding, ...] = ()
    graphs: tuple[GraphPlan, ...] = ()
    reordered: MemoryPlan | None = None
    advice: Advice | None = None
    command: str = ""
    target: str = ""

    @property
    def planned_rows(self) -> list[PlannerResult]:
        """Of the planners that gave a plan."""
        return [row for row in self.rows if not row.skipped]

    @property
    def smallest(self) -> Allocation | None:
        """The valid allocation with the fewest bytes that fits, else that does not, the first of equals; None without any."""
        pairs = [(r, a) for a, r in zip(self.allocations, self.rows, strict=True) if a is not None and not r.violations]
        return min(pairs, key=lambda pair: (not pair[0].fits, pair[1].total))[1] if pairs else None

    def of(self, planner: str) -> Allocation:
        """The allocation of a planner. Raises AdrenoSimError if it did not run or gave no plan."""
        for allocation, line in zip(self.allocations, self.rows, strict=True):
            if line.planner == planner:
                if allocation is None:
                    raise AdrenoSimError(f"planner {planner}: {line.skipped}")
                return allocation
        raise AdrenoSimError(f"planner {planner!r} is not among those compared: {', '.join(r.planner for r in self.rows)}")

    def plan_with(self, allocation: Allocation) -> MemoryPlan:
        """The plan in which the tensors lie as the allocation says, in its order of execution."""
        return plan_of(allocation, self.reordered if allocation.problem.order else self.plan)

    def as_json(self) -> dict[str, Any]:
        """JSON-ready data of schema adreno-sim/footprint/1."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "source": self.source,
            "rule": self.rule,
            "target": self.target,
            "tensors": len(self.problem.items),
            "lower_bound": self.problem.lower_bound(),
            "planners": [line.as_dict() for line in self.rows],
            "summary": None if self.plan is None else asdict(self.plan.summary),
            "lives": [
                {"id": i.id, "size": i.size, "dense": i.dense or i.size, "start": i.start, "end": i.end, "scope": i.scope}
                | {"shape": list(i.shape), "dtype": i.dtype, "left_alone": i.left_alone}
                for i in self.problem.items
            ],
            "plan": None if self.plan is None else plan_to_json(self.plan),
            "findings": [finding_to_json(finding) for finding in self.findings],
            "graphs": [graph.as_json() for graph in self.graphs],
        } | ({} if self.advice is None else {"advice": self.advice.as_json() | {"next": self.next_step()}})

    def next_step(self) -> dict[str, Any]:
        """The planner with the least bytes, its total, savings, peak of a run, and command; empty where that is no less than as
        compiled."""
        best, runs = self.smallest, self.rows[0]
        if best is None or self.plan is None or best.total >= runs.total:
            return {}
        saves = runs.total - best.total
        step: dict[str, Any] = {"planner": best.planner, "total": best.total, "saves": saves}
        row = next((row for row in self.rows if row.planner == best.planner), None)
        if row is not None and row.peak and runs.peak:
            step |= {"peak": row.peak, "peak_before": runs.peak}
        return step | ({"command": f"{self.command} --plan {best.planner}"} if self.command else {})


def planner_names(text: str) -> list[str]:
    """Planners from a comma-separated list; "all" = all but the one that takes minutes. AdrenoSimError for unknown ones."""
    names: list[str] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        names += [known for known in planners.names() if known != PRECISE] if name == "all" else [name]
    for name in names:
        planners.require_installed(name)
    if not names:
        raise AdrenoSimError("no planner named: expected all, or some of " + ", ".join(planners.names()))
    return list(dict.fromkeys(names))


def measure(
    source: MemoryPlan | Problem,
    rules: DeviceRules,
    names: Sequence[str],
    title: str = "",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    graphs: tuple[GraphPlan, ...] = (),
    model: CompiledModel | None = None,
) -> Footprint:
    """Run the planners `names` on the tensors of a plan (its own allocation comes first), or on an unchanged problem.

    names: a plan file (.json) instead of a planner is read. options: planner -> its own options. graphs: of `model`, whose
    plan it is; planners that choose an order of execution need it. A planner that cannot take the problem, or is not installed,
    gets a row that says so.
    """
    options = options or {}
    runs: list[tuple[str, Allocation | str]] = []
    plan = None
    if isinstance(source, MemoryPlan):
        plan = with_rules(source, rules)
        problem = rules.problem(plan)
        runs.append((AS_COMPILED, allocation_of(plan, problem)))
    else:
        problem = source
    reordered = None
    for name in names:
        if planners.uses_chip(name) and plan is not None:
            result = _place_on_chip(name, model, plan, rules)
        elif name.endswith(".json") and plan is not None:
            known = plan if model is None else recordable_plan(model)
            result = _run(name, rules.problem(with_rules(known, rules), chip=True), {})
        elif planners.places(name) and model is not None and plan is not None:
            result, other = _reorder(name, model, rules)
            reordered = other or reordered
        else:
            result = _run(name, problem, options.get(name, {}))
        runs.append((name, result))
    rows = [PlannerResult(name, skipped=result) if isinstance(result, str) else _judge(result, rules) for name, result in runs]
    if plan is not None:
        given = plan, graphs
        moved = given if reordered is None or model is None else (reordered, in_order(graphs, model, reordered.order))
        rows = [
            line if isinstance(result, str) else _with_run(line, result, rules, *(moved if result.problem.order else given))
            for line, (_, result) in zip(rows, runs, strict=True)
        ]
    allocations = tuple(None if isinstance(result, str) else result for _, result in runs)
    rule = rules.text if plan is not None else "sizes as given"
    findings = () if plan is None else audit(plan, rules).findings
    target = "" if model is None else model.target
    name = title or problem.name
    return Footprint(name, rule, problem, tuple(rows), allocations, plan, findings, graphs, reordered, target=target)


def _reorder(name: str, model: CompiledModel, rules: DeviceRules) -> tuple[Allocation | str, MemoryPlan | None]:
    """What a planner answers that chooses an order; and the plan in that order, where it is not as compiled."""
    try:
        allocation, plan = place_reordered(model, rules, name)
    except AdrenoSimError as error:
        return str(error), None
    return allocation, plan if plan.order else None


def _place_on_chip(name: str, model: CompiledModel | None, plan: MemoryPlan, rules: DeviceRules) -> Allocation | str:
    """Of a plan without its model, the recordings are those that it names."""
    try:
        if model is None:
            return fill_chip(chip_problem(plan, rules, name), name)
        return place_on_chip(model, rules, name)
    except AdrenoSimError as error:
        return str(error)


def _with_run(
    line: PlannerResult, allocation: Allocation, rules: DeviceRules, plan: MemoryPlan, graphs: tuple[GraphPlan, ...]
) -> PlannerResult:
    """The row with what a run takes besides the tensors."""
    placed = None if allocation.planner == AS_COMPILED else allocation
    whole = plan if placed is None else plan_of(placed, plan)
    chip = [tensor for tensor in whole.tensors if tensor.storage in whole.on_chip]
    return replace(
        line,
        workspace=plan.summary.workspace,
        peak=find_peak(plan, placed, rules, graphs),
        on_chip=live_lower_bound(chip),
        on_chip_tensors=len(chip),
        on_chip_traffic=sum(tensor.dense_bytes * (1 + len(tensor.reads)) for tensor in chip),
    )


def _judge(allocation: Allocation, rules: DeviceRules) -> PlannerResult:
    """The figures of a plan; where the device cannot hold it, its note says why."""
    line = row(allocation, rules.page)
    if not line.fits:
        most = allocation.problem.max_allocation
        known = f"{most:,}{rules.range_text('MAX_MEM_ALLOC_SIZE')}"
        return replace(line, note=f"a storage of {line.largest:,} bytes is above the largest allocation, {known}")
    inside = sum(item.is_texture and bool(at) for item, at in zip(allocation.problem.items, allocation.offsets, strict=True))
    if inside and not rules.image_views:
        why = f"{inside} textures at offsets take images over buffers, which {rules.device} has not (cl_ext_image_from_buffer)"
        return replace(line, fits=False, note=why)
    refused = [why for item in allocation.problem.items if item.shape and (why := rules.refused_pitch(spec_of(item)))]
    if refused:
        return replace(line, fits=False, note=f"{rules.device} refuses the images of {len(refused)} textures, {refused[0]}")
    return line


def _run(name: str, problem: Problem, options: Mapping[str, Any]) -> Allocation | str:
    if name.endswith(".json"):
        return read_allocation(name, problem)
    try:
        return planners.plan(name, problem, **options)
    except (UnsupportedError, AdrenoSimError) as error:
        return str(error)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether `read_source` has nothing to do with the file: it is neither a plan nor a trace. TVM saves modules as .json too."""
    suffix = Path(path).suffix.lower()
    return suffix not in (".csv", ".json") or (suffix == ".json" and is_saved_module(Path(path)))


def read_source(path: str | os.PathLike[str]) -> MemoryPlan | Problem | None:
    """A plan, footprint or trace from a .json file, a trace from a .csv file; None for any other file (a model)."""
    if is_model(path):
        return None
    if Path(path).suffix.lower() == ".csv":
        return read_trace(Path(path))
    data = read_object(path)
    schema = data.get("schema")
    if schema == TRACE_SCHEMA:
        return read_trace(Path(path))
    if schema == SCHEMA and isinstance(data.get("plan"), dict):
        data, schema = data["plan"], PLAN_SCHEMA
    if schema != PLAN_SCHEMA:
        raise AdrenoSimError(f"{path}: schema {schema!r}: expected {PLAN_SCHEMA!r}, {TRACE_SCHEMA!r} or {SCHEMA!r} with a plan")
    return plan_from_json(data, str(path))
