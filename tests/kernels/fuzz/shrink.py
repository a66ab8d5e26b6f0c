"""Cuts a failing kernel down to what still fails: fewer statements, smaller expressions, one work-group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Union

from .case import Case
from .forms.literals import simplest
from .tree import Block, Expr, Function, Node, Output, Stmt, children, inside

Path = tuple[int, ...]
Change = tuple[Path, Union[Node, None]]


def shrink(case: Case, fails: Callable[[Case], bool], trials: int = 400) -> Case:
    """The smallest case found in so many trials for which `fails` holds; it holds for `case`."""
    left = trials
    progress = True
    while progress and left > 0:
        progress = False
        for changes in (_smaller_launch, _fewer_statements, _lone_results, _smaller_expressions):
            case, spent, changed = _greedy(case, fails, changes, left)
            left -= spent
            progress = progress or changed
    return case


def _greedy(
    case: Case, fails: Callable[[Case], bool], changes: Callable[[Case], Iterator[Case]], left: int
) -> tuple[Case, int, bool]:
    """Take each change that still fails, and go on behind it; (case, trials spent, whether any was taken)."""
    spent, changed, at = 0, False, 0
    while spent < left and (smaller := next(islice(changes(case), at, None), None)) is not None:
        spent += 1
        if fails(smaller):
            case, changed = smaller, True  # the changes before `at` were tried on what it was cut from
        else:
            at += 1
    return case, spent, changed


def _smaller_launch(case: Case) -> Iterator[Case]:
    one = tuple(1 for _ in case.features.groups)
    if case.features.groups != one:
        yield replace(case, features=replace(case.features, groups=one))


def _fewer_statements(case: Case) -> Iterator[Case]:
    """Without the second half of a block, without one statement, with the inside of a compound one in its place."""
    blocks = [(path, node) for path, node in _nodes(case) if isinstance(node, Block)]
    for path, block in blocks:
        count = len(block.statements)
        for start in (0, count // 2) if count > 2 else ():
            kept = block.statements[:start] + block.statements[start + (count + 1) // 2 :]
            yield _with(case, path, Block(kept))
    for path, block in blocks:
        for index in reversed(range(len(block.statements))):
            yield _with(case, (*path, index), None)
    for path, node in _nodes(case):
        if isinstance(node, Stmt) and not node.whole:
            for child in children(node):
                if isinstance(child, Block):
                    yield _with(case, path, child)


def _lone_results(case: Case) -> Iterator[Case]:
    """With one of its expressions as a result in place of a statement."""
    for path, node in _nodes(case):
        if isinstance(node, Stmt):
            for value in _exact_values(node):
                if node.parts != (lone := (Output(value),)):
                    yield _with(case, path, Stmt(lone))


def _exact_values(node: Node) -> Iterator[Expr]:
    """The expressions inside that give the same bits everywhere, outermost first: of a checked result only the check is known."""
    for child in children(node):
        if isinstance(child, Output) and child.check is not None:
            continue
        if isinstance(child, Expr):
            yield child
        yield from _exact_values(child)


def _smaller_expressions(case: Case) -> Iterator[Case]:
    """With a constant, or an operand of the same type, in place of an expression."""
    for path, node in _nodes(case):
        if not isinstance(node, Expr) or (not children(node) and "(1)" in str(node.parts[0])):
            continue
        if node != simplest(node.type):
            yield _with(case, path, simplest(node.type))
        for inner in inside(node):
            if isinstance(inner, Expr) and inner.type == node.type:
                yield _with(case, path, inner)


def _nodes(case: Case) -> Iterator[tuple[Path, Node]]:
    """Everything that may be changed, outermost first, with its path: which child of the case, of that node, and so on.

    Results inside a statement that is kept whole stay: they are judged by what is stored beside them.
    """

    def below(path: Path, node: Node) -> Iterator[tuple[Path, Node]]:
        yield path, node
        for index, child in enumerate(children(node)):
            if not (isinstance(child, Output) and isinstance(node, Stmt) and node.whole):
                yield from below((*path, index), child)

    roots: list[Node] = [*case.functions, case.body]
    for index, root in enumerate(roots):
        yield from below((index,), root)


def _with(case: Case, path: Path, new: Node | None) -> Case:
    """The case with the node at `path` replaced or removed; the statements of a block take the place of one statement."""
    roots: list[Node] = [*case.functions, case.body]
    roots[path[0]] = _changed(roots[path[0]], path[1:], new) or Block(())
    return replace(case, functions=tuple(roots[:-1]), body=roots[-1])  # type: ignore[arg-type]


def _changed(node: Node, path: Path, new: Node | None) -> Node | None:
    if not path:
        return new
    index, rest = path[0], path[1:]
    changed = _changed(children(node)[index], rest, new)
    if isinstance(node, Block):
        kept = changed.statements if isinstance(changed, Block) else (changed,) if isinstance(changed, Stmt) else ()
        return Block((*node.statements[:index], *kept, *node.statements[index + 1 :]))
    if isinstance(node, Output):
        return replace(node, value=changed)  # type: ignore[arg-type]
    if isinstance(node, Function):
        return replace(node, body=changed) if index == 0 else replace(node, result=changed)  # type: ignore[arg-type]
    assert isinstance(node, (Expr, Stmt))
    return replace(node, parts=_replaced_part(node, index, changed))  # type: ignore[arg-type]


def _replaced_part(node: Expr | Stmt, index: int, new: Node | None) -> tuple[object, ...]:
    """Parts with the child number `index`, text not counted, replaced."""
    parts: list[object] = []
    seen = -1
    for part in node.parts:
        seen += not isinstance(part, str)
        parts.append(new if seen == index and not isinstance(part, str) else part)
    return tuple(part for part in parts if part is not None)
