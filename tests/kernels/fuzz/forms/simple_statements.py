"""Declarations, assignments, results."""

from __future__ import annotations

from ..generator import Generator
from ..productions import in_kernel, statement
from ..scope import Name
from ..templates import expand
from ..tree import Expr, Output, Stmt
from ..value_types import Type

STYLES = ("vstore", "pointer", "index")
DEPTH = 3


def declare(g: Generator, value: Expr) -> Stmt:
    """A new variable holding `value`."""
    name = g.name("v")
    made = Stmt((f"{value.type} {name} = ", value, ";"))
    g.scope.add(Name(value.type, name))
    return made


@statement("declare", 5)
def _declare(g: Generator, nesting: int) -> Stmt:
    return declare(g, g.expression(g.type(), DEPTH))


@statement("output", 7, lambda g: in_kernel(g) and g.scope.loops == 0)
def _output(g: Generator, nesting: int) -> Stmt:
    type = g.type()
    return Stmt((Output(g.expression(type, DEPTH), style=g.choices.pick(STYLES)),))


@statement("assign", 4, lambda g: bool(g.scope.writable()))
def _assign(g: Generator, nesting: int) -> Stmt:
    name = g.choices.pick(g.scope.writable())
    operator = g.choices.pick(_operators(g, name.type))
    target = expand(g, name.text, name.type, 1)
    if operator != "=":
        g.choices.note("statement/compound assign")
    return Stmt((*target, f" {operator} ", g.expression(name.type, DEPTH), ";"))


def _operators(g: Generator, type: Type) -> tuple[str, ...]:
    if type.is_float:
        sums = ("=", "+=", "-=") if g.exact_sum(type) else ("=",)
        return sums if g.features.licence else (*sums, "*=")
    if "unsigned" in type.traits and type.kind != "ushort":
        return ("=", "+=", "-=", "*=", "^=", "|=", "&=")
    return ("=", "^=", "|=", "&=")


@statement("assign components", 1.5, lambda g: any(n.type.width > 1 for n in g.scope.writable()))
def _assign_components(g: Generator, nesting: int) -> Stmt:
    name = g.choices.pick([n for n in g.scope.writable() if n.type.width > 1])
    target = expand(g, name.text, name.type, 1)
    width = name.type.width
    if width in (2, 4, 8, 16) and g.choices.chance(0.3):
        part = g.choices.pick(("lo", "hi", "even", "odd"))
        return Stmt((*target, f".{part} = ", g.expression(name.type.wide(width // 2), 2), ";"))
    count = g.choices.pick([n for n in (1, 2, 3, 4, 8) if n <= width])
    lanes = "".join(f"{lane:x}" for lane in g.choices.sample(range(width), count))
    return Stmt((*target, f".s{lanes} = ", g.expression(name.type.wide(count), 2), ";"))


@statement("increment", 1, lambda g: any("unsigned" in n.type.traits for n in g.scope.writable()))
def _increment(g: Generator, nesting: int) -> Stmt:
    name = g.choices.pick([n for n in g.scope.writable() if "unsigned" in n.type.traits])
    target = expand(g, name.text, name.type, 1)
    before, after = g.choices.pick((("++", ""), ("--", ""), ("", "++"), ("", "--")))
    return Stmt((before, *target, f"{after};"))
