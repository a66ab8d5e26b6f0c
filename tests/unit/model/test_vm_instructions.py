"""The instructions of a VMFunction: each is run and traced, and the types of its fields say what it does with registers."""

import typing
from dataclasses import fields

import handmade
import pytest

from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.vm_registers import ROLES, change_blocks, find_operands, find_registers, rename_registers, walk
from adreno_sim.compiler.plan import lifetimes
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.run import frame
from adreno_sim.compiler.run.shape_instructions import compute_shape

KINDS = set(typing.get_args(v.Instruction))
SHAPES = compute_shape.registry.keys() - {object}


def test_each_instruction_is_run_and_traced_by_one_function():
    executed, followed = (f.registry.keys() - {object} for f in (frame.execute, lifetimes._follow))
    assert executed | SHAPES == KINDS
    assert not executed & SHAPES
    assert followed | SHAPES == KINDS - {v.CallVM}, "calls are inlined before lifetimes are traced"
    assert not followed & SHAPES, "calls are inlined before lifetimes are traced"


def test_what_is_no_instruction_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="instruction VMFunction"):
        compute_shape(v.VMFunction("f", (), ()), None)


PLAIN = {"context", "dtype", "scope", "function", "boundary"}
"""Fields of text that name no register."""


@pytest.mark.parametrize("kind", sorted(KINDS, key=str), ids=lambda kind: kind.__name__)
def test_a_field_of_text_is_plain_or_has_a_role(kind):
    hints = typing.get_type_hints(kind, include_extras=True)
    assert {field.name for field in fields(kind) if hints[field.name] is str} <= PLAIN
    assert sum(hint == v.Defined for hint in hints.values()) == (kind not in UNBOUND)


UNBOUND = {v.CheckTensor, v.MatchShape, v.MatchScalar, v.CallHost, v.CopyTensor, v.Kill, v.Return, v.RunStep}
UNBOUND |= {v.BeginRecording, v.EndRecording}

INNER = (v.Copy("c", v.Reg("t")), v.Kill("t"))
BODY = (
    v.AllocTensor("t", "s", 0, v.ShapeLiteral((4,)), "float32", "global"),
    v.MatchShape(v.Reg("t"), "h", (), "t"),
    v.Branch("b", v.Reg("q"), INNER, v.Reg("c"), (v.CallHost("f", (v.Reg("x"), v.ConstRef("k"))),), v.ScalarLiteral(1)),
    v.MakeTuple("p", (v.Reg("b"), v.Reg("t"))),
)


def registers(body, *roles):
    return [name for i in walk(body) for name in find_registers(i, *roles)]


def test_registers_by_role_and_operands():
    assert [registers(BODY, role) for role in ROLES] == [["t", "b", "c", "p"], ["s", "h"], ["t"]]
    used = [operand.name for i in walk(BODY) for operand in find_operands(i) if isinstance(operand, v.Reg)]
    assert used == ["t", "q", "c", "t", "x", "b", "t"]


def test_renaming_reaches_every_register_and_nothing_else():
    renamed = rename_registers(BODY, lambda name: f"f.{name}")
    assert registers(renamed) == [f"f.{name}" for name in registers(BODY)]
    assert rename_registers(renamed, lambda name: name.removeprefix("f.")) == BODY
    (branch,) = [i for i in renamed if isinstance(i, v.Branch)]
    assert branch.otherwise == (v.CallHost("f", (v.Reg("f.x"), v.ConstRef("k"))),)
    assert branch.otherwise_result == v.ScalarLiteral(1)


def test_blocks_change_in_order_and_plain_instructions_stay():
    seen = []
    assert change_blocks(BODY[2], lambda block: seen.append(block) or ()).then == ()
    assert seen == [INNER, BODY[2].otherwise]
    assert change_blocks(BODY[0], lambda block: ()) is BODY[0]


def test_a_plan_for_inputs_of_another_rank_is_refused_as_a_run_is():
    with pytest.raises(AdrenoSimError, match=r"main, param\[0\] \(x\): expected rank 2, found shape \(7,\)"):
        extract_plan(handmade.symbolic(), {"x": (7,)})
