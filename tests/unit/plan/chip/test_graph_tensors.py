"""Subgraphs of OpenCL ML in the plan of a program: steps, what a device makes of them, what audits and bundles refuse."""

from dataclasses import replace

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.memory_plan import ON_CHIP
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.artifact.validate import validate
from adreno_sim.compiler.plan.apply import replan
from adreno_sim.compiler.plan.audit import audit
from adreno_sim.compiler.plan.chip.planner import place_on_chip
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.footprint import measure
from adreno_sim.compiler.plan.graph_tensors import with_graph_tensors
from adreno_sim.compiler.plan.graphs import graph_plans
from adreno_sim.compiler.plan.measured.peak import measure_peak
from adreno_sim.compiler.plan.plan_file import plan_from_json, plan_to_json, read_plan, write_plan
from adreno_sim.compiler.plan.replan import plan_of
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run.rehearsal import Rehearsal
from adreno_sim.compiler.run.vm import VirtualMachine, run
from adreno_sim.findings import Kind
from adreno_sim.profiles.profile import load

from .programs import evaluate, make

RULES = DeviceRules.of_profile(load("adreno-740"))
SEED = 6
"""A program with kernels around subgraphs that use on-chip memory."""


@pytest.fixture(scope="module")
def program():
    return make(SEED)


@pytest.fixture(scope="module")
def steps(program):
    return with_graph_tensors(program.model, RULES.ml)


def body(model):
    return model.functions["main"].body


def changed(model, change):
    main = model.functions["main"]
    return replace(model, functions={"main": replace(main, body=tuple(j for i in main.body for j in change(i)))}, plan=None)


def kinds(model, rules=RULES):
    return {finding.kind for finding in audit(extract_plan(model), rules).findings}


def test_a_call_becomes_steps_on_tensors(program, steps):
    calls = [i for i in body(program.model) if isinstance(i, v.CallHost) and i.function.startswith("clml")]
    assert calls
    assert not [i for i in body(steps) if isinstance(i, v.CallHost) and i.function.startswith("clml")]
    ends = [i for i in body(steps) if isinstance(i, v.RunStep) and i.args]
    assert [i.args for i in ends[::2]] == [i.args for i in ends[1::2]] == [call.args for call in calls]
    validate(steps)
    assert with_graph_tensors(steps, RULES.ml) is steps
    assert kinds(steps) == set()
    plan = extract_plan(steps)
    assert {s.planned_bytes for s in plan.storages if s.id.startswith("clml_buffer")} == {
        nbytes for graph in graph_plans(program.model, RULES.ml) for nbytes in graph.plan.buffers.values()
    }


@pytest.mark.parametrize("planner", ["as compiled", "arena", "unified"])
def test_the_peak_is_what_a_run_takes(program, steps, planner):
    footprint = measure(
        extract_plan(steps), RULES, ["arena", "unified"], graphs=graph_plans(program.model, RULES.ml), model=steps
    )
    row = next(row for row in footprint.rows if row.planner == planner)
    measured = measure_peak(steps, footprint.of(planner), RULES, open_device("sim:adreno-740"))
    assert row.peak == measured
    assert row.on_chip > 0
    assert row.on_chip_traffic > 2 * row.on_chip


def test_planners_take_less_than_both_plans_apart(steps):
    rows = {row.planner: row for row in measure(extract_plan(steps), RULES, ["arena", "arena-onchip"], model=steps).rows}
    assert rows["arena-onchip"].total <= rows["arena"].total < rows["as compiled"].total
    assert rows["arena-onchip"].peak <= rows["arena"].peak < rows["as compiled"].peak
    assert rows["arena-onchip"].on_chip_traffic > rows["arena"].on_chip_traffic == rows["as compiled"].on_chip_traffic


def test_a_bundle_and_a_plan_file_keep_what_is_placed(program, tmp_path):
    placed = replan(program.model, "arena-onchip", RULES)
    placed.save(tmp_path / "model.asim")
    loaded = CompiledModel.load(tmp_path / "model.asim")
    assert loaded.functions == placed.functions
    assert loaded.plan == placed.plan
    assert placed.plan.summary.on_chip > 0
    assert plan_from_json(plan_to_json(placed.plan), "plan") == placed.plan
    x = program.input()
    got = run(loaded, [x], open_device("sim:adreno-740", checks="full"))
    assert all(np.array_equal(one, other) for one, other in zip(got, evaluate(program.model, x), strict=True))


def test_plans_as_data_are_placed_again(program, steps, tmp_path):
    """A plan in a file stands for its model: with the recordings that it names, by every planner, and as a plan of the model."""
    placed = replan(program.model, "arena-onchip", RULES)
    path = tmp_path / "plan.json"
    write_plan(path, placed.plan)
    footprint = measure(read_plan(path), RULES, ["arena", "arena-onchip"])
    assert [row.skipped for row in footprint.rows] == ["", "", ""]
    assert not footprint.findings
    assert [row.on_chip_traffic for row in footprint.rows] == [footprint.rows[0].on_chip_traffic] * 3
    assert footprint.rows[0].on_chip
    allocation = place_on_chip(steps, RULES, "arena-onchip")
    write_plan(path, plan_of(allocation, extract_plan(steps)))
    (_, row) = measure(extract_plan(steps), RULES, [str(path)], model=steps).rows
    assert not row.violations
    assert not row.skipped
    assert row.total == allocation.total
    bare = replace(extract_plan(program.model), recordings=())
    assert "give the model itself" in measure(bare, RULES, ["arena-onchip"]).rows[1].skipped


def test_what_the_chip_does_not_allow_is_found(program):
    placed = replan(program.model, "arena-onchip", RULES)
    assert kinds(placed) == set()
    unrecorded = changed(placed, lambda i: () if isinstance(i, (v.BeginRecording, v.EndRecording)) else (i,))
    assert kinds(unrecorded) == {Kind.ON_CHIP_LOST}
    small = DeviceRules.of_profile(load("adreno-740").with_values({"ONCHIP_GLOBAL_MEM_SIZE": 128}))
    assert kinds(placed, small) == {Kind.LIMIT_EXCEEDED}
    assert kinds(placed, DeviceRules.of_profile(load("adreno-640"))) >= {Kind.LIMIT_EXCEEDED}
    chips = {i.dst for i in body(placed) if isinstance(i, v.AllocStorage) and i.scope == ON_CHIP}
    stacked = changed(placed, lambda i: (replace(i, offset=0),) if isinstance(i, v.AllocTensor) and i.storage in chips else (i,))
    assert Kind.STORAGE_REUSED_LIVE in kinds(stacked)


def test_lost_contents_show_in_a_run(program):
    """Without its recordings the program computes with what is lost; with them it is right."""
    placed = replan(program.model, "arena-onchip", RULES)
    unrecorded = changed(placed, lambda i: () if isinstance(i, (v.BeginRecording, v.EndRecording)) else (i,))
    x, device = program.input(), open_device("sim:adreno-740", checks="full")
    assert not np.isnan(np.concatenate(run(placed, [x], device))).any()
    assert np.isnan(np.concatenate(run(unrecorded, [x], device))).any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda i: replace(i, step=99), "has no step 99"),
        (lambda i: replace(i, reads=()), "and its tensors differ"),
        (lambda i: replace(i, function="plus_200"), "which is not a subgraph|unknown"),
        (lambda i: replace(i, writes=(v.Reg("nobody"),)), "unknown register"),
    ],
)
def test_steps_that_do_not_fit_are_refused(steps, change, words):
    first = next(i for i in body(steps) if isinstance(i, v.RunStep) and not i.args)
    with pytest.raises(AdrenoSimError, match=words):
        validate(changed(steps, lambda i: (change(i),) if i is first else (i,)))


def test_a_step_without_its_first_one(program, steps):
    device = open_device("sim:adreno-740")
    broken = changed(steps, lambda i: () if isinstance(i, v.RunStep) and i.step == 0 else (i,))
    with pytest.raises(AdrenoSimError, match="whose first step did not run"):
        run(broken, [program.input()], device)
    assert device.pool_stats().used == 0
    assert not device.on_chip.in_use


def test_a_rehearsal_of_recordings_notes_their_launches():
    """What compiles machine code ahead of a run follows a program that uses the chip."""
    program = next(found for found in map(make, range(40)) if not found.model.graphs)
    placed = replan(program.model, "arena-onchip", RULES)
    rehearsal = Rehearsal(open_device("sim:adreno-740"))
    with VirtualMachine(placed, rehearsal) as machine:
        machine.run([program.input()])
    launches = [i for i in body(placed) if isinstance(i, v.CallHost)]
    assert placed.plan.summary.on_chip
    assert [noted.kernel for noted in rehearsal.noted] == ["plus"] * len(launches)
