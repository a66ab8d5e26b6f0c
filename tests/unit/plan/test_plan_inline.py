"""Plans of models whose main calls other functions: what those allocate is in the plan, and a planner may place it."""

from dataclasses import replace

import handmade
import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.artifact.vm_registers import walk
from adreno_sim.compiler.plan.apply import replan
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.inline import inline_calls
from adreno_sim.compiler.plan.planners import plan
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run import vm
from adreno_sim.compiler.run.observer import Observer
from adreno_sim.profiles.profile import load

RULES = DeviceRules.of_profile(load("adreno-740"))


class Watching(Observer):
    def __init__(self):
        self.reused = []

    def storage_reused(self, tensor, live, where):
        self.reused.append((tensor, live))


def run(model, observer=None):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    with vm.VirtualMachine(model, open_device("sim:adreno-740"), observer) as machine:
        return machine.run([x])[0] - x


def test_what_callees_allocate_is_in_the_plan():
    plan = extract_plan(handmade.calls())
    whose = {storage.id: storage.why for storage in plan.storages}
    assert whose == {
        "twice_one.s0": "",
        "twice_one.s1": "result of twice_one",
        "s0": "passed to twice_one",
        "twice_one_1.s0": "",
        "twice_one_1.s1": "result of twice_one",
    }
    # 0, 1: x goes in twice; 2 to 10: the body of twice_one; 11 to 16: out twice, registers end; 20 is main's call on the result
    lives = {tensor.id: (tensor.first, tensor.written, tensor.last) for tensor in plan.tensors}
    assert lives["twice_one.t0"] == (3, 5, 9)
    assert lives["twice_one.t1"] == (7, 9, 20)
    # storages of the two calls are not added up, and no more than two results and arguments live at one time
    assert plan.summary.storages == 2
    assert plan.summary.planned == 32
    assert plan.summary.unplanned == 64
    assert plan.summary.live_lower_bound == 64
    calls = {tensor.id: tensor.call for tensor in plan.tensors}
    assert calls["t0"] == ()
    assert calls["twice_one.t0"][1] < calls["twice_one_1.t0"][0]


def test_planners_of_one_function_do_not_share_between_calls():
    problem = RULES.problem(extract_plan(handmade.calls()))
    found = {name: plan(name, problem) for name in ("tvm", "arena")}
    assert (found["tvm"].total, found["tvm"].planned, len(found["tvm"].storages)) == (64, 32, 5)
    assert found["arena"].total == found["arena"].planned == 256  # two tensors at multiples of 128


def test_inlined_models_run_the_same_and_call_nothing():
    model = handmade.calls()
    flat = inline_calls(model)
    assert not [i for i in walk(flat.functions["main"].body) if isinstance(i, v.CallVM)]
    assert set(flat.functions) == {"main"}
    assert inline_calls(flat) is flat
    assert inline_calls(handmade.texture()) == handmade.texture()
    assert (run(model) == 5).all()
    assert (run(flat) == 5).all()


@pytest.mark.parametrize(("planner", "nbytes"), [("tvm", 64), ("arena", 256)])  # 128: the device's base alignment
def test_a_plan_goes_across_calls(planner, nbytes, tmp_path):
    applied, watching = replan(handmade.calls(), planner, RULES), Watching()
    assert applied.plan is not None
    assert applied.plan.summary.planned == nbytes
    # by TVM's rules arguments and results stay where they were
    assert (applied.plan.summary.storages, applied.plan.summary.unplanned) == ((2, 64) if planner == "tvm" else (1, 0))
    applied.save(tmp_path / "applied.asim")
    assert (run(applied, watching) == 5).all()
    assert watching.reused == []
    assert (run(CompiledModel.load(tmp_path / "applied.asim")) == 5).all()


def test_branches_and_aliases_cross_too():
    """A callee that returns its argument, called inside a branch: the caller's tensor is a result of both."""
    model = handmade.branch()
    same = v.VMFunction("same", ("v",), (v.Return(v.Reg("v")),))
    main = model.functions["main"]
    branch = main.body[0]
    then = (*branch.then, v.CallVM("u", "same", (v.Reg("t"),)))
    body = (replace(branch, then=then, then_result=v.Reg("u")), *main.body[1:])
    model = replace(model, functions={"main": replace(main, body=body), "same": same})
    (storage,) = extract_plan(model).storages
    assert (storage.id, storage.why) == ("s", "passed to same")
    x = np.ones((2, 4), np.float32)
    for each in (model, inline_calls(model)):
        assert (vm.run(each, [np.array(True), x], open_device("sim:adreno-740"))[0] == 2).all()
        assert (vm.run(each, [np.array(False), x], open_device("sim:adreno-740"))[0] == 7).all()


def test_a_function_that_calls_itself_has_no_plan():
    model = handmade.calls()
    again = replace(model.functions["through"], body=(v.CallVM("u", "through", (v.Reg("v"),)), v.Return(v.Reg("u"))))
    with pytest.raises(
        UnsupportedError, match="main calls through calls through: a function that calls itself has no memory plan"
    ):
        extract_plan(replace(model, functions={**model.functions, "through": again}))
