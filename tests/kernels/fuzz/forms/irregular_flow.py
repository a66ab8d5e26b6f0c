"""Jumps: goto forward, backward, out of nests and into loops, Duff's device, early returns of functions."""

from __future__ import annotations

from ..generator import Generator
from ..productions import make_block, statement
from ..tree import Block, Expr, Stmt
from .simple_statements import DEPTH


def _deeper(g: Generator) -> bool:
    return g.scope.depth < 2


def _body(g: Generator, nesting: int, loop: bool = False) -> Block:
    """What is jumped over, out of or into; break and continue of loops outside may not stand where there is one inside."""
    with g.scope.nested(loop=loop, leaves=frozenset() if loop else None):
        return make_block(g, nesting - 1)


@statement("goto forward", 0.5, _deeper)
def _forward(g: Generator, nesting: int) -> Stmt:
    """Past a block, or from its middle to its end."""
    label = g.name("L")
    condition = g.condition(2)
    if g.choices.chance(0.5):
        return Stmt(("if (", condition, f") goto {label};\n", _body(g, nesting), f"\n{label}: ;"), whole=True)
    first, second = _body(g, nesting), _body(g, nesting)
    return Stmt(("{ ", first, " if (", condition, f") goto {label};\n", second, f" }}\n{label}: ;"), whole=True)


@statement("goto backward", 0.5, _deeper)
def _backward(g: Generator, nesting: int) -> Stmt:
    label, counter = g.name("L"), g.name("n")
    body = _body(g, nesting, loop=True)
    count = g.choices.number(2, 5)
    start = (f"int {counter} = 0;\n{label}: ", body, f" if (++{counter} < {count} && ", g.condition(2))
    return Stmt((*start, f") goto {label};"), whole=True)


@statement("goto out of a nest", 0.5, _deeper)
def _out(g: Generator, nesting: int) -> Stmt:
    """Out of two loops, and of a switch in one of them."""
    label, i, j = g.name("L"), g.name("i"), g.name("i")
    inner = _body(g, nesting, loop=True)
    jump: tuple[str | Expr | Block, ...] = ("if (", g.condition(2), f") goto {label};")
    if g.choices.chance(0.4):
        cases = f"case 0: break; case 2: goto {label}; case 1: if ({j} == 1) continue; default: break;"
        jump = ("switch (", g.condition(2), f" & 3) {{ {cases} }}")
    outer = f"for (int {i} = 0; {i} < {g.choices.number(1, 3)}; {i}++) "
    outer += f"for (int {j} = 0; {j} < {g.choices.number(2, 4)}; {j}++) {{ "
    return Stmt((outer, inner, " ", *jump, f" }}\n{label}: ;"), whole=True)


@statement("goto into a loop", 0.3, _deeper)
def _into(g: Generator, nesting: int) -> Stmt:
    """A loop with two entries."""
    label, counter = g.name("L"), g.name("n")
    condition, first, second = g.condition(2), _body(g, nesting, loop=True), _body(g, nesting, loop=True)
    start = (f"int {counter} = 0; if (", condition, f") goto {label};\ndo {{ ", first, f"\n{label}: ;", second)
    return Stmt((*start, f" }} while (++{counter} < {g.choices.number(1, 4)});"), whole=True)


@statement("switch into a loop", 0.3, _deeper)
def _duff(g: Generator, nesting: int) -> Stmt:
    """Duff's device."""
    counter = g.name("n")
    condition = g.condition(2)
    blocks = [_body(g, nesting, loop=True) for _ in range(3)]
    head = (f"int {counter} = 0; switch (", condition, " & 3) { case 0: do { ", blocks[0])
    end = f" }} while (++{counter} < {g.choices.number(1, 3)}); }}"
    return Stmt((*head, " case 1: ", blocks[1], " case 3: ", blocks[2], end), whole=True)


@statement("return of a function", 1.5, lambda g: g.result is not None)
def _return(g: Generator, nesting: int) -> Stmt:
    """Before its end, out of whatever it is in."""
    assert g.result is not None
    return Stmt(("if (", g.condition(2), ") return ", g.expression(g.result, DEPTH), ";"))
