"""Plans written back into programs: equal outputs, views at offsets, what cannot be applied, live tensors guarded."""

from dataclasses import replace

import handmade
import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.model import CompiledModel, TensorInfo
from adreno_sim.compiler.plan import planners
from adreno_sim.compiler.plan.apply import apply, replan
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.plan_file import write_plan
from adreno_sim.compiler.plan.replan import plan_of
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.run import vm
from adreno_sim.compiler.run.observer import Observer
from adreno_sim.profiles.profile import load

RULES = DeviceRules.of_profile(load("adreno-740"))
SHAPE = (2, 3, 5, 4)


class Watching(Observer):
    def __init__(self):
        self.reused = []

    def storage_reused(self, tensor, live, where):
        self.reused.append((tensor, live))


def doubled(times: int) -> CompiledModel:
    """x of SHAPE doubled `times` times through textures, each in a storage of its own, each killed after its use."""
    shape = v.ShapeLiteral(SHAPE)
    body = [v.ToDevice("t0", v.Reg("x"), "global.texture")]
    for i in range(1, times + 1):
        body += [
            v.AllocStorage(f"s{i}", v.ShapeLiteral((1024,)), "global", "uint8"),
            v.AllocTensor(f"t{i}", f"s{i}", 0, shape, "float32", "global.texture"),
            v.Kill(f"s{i}"),
            v.CallHost("twice", (v.Reg(f"t{i - 1}"), v.Reg(f"t{i}"))),
            v.Kill(f"t{i - 1}"),
        ]
    body += [v.ToDevice("out", v.Reg(f"t{times}"), "global"), v.Kill(f"t{times}"), v.Return(v.Reg("out"))]
    info = TensorInfo("x", SHAPE, "float32")
    return handmade.model([info], TensorInfo("output", SHAPE, "float32"), [handmade.TWICE_HOST], body)


X = np.arange(120, dtype=np.float32).reshape(SHAPE)


def run(model, device="sim:adreno-740", observer=None, **options):
    with vm.VirtualMachine(model, open_device(device, **options), observer) as machine:
        return machine.run([X])[0]


@pytest.mark.parametrize("planner", [name for name in planners.names() if name != "optimal"])
def test_every_planner_gives_the_same_outputs(planner):
    model, watching = doubled(5), Watching()
    applied = replan(model, planner, RULES)
    out = run(applied, observer=watching)
    assert np.array_equal(out, 32 * X)
    assert watching.reused == []
    planned = planners.plan(planners.places(planner) or planner, RULES.problem(extract_plan(model)))
    assert applied.plan is not None
    assert applied.plan.summary.planned == sum(s for n, s in enumerate(planned.storages) if n not in planned.unplanned)
    assert applied.plan.summary.storages == len(planned.storages) - len(planned.unplanned)


def test_an_arena_puts_tensors_side_by_side():
    applied = replan(doubled(5), "arena", RULES)
    made = [i for i in applied.functions["main"].body if isinstance(i, v.AllocTensor)]
    assert {i.storage for i in made} == {"planned_0"}
    assert {i.offset for i in made} == {0, 768}
    copies = [i for i in applied.functions["main"].body if isinstance(i, (v.CopyTensor, v.ToDevice))]
    assert copies == [v.CopyTensor(v.Reg("x"), v.Reg("t0")), v.CopyTensor(v.Reg("t5"), v.Reg("out"))]
    stores = [i.dst for i in applied.functions["main"].body if isinstance(i, v.AllocStorage)]
    assert stores == ["planned_0"]
    assert [i.name for i in applied.functions["main"].body if isinstance(i, v.Kill)].count("s1") == 0


def walk_branches(model):
    return (i for i in model.functions["main"].body if isinstance(i, v.Branch))


def test_branches_are_rewritten_too(tmp_path):
    main = handmade.branch().functions["main"]
    outer = v.AllocStorage("s9", v.ShapeLiteral((32,)), "global", "uint8")
    inner = (
        v.AllocStorage("s8", v.ShapeLiteral((32,)), "global", "uint8"),
        v.AllocTensor("u", "s8", 0, v.ShapeLiteral((2, 4)), "float32", "global"),
        v.Kill("s8"),
        v.CallHost("add_one", (v.Reg("x"), v.Reg("u"))),
    )
    branch = main.body[0]
    then = (*inner, *branch.then[:3], v.CallHost("add_one", (v.Reg("u"), v.Reg("t"))))
    body = (outer, replace(branch, then=then), *main.body[1:])
    model = replace(handmade.branch(), functions={"main": replace(main, body=body)})
    applied = replan(model, "arena", RULES)
    applied.save(tmp_path / "applied.asim")
    x = np.ones((2, 4), np.float32)
    for taken, expected in ((True, 3), (False, 7)):
        for each in (model, CompiledModel.load(tmp_path / "applied.asim")):
            with vm.VirtualMachine(each, open_device("sim:adreno-740")) as machine:
                assert np.array_equal(machine.run([np.array(taken), x])[0], np.full((2, 4), expected, np.float32))
    assert [i.storage for i in next(walk_branches(applied)).then if isinstance(i, v.AllocTensor)] == ["planned_0", "planned_0"]


def test_what_a_device_cannot_hold():
    without = DeviceRules.of_profile(load("adreno-650"))
    with pytest.raises(UnsupportedError, match=r"plan arena cannot be applied on adreno-650: 3 textures lie at offsets .* t0 at"):
        replan(doubled(5), "arena", without)
    assert np.array_equal(run(replan(doubled(5), "tvm-fixed", without), "sim:adreno-650"), 32 * X)  # whole storages are fine
    model = doubled(5)
    allocation = planners.plan("arena", RULES.problem(extract_plan(model)))
    pixels = DeviceRules.of_profile(load("adreno-740"), "pixels")
    with pytest.raises(UnsupportedError, match=r"t0 at offset 768: expected a multiple of 1,024 bytes \(2 more like this\)"):
        apply(model, allocation, pixels)
    meeting = replace(allocation, offsets=(0,) * len(allocation.offsets))
    with pytest.raises(UnsupportedError, match="t0 and t1 are live at one time in the same bytes"):
        apply(model, meeting, RULES)
    small = DeviceRules.of_profile(load("adreno-740").with_values({"MAX_MEM_ALLOC_SIZE": 1000}))
    with pytest.raises(UnsupportedError, match=r"storage arena.0: 1,536 bytes: MAX_MEM_ALLOC_SIZE of adreno-740 is 1,000"):
        apply(model, allocation, small)


def test_plans_of_other_models():
    allocation = planners.plan("arena", RULES.problem(extract_plan(doubled(5))))
    with pytest.raises(AdrenoSimError, match="the plan is for another model: handmade has no tensor 't0'"):
        apply(handmade.branch(), allocation, RULES)
    item = replace(allocation.problem.items[0], end=99)
    other = replace(allocation, problem=replace(allocation.problem, items=(item, *allocation.problem.items[1:])))
    with pytest.raises(AdrenoSimError, match=r"tensor 't0' of handmade is float32 .* live 0 to 4; .* live 0 to 98"):
        apply(doubled(5), other, RULES)
    with pytest.raises(UnsupportedError, match="its input shapes are symbolic"):
        replan(handmade.symbolic(), "arena", RULES)


def test_a_plan_from_a_file(tmp_path):
    model, path = doubled(5), str(tmp_path / "plan.json")
    write_plan(path, plan_of(planners.plan("arena", RULES.problem(extract_plan(model))), extract_plan(model)))
    applied = replan(model, path, RULES)
    assert np.array_equal(run(applied), 32 * X)
    assert applied.plan == replan(model, "arena", RULES).plan
    longer = tuple(replace(t, last=t.last + 2) if t.id == "t2" else t for t in extract_plan(model).tensors)
    others = {
        "the plan of handmade has no tensor 't0'": extract_plan(handmade.branch()),
        "tensor 't2' of the plan of handmade is .* live 7 to 16; what is to be placed is .* live 7 to 14": replace(
            extract_plan(model), tensors=longer
        ),
    }
    for said, other in others.items():
        write_plan(path, other)
        with pytest.raises(AdrenoSimError, match=rf"plan\.json: the plan is for another model: {said}"):
            replan(model, path, RULES)


def broken(model):
    """t2 over t1's bytes while t1 is read."""
    body = [
        replace(i, storage="s1") if isinstance(i, v.AllocTensor) and i.dst == "t2" else i
        for i in model.functions["main"].body
        if not (isinstance(i, v.Kill) and i.name == "s1")
    ]
    return replace(model, functions={"main": replace(model.functions["main"], body=tuple(body))})


def test_live_bytes_given_away_are_noticed():
    watching = Watching()
    run(broken(doubled(5)), observer=watching)
    assert watching.reused == [("t2", ["t1"])]


def test_bytes_are_poisoned_when_their_tensor_ends():
    """t1 ends, t2 of the same storage is returned unwritten: NaN, not what t1 held; without checks, t1's values."""
    shape = v.ShapeLiteral((2, 4))
    body = [
        v.AllocStorage("s", v.ShapeLiteral((64,)), "global", "uint8"),
        v.AllocTensor("t1", "s", 0, shape, "float32", "global"),
        v.CallHost("add_one", (v.Reg("x"), v.Reg("t1"))),
        v.Kill("t1"),
        v.AllocTensor("t2", "s", 0, shape, "float32", "global"),
        v.Return(v.Reg("t2")),
    ]
    info = TensorInfo("x", (2, 4), "float32")
    model = handmade.model([info], info, [handmade.ADD_ONE_HOST], body)
    x = np.ones((2, 4), np.float32)
    assert np.isnan(vm.run(model, [x], open_device("sim:adreno-740"))[0]).all()
    assert (vm.run(model, [x], open_device("sim:adreno-740", checks="off"))[0] == 2).all()
