"""Parameters that a function takes and does not look at: only where a table or a caller's type asks for them."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator

from adreno_sim.base.code_digest import PACKAGE


def dead_parameters(sources: list[str]) -> list[str]:
    """`function(parameter)` for functions of a module that are only ever called: one that is also handed on, as what a table
    of functions holds is, takes what its callers give."""
    found = [one for source in sources for one in unused_parameters(source)]
    mentioned = {name for source in sources if found for name in names_not_called(source, {name for name, _ in found})}
    return [f"{name}({parameter})" for name, parameter in found if name not in mentioned]


def unused_parameters(source: str) -> Iterator[tuple[str, str]]:
    """Functions at the top of a module, without decorators, and parameters that they do not read. The compiler's own tables say
    it: to walk the trees of all modules takes four seconds."""
    table = symtable.symtable(source, "", "exec")
    functions = [inner for inner in table.get_children() if isinstance(inner, symtable.Function)]
    unused = {one.get_name(): {name for name in one.get_parameters() if not is_read(one, name)} for one in functions}
    if not any(unused.values()):
        return
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names = unused.get(node.name, set())
            yield from ((node.name, arg.arg) for arg in arguments if arg.arg in names and not arg.arg.startswith("_"))


def is_read(table: symtable.SymbolTable, name: str) -> bool:
    """Whether a function, or one within it, reads its parameter."""
    symbol = table.lookup(name)
    inner = (one for one in table.get_children() if name in one.get_identifiers())
    return symbol.is_referenced() or symbol.is_assigned() or any(is_read(one, name) for one in inner)


def names_not_called(source: str, wanted: set[str]) -> Iterator[str]:
    """Those of the names `wanted` that a module uses otherwise than to call them."""
    if not any(name in source for name in wanted):
        return
    nodes = [*ast.walk(ast.parse(source))]
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
    assert not dead_parameters([calls.replace("return a", "return [a + c for c in (lambda: b)()]")])
    assert dead_parameters([calls, "TABLE = {'f': f}"]) == dead_parameters([calls.replace("return a", "return a + b")]) == []
