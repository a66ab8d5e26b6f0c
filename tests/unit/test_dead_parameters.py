"""Parameters that a function takes and does not look at: only where a table or a caller's type asks for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from adreno_sim.base.code_digest import PACKAGE


def dead_parameters(sources: list[str]) -> list[str]:
    """`function(parameter)` for functions of a module that are only ever called: one that is also handed on, as what a table
    of functions holds is, takes what its callers give."""
    trees = [ast.parse(source) for source in sources]
    handed_on = {name for tree in trees for name in names_not_called(tree)}
    found = []
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.name not in handed_on:
                used = {inner.id for part in node.body for inner in ast.walk(part) if isinstance(inner, ast.Name)}
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                found += [f"{node.name}({arg.arg})" for arg in arguments if arg.arg not in used and not arg.arg.startswith("_")]
    return found


def names_not_called(tree: ast.Module) -> Iterator[str]:
    nodes = [*ast.walk(tree)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called:
            yield node.id if isinstance(node, ast.Name) else node.attr


def test_no_function_takes_what_it_does_not_look_at():
    assert dead_parameters([path.read_text() for path in (PACKAGE / "engine").rglob("*.py")]) == []
    assert dead_parameters([path.read_text() for path in (PACKAGE / "compiler").rglob("*.py")]) == []


def test_dead_parameters_are_found():
    calls = "def f(a, b): return a\nf(1, 2)\n"
    assert dead_parameters([calls]) == ["f(b)"]
    assert dead_parameters([calls, "TABLE = {'f': f}"]) == dead_parameters([calls.replace("return a", "return a + b")]) == []
