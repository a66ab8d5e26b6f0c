"""Plans in another order of execution: fewer bytes, equal outputs, effects in their order, and what is refused."""

from dataclasses import replace

import handmade
import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.model import TensorInfo, TupleInfo
from adreno_sim.compiler.plan import planners
from adreno_sim.compiler.plan.apply import apply, replan
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.footprint import measure
from adreno_sim.compiler.plan.measured.peak import measure_peak
from adreno_sim.compiler.plan.order.graph import step_graph
from adreno_sim.compiler.plan.order.planner import ordered_plan, place_reordered
from adreno_sim.compiler.plan.order.reorder import reorder
from adreno_sim.compiler.plan.plan_file import write_plan
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run import vm
from adreno_sim.compiler.run.observer import Observer
from adreno_sim.profiles.profile import load

RULES = DeviceRules.of_profile(load("adreno-740"))
REORDERED = "arena-reordered"
ROWS = 64
X = np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)

HEAD = h.HostFunction(
    "head",
    (
        h.BufferParam("x", (handmade.N, handmade.const(4)), "float32", access="read"),
        h.BufferParam("y", (handmade.ONE, handmade.const(4)), "float32", access="write"),
    ),
    (
        h.Launch(
            "add_one",
            (h.BufferRef("y"), h.BufferRef("x"), handmade.const(4)),
            (handmade.ONE, handmade.ONE, handmade.ONE),
            (handmade.const(8), handmade.ONE, handmade.ONE),
        ),
    ),
    golden="head",
)
"""y = the first row of x, + 1."""

IN_PLACE = replace(
    handmade.ADD_ONE_HOST, name="in_place", params=tuple(replace(p, access="read_write") for p in handmade.ADD_ONE_HOST.params)
)
"""As add_one, for all that is known writing both."""


class Watching(Observer):
    def __init__(self):
        self.reused = []

    def storage_reused(self, tensor, live, where):
        self.reused.append((tensor, live))


def make(name, rows):
    return [
        v.AllocStorage(f"s_{name}", v.ShapeLiteral((rows * 16,)), "global", "uint8"),
        v.AllocTensor(name, f"s_{name}", 0, v.ShapeLiteral((rows, 4)), "float32", "global"),
    ]


def call(function, source, target):
    return v.CallHost(function, (v.Reg(source), v.Reg(target)))


def results(count):
    return TupleInfo(tuple(TensorInfo(f"output_{n}", (1, 4), "float32") for n in range(count)))


def branches(count=3, function="add_one"):
    """`count` large tensors of x, written all first, and the head of each."""
    body = []
    for n in range(count):
        body += [*make(f"large{n}", ROWS), call(function, "x", f"large{n}")]
    for n in range(count):
        body += [*make(f"head{n}", 1), call("head", f"large{n}", f"head{n}"), v.Kill(f"large{n}")]
    body += [v.MakeTuple("out", tuple(v.Reg(f"head{n}") for n in range(count))), v.Return(v.Reg("out"))]
    hosts = [handmade.ADD_ONE_HOST, HEAD, IN_PLACE]
    return handmade.model([TensorInfo("x", (ROWS, 4), "float32")], results(count), hosts, body)


def run(model):
    watching = Watching()
    with vm.VirtualMachine(model, open_device("sim:adreno-740"), watching) as machine:
        found = machine.run([X])
    assert watching.reused == []
    return found


def test_branches_one_after_the_other_take_less_and_give_the_same():
    model = branches()
    arena = planners.plan("arena", RULES.problem(extract_plan(model)))
    found, plan = place_reordered(model, RULES, REORDERED)
    assert (arena.total, found.total) == (3 * 1024 + 128, 1024 + 3 * 128)
    assert found.violations() == []
    assert found.planner == REORDERED
    assert plan.order != tuple(range(len(plan.order)))
    applied = replan(model, REORDERED, RULES)
    assert applied.plan is not None
    assert applied.plan.summary.planned == found.total
    assert not applied.plan.order
    for one, other in zip(run(model), run(applied), strict=True):
        assert one.tobytes() == other.tobytes()


def test_the_footprint_foretells_the_peak_of_the_run():
    model = branches()
    footprint = measure(extract_plan(model), RULES, ["arena", REORDERED], model=model)
    row, allocation = footprint.rows[-1], footprint.allocations[-1]
    assert (row.planner, row.total, row.ratio) == (REORDERED, 1408, 1.0)
    assert measure_peak(model, allocation, RULES, open_device("sim:adreno-740", checks="off")) == row.peak


def test_a_plan_file_keeps_the_order(tmp_path):
    model = branches()
    footprint = measure(extract_plan(model), RULES, [REORDERED], model=model)
    path = str(tmp_path / "plan.json")
    write_plan(path, footprint.plan_with(footprint.of(REORDERED)))
    applied = replan(model, path, RULES)
    assert applied.plan is not None
    assert applied.plan.summary.planned == 1408
    assert [a.tobytes() for a in run(applied)] == [a.tobytes() for a in run(model)]
    with pytest.raises(AdrenoSimError, match="expected each of the 6 steps"):
        replan(branches(2), path, RULES)


def test_an_order_that_does_not_help_is_left_as_compiled():
    model = handmade.texture()
    found, plan = place_reordered(model, RULES, REORDERED)
    assert plan.order == ()
    assert found.total == planners.plan("arena", RULES.problem(extract_plan(model))).total


def chain_in_place():
    """a = x + 1; the head of a; a written once more, in place; its head again."""
    body = [
        *make("a", ROWS), *make("first", 1), *make("second", 1), *make("b", ROWS),
        call("add_one", "x", "a"), call("head", "a", "first"), call("in_place", "x", "a"), call("head", "a", "second"),
        v.MakeTuple("out", (v.Reg("first"), v.Reg("second"))), v.Return(v.Reg("out")),
    ]  # fmt: skip
    hosts = [handmade.ADD_ONE_HOST, HEAD, IN_PLACE]
    return handmade.model([TensorInfo("x", (ROWS, 4), "float32")], results(2), hosts, body)


def test_steps_that_write_one_tensor_keep_their_order():
    graph = step_graph(chain_in_place(), RULES)
    assert graph.needs[1] >= {0}
    assert graph.needs[2] >= {0, 1}
    assert graph.needs[3] >= {2}


def test_what_writes_an_input_stays_between_the_steps_around_it():
    graph = step_graph(branches(function="in_place"), RULES)
    assert all(needed == frozenset(range(step)) for step, needed in list(enumerate(graph.needs))[:3])
    free = step_graph(branches(), RULES)
    assert [len(needed) for needed in free.needs[:6]] == [0, 0, 0, 1, 1, 1]


def test_orders_that_are_none_are_refused():
    model = branches()
    with pytest.raises(AdrenoSimError, match="expected each of the 8 steps of handmade once"):
        reorder(model, (0, 1))
    with pytest.raises(AdrenoSimError, match="a step comes before what gives it out"):
        reorder(model, (7, 0, 1, 2, 3, 4, 5, 6))


def test_lifetimes_alone_have_no_order():
    problem = RULES.problem(extract_plan(branches()))
    with pytest.raises(UnsupportedError, match="and lifetimes alone do not show this; give the model itself"):
        planners.plan(REORDERED, problem)
    row = measure(problem, RULES, [REORDERED]).rows[0]
    assert "give the model itself" in row.skipped
    with pytest.raises(UnsupportedError, match="its input shapes are symbolic"):
        replan(handmade.symbolic(), REORDERED, RULES)
    assert (
        "symbolic"
        in measure(extract_plan(handmade.symbolic(), {"x": (4, 4)}), RULES, [REORDERED], model=handmade.symbolic())
        .rows[-1]
        .skipped
    )


def test_an_allocation_of_one_order_is_not_applied_in_another():
    model = branches()
    found, _ = place_reordered(model, RULES, REORDERED)
    problem = replace(found.problem, order=())
    with pytest.raises(AdrenoSimError, match="the plan is for another model"):
        apply(model, replace(found, problem=problem), RULES)
    assert ordered_plan(model, found.problem.order).order == found.problem.order
