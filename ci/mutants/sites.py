"""The places of a source file where a mutant can stand, and what stands there then."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
HIDDEN = (ast.JoinedStr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.match_case)
"""Nodes whose insides are none of the function's own: a text, or a function that is examined by itself."""


@dataclass(frozen=True)
class Site:
    """A mutant: the text from (line, column) to (end_line, end_column), in bytes as `ast` counts, and what replaces it.

    `mutated` is None if the statement is left out.
    """

    kind: str
    line: int
    column: int
    end_line: int
    end_column: int
    original: str
    mutated: str | None


def find_sites(source: str) -> list[Site]:
    """Every mutant of the functions of a file, in the order of lines. What runs at import alone has none."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = [site for function in functions for statement in function.body for site in _in_statement(statement)]
    lines = source.splitlines()
    alone = [site for site in found if site.mutated is not None or not lines[site.line - 1].encode()[: site.column].strip()]
    return sorted(alone, key=lambda site: (site.line, site.column, site.kind))


def _in_statement(statement: ast.AST) -> Iterator[Site]:
    if isinstance(statement, ast.match_case):
        for inner in statement.body:
            yield from _in_statement(inner)
        return
    if isinstance(statement, HIDDEN) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
        return
    yield from _of_statement(statement)
    for name, value in ast.iter_fields(statement):
        if name == "annotation":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, (ast.stmt, ast.match_case, ast.ExceptHandler)):
                yield from _in_statement(child)
            elif isinstance(child, (ast.expr, ast.withitem, ast.keyword)):
                yield from _in_expression(child)


def _of_statement(node: ast.AST) -> Iterator[Site]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield _site("call left out", node, None)
    elif isinstance(node, (ast.AugAssign, ast.Raise)):
        yield _site(f"{type(node).__name__.lower()} left out", node, None)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
        yield _site("assignment left out", node, None)
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield _site("result", node.value, "None")
    elif isinstance(node, ast.If):
        yield _site("condition", node.test, "False")
        yield _site("condition", node.test, "True")


def _in_expression(node: ast.AST) -> Iterator[Site]:
    if isinstance(node, (ast.JoinedStr, ast.Lambda, ast.Starred)):
        return
    yield from _of_expression(node)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.expr, ast.keyword, ast.comprehension, ast.withitem)):
            yield from _in_expression(child)


def _of_expression(node: ast.AST) -> Iterator[Site]:
    mutated = copy.copy(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(mutated, ast.Compare):
        mutated.ops = [COMPARISONS[type(node.ops[0])]()]
        yield _site("comparison", node, ast.unparse(mutated))
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and isinstance(mutated, ast.BinOp):
        mutated.op = ARITHMETIC[type(node.op)]()
        yield _site("arithmetic", node, ast.unparse(mutated))
    elif isinstance(node, ast.BoolOp) and isinstance(mutated, ast.BoolOp):
        mutated.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _site("and, or", node, ast.unparse(mutated))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _site("not", node, ast.unparse(node.operand))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield _site("constant", node, str(not node.value))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield _site("constant", node, repr(node.value + 1))  # type: ignore[operator]


def _site(kind: str, node: ast.AST, mutated: str | None) -> Site:
    assert isinstance(node, (ast.expr, ast.stmt))
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Site(kind, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, ast.unparse(node), mutated)
