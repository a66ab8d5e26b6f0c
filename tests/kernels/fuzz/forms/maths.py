"""Functions that the specification allows an error: results only, judged beside the operands they were computed from."""

from __future__ import annotations

from ..generator import Generator
from ..productions import in_kernel, statement
from ..references import ARITY, REFERENCES
from ..scope import Name
from ..tree import Check, Expr, Output, Stmt
from .simple_statements import DEPTH

NOT_IN_HALF = frozenset({"mad", "dot", "length", "distance", "ldexp"})
SECOND = {"fract": "", "modf": "", "frexp": "int", "remquo": "int"}


@statement("maths", 2, lambda g: in_kernel(g) and g.scope.loops == 0)
def _maths(g: Generator, nesting: int) -> Stmt:
    half = g.features.half and g.choices.chance(0.5)
    name = g.choices.pick([n for n in REFERENCES if not (half and n in NOT_IN_HALF)])
    type = g.type().of("half" if half else "float")
    g.choices.note(f"maths/{name}")
    parts: list[object] = ["{ "]
    operands = []
    for kind in ARITY[name]:
        operand, chosen = g.name("m"), type.of(kind) if kind else type
        value = g.expression(chosen, 2)
        if kind:
            value = Expr(chosen, ("(", value, f" % ({chosen})20)"))
        operands.append(Expr(chosen, (operand,)))
        parts += [f"{chosen} {operand} = ", value, "; ", Output(operands[-1]), "\n"]
    call = Expr(type, (f"{name}({', '.join(str(operand.parts[0]) for operand in operands)})",))
    return Stmt((*parts, Output(call, Check(name, len(operands))), " }"), whole=True)  # type: ignore[arg-type]


@statement("second result", 0.8)
def _second(g: Generator, nesting: int) -> Stmt:
    """Functions that give two exact results, one through a pointer."""
    name = g.choices.pick(tuple(SECOND))
    type = g.type().of("float")
    pointee = type.of(SECOND[name] or type.kind)
    first, second = g.name("v"), g.name("v")
    g.choices.note(f"second/{name}")
    arguments: list[object] = [f"number_{type}(", g.expression(type, DEPTH), ")"]
    after = ""
    if name == "remquo":  # only the low bits of the quotient are given, and only of finite operands
        arguments = [f"clamp(number_{type}(", g.expression(type, DEPTH), f"), ({type})-999.0f, ({type})999.0f), ({type})1.75f"]
        after = f" {second} &= 7;"
    if name == "frexp":  # of infinity the exponent is open
        arguments = ["clamp(", *arguments, f", ({type})0.001f, ({type})1e9f)"]
    if name == "fract":
        arguments = [f"clamp(plain_{type}(", g.expression(type, DEPTH), f"), ({type})-1e9f, ({type})1e9f)"]
    g.scope.add(Name(type, first))
    g.scope.add(Name(pointee, second))
    call = (f"{pointee} {second} = 0; {type} {first} = {name}(", *arguments, f", &{second});{after}")
    return Stmt(call, whole=True)  # type: ignore[arg-type]
