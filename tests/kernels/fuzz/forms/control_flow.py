"""Branches and loops. Loops end by their own counter, which nothing inside assigns."""

from __future__ import annotations

from ..generator import Generator
from ..productions import make_block, statement
from ..scope import Name
from ..tree import Block, Stmt
from ..value_types import INT

BOTH = frozenset({"break", "continue"})


def _deeper(g: Generator) -> bool:
    return g.scope.depth < 3


def _body(g: Generator, nesting: int, **scope: object) -> Block:
    with g.scope.nested(**scope):  # type: ignore[arg-type]
        return make_block(g, nesting - 1)


@statement("if", 2.5, _deeper)
def _if(g: Generator, nesting: int) -> Stmt:
    return Stmt(("if (", g.condition(2), ") ", _body(g, nesting)))


@statement("if else", 2, _deeper)
def _if_else(g: Generator, nesting: int) -> Stmt:
    return Stmt(("if (", g.condition(2), ") ", _body(g, nesting), " else ", _body(g, nesting)))


@statement("uniform if", 0.7, lambda g: _deeper(g) and g.scope.uniform)
def _uniform_if(g: Generator, nesting: int) -> Stmt:
    condition = g.choices.pick(("grp == 0", "n0 > 3", "(n0 & 1) == 0", "get_local_size(0) > 4", "n0 < grp + 5"))
    return Stmt((f"if ({condition}) ", _body(g, nesting, uniform=True), " else ", _body(g, nesting, uniform=True)))


@statement("for", 2, _deeper)
def _for(g: Generator, nesting: int) -> Stmt:
    """A counted loop; the count is a constant or the work-item's."""
    name = g.name("i")
    varying = g.choices.chance(0.5)
    uniform = not varying and g.scope.uniform and g.choices.chance(0.5)
    with g.scope.nested(uniform=uniform, loop=True, leaves=frozenset() if uniform else BOTH):
        g.scope.add(Name(INT, name, writable=False, construct="variable/loop counter"))
        if varying:
            g.choices.note("for/varying count")
            bound = g.expression(INT, 2)
            return Stmt((f"for (int {name} = 0; {name} < (", bound, f" & 7); {name}++) ", make_block(g, nesting - 1)))
        start, step, count = g.choices.number(-3, 3), g.choices.pick((1, 2, 3, -1, -2)), g.choices.number(1, 6)
        compare, end = ("<" if step > 0 else ">"), start + step * count
        head = f"for (int {name} = {start}; {name} {compare} {end}; {name} += {step}) "
        return Stmt((head, make_block(g, nesting - 1)))


@statement("while", 1, _deeper)
def _while(g: Generator, nesting: int) -> Stmt:
    name = g.name("n")
    with g.scope.nested(loop=True, leaves=BOTH):
        g.scope.add(Name(INT, name, writable=False, construct="variable/loop counter"))
        condition = g.condition(2)
        head = f"int {name} = 0; while ({name}++ < {g.choices.number(1, 6)} && "
        return Stmt(("{ ", head, condition, ") ", make_block(g, nesting - 1), " }"))


@statement("do", 0.7, _deeper)
def _do(g: Generator, nesting: int) -> Stmt:
    name = g.name("n")
    condition = g.condition(2)
    with g.scope.nested(loop=True, leaves=BOTH):
        g.scope.add(Name(INT, name, writable=False, construct="variable/loop counter"))
        body = make_block(g, nesting - 1)
    return Stmt((f"{{ int {name} = 0; do ", body, f" while (++{name} < {g.choices.number(1, 5)} && ", condition, "); }"))


@statement("switch", 1, _deeper)
def _switch(g: Generator, nesting: int) -> Stmt:
    """Cases with and without break, the default anywhere or missing."""
    type = g.type(integer=True, width=1)
    parts: list[object] = ["switch (", g.expression(type, 2), f" & ({type})7) {{\n"]
    labels: list[str] = [f"case {n}:" for n in g.choices.sample(range(8), g.choices.number(2, 4))]
    if g.choices.chance(0.7):
        labels.insert(g.choices.number(0, len(labels)), "default:")
    for label in labels:
        with g.scope.nested(leaves=g.scope.leaves | {"break"}):
            body = make_block(g, nesting - 1, 1, 2)
        through = g.choices.chance(0.3)
        g.choices.note("switch/fall through" if through else "switch/break")
        parts += [label + " ", body, "\n" if through else " break;\n"]
    return Stmt((*parts, "}"))  # type: ignore[arg-type]


@statement("break", 0.8, lambda g: "break" in g.scope.leaves)
def _break(g: Generator, nesting: int) -> Stmt:
    return Stmt(("if (", g.condition(2), ") break;"))


@statement("continue", 0.8, lambda g: "continue" in g.scope.leaves)
def _continue(g: Generator, nesting: int) -> Stmt:
    return Stmt(("if (", g.condition(2), ") continue;"))


@statement("return", 0.25, lambda g: g.loads and g.scope.may_return)
def _return(g: Generator, nesting: int) -> Stmt:
    """From the kernel, out of any nest."""
    g.scope.uniform, g.scope.returned = False, True
    return Stmt(("if (", g.condition(2), ") return;"))


@statement("block", 0.4, _deeper)
def _block(g: Generator, nesting: int) -> Stmt:
    return Stmt((_body(g, nesting, uniform=True),))
