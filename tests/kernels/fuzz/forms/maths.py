"""Functions that the specification allows an error: results only, judged beside the operands they were computed from."""

from __future__ import annotations

from ..generator import Generator
from ..productions import in_kernel, statement
from ..scope import Name
from ..tree import Check, Expr, Output, Stmt
from ..truth.references import ARITY, FLOAT_ONLY, REFERENCES
from .simple_statements import DEPTH

_SMALL = ((-65536, 65536),)
_WITHIN = {
    "half_sin": _SMALL, "half_cos": _SMALL, "half_tan": _SMALL, "fast_length": _SMALL, "fast_normalize": _SMALL,
    "fast_distance": _SMALL * 2, "smoothstep": ((-9, 2), (3, 99), (-65536, 65536)),
}  # fmt: skip
"""Bounds of the operands of functions that are defined for these only."""

SECOND = {"fract": "", "modf": "", "frexp": "int", "remquo": "int"}


def _half_functions(g: Generator) -> bool:
    """Whether the judge has maths functions of halves: under -cl-fast-relaxed-math, Intel's compiler does not find its own."""
    return g.features.half and g.features.licence != "relaxed"


@statement("maths", 4.5, lambda g: in_kernel(g) and g.scope.loops == 0)
def _maths(g: Generator, nesting: int) -> Stmt:
    half = _half_functions(g) and g.choices.chance(0.5)
    name = g.choices.pick([n for n in REFERENCES if not (half and n in FLOAT_ONLY)])
    reference = REFERENCES[name]
    type = g.type().of("half" if half else "float")
    lanes = [n for n in reference.lanes if f"maths/{name}:{type.wide(n)}" not in g.features.avoid]
    if type.width not in lanes:
        type = type.wide(g.choices.pick(lanes))
    g.choices.note(f"maths/{name}")
    parts: list[object] = ["{ "]
    operands = []
    for index, kind in enumerate(ARITY[name]):
        operand, chosen = g.name("m"), type.of(kind) if kind else type
        value = g.expression(chosen, 2)
        if name in _WITHIN:
            low, high = (f"({chosen}){bound}.0f" for bound in _WITHIN[name][index])
            value = Expr(chosen, (f"clamp(plain_{chosen}(", value, f"), {low}, {high})"))
        if kind:
            value = Expr(chosen, ("(", value, f" % ({chosen})20)"))
        operands.append(Expr(chosen, (operand,)))
        parts += [f"{chosen} {operand} = ", value, "; ", Output(operands[-1]), "\n"]
    words = [str(operand.parts[0]) for operand in operands]
    result = type.element if reference.scalar else type
    call = Expr(result, (name.format(*words) if "{}" in name else f"{name}({', '.join(words)})",))
    return Stmt((*parts, Output(call, Check(name, len(operands))), " }"), whole=True)  # type: ignore[arg-type]


@statement("sine and cosine", 0.3, lambda g: in_kernel(g) and g.scope.loops == 0)
def _sincos(g: Generator, nesting: int) -> Stmt:
    """Two results, each beside what it is of."""
    type = g.type().of("half" if _half_functions(g) and g.choices.chance(0.5) else "float")
    x, cosine, sine = g.name("m"), g.name("m"), g.name("m")
    of = Output(Expr(type, (x,)))
    start = (f"{{ {type} {x} = ", g.expression(type, 2), f"; {type} {cosine}, {sine} = sincos({x}, &{cosine}); ")
    results = (of, Output(Expr(type, (sine,)), Check("sin", 1)), "\n", of, Output(Expr(type, (cosine,)), Check("cos", 1)), " }")
    return Stmt((*start, *results), whole=True)


@statement("second result", 0.8)
def _second(g: Generator, nesting: int) -> Stmt:
    """Functions that give two exact results, one through a pointer."""
    name = g.choices.pick(tuple(SECOND))
    type = g.type().of("half" if g.features.half and g.choices.chance(0.4) else "float")
    large = "6e4f" if type.kind == "half" else "1e9f"
    pointee = type.of(SECOND[name] or type.kind)
    first, second = g.name("v"), g.name("v")
    g.choices.note(f"second/{name}")
    arguments: list[object] = [f"number_{type}(", g.expression(type, DEPTH), ")"]
    after = ""
    if name == "remquo":  # only the low bits of the quotient are given, and only of finite operands
        arguments = [f"clamp(number_{type}(", g.expression(type, DEPTH), f"), ({type})-999.0f, ({type})999.0f), ({type})1.75f"]
        after = f" {second} &= 7;"
    if name == "frexp":  # of infinity the exponent is open
        arguments = ["clamp(", *arguments, f", ({type})0.001f, ({type}){large})"]
    if name == "fract":
        arguments = [f"clamp(plain_{type}(", g.expression(type, DEPTH), f"), ({type})-{large}, ({type}){large})"]
    g.scope.add(Name(type, first))
    g.scope.add(Name(pointee, second))
    call = (f"{pointee} {second} = 0; {type} {first} = {name}(", *arguments, f", &{second});{after}")
    return Stmt(call, whole=True)  # type: ignore[arg-type]
