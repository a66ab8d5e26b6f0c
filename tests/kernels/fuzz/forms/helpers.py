"""Helper functions: made before the kernel's body, called from its expressions and statements."""

from __future__ import annotations

from ..generator import Generator
from ..productions import make_block, statement
from ..scope import Name, Scope
from ..tree import Expr, Function, Stmt
from .simple_statements import DEPTH


def make_helper(g: Generator, pointer: bool) -> None:
    """A function of values; with `pointer`, also of an array of four that it reads and writes."""
    result = g.type()
    types = [g.type() for _ in range(g.choices.number(1, 3))]
    name = f"{g.prefix}{g.name('f')}"
    outside, g.scope, g.loads, g.result = g.scope, Scope(), False, result
    g.scope.uniform = False
    declared = []
    for type in types:
        parameter = g.name("v")
        declared.append(f"{type} {parameter}")
        g.scope.add(Name(type, parameter))
    element = g.type()
    if pointer:
        array = g.name("p")
        declared.append(f"{element} *{array}")
        g.scope.add(Name(element, f"{array}[@i & 3]", construct="helper/through pointer"))
    body = make_block(g, 1, 1, 2)
    value = g.expression(result, DEPTH)
    g.scope, g.loads, g.result = outside, True, None
    g.functions.append(Function(f"{result} {name}({', '.join(declared)})", body, value))
    if pointer:
        g.pointer_helpers.append((name, result, types, element))
    else:
        g.helpers.append((name, result, types))


@statement("helper with pointer", 1, lambda g: g.loads and bool(g.pointer_helpers))
def _call(g: Generator, nesting: int) -> Stmt:
    """A statement of its own: the call changes the array."""
    name, result, types, element = g.choices.pick(g.pointer_helpers)
    array, variable = g.name("a"), g.name("v")
    arguments: list[str | Expr] = []
    for type in types:
        arguments += [g.expression(type, 2), ", "]
    fill: list[str | Expr] = []
    for _ in range(4):
        fill += [g.expression(element, 1), ", "]
    g.scope.add(Name(result, variable))
    g.scope.add(Name(element, f"{array}[@i & 3]", construct="private/array element"))
    start = (f"{element} {array}[4] = {{", *fill, f"}}; {result} {variable} = {name}(")
    return Stmt((*start, *arguments, f"{array});"), whole=True)
