"""Cuts a failing launch down to what still fails in the same way: fewer statements, fewer groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from . import tree
from .campaign import Step, run_step
from .cases import Case
from .plant import Variant
from .simulate import Setting, on_processor, open_simulator


def shrink(case: Case, setting: Setting, step: Step, kind: tuple[str, str], trials: int = 300) -> Step | None:
    """The smallest launch found that fails alone on a fresh device in the same way; None where it fails only after others."""

    def fails(variant: Variant) -> bool:
        with on_processor(setting.processor, setting.code == "coarse"):
            device = open_simulator(setting, case.cell.level)
            problems, _ = run_step(device, case, Step(f"{step.name}, shrunk", variant))
        return any(problem.kind == kind for problem in problems)

    if not fails(step.variant):
        return None
    return Step(f"{step.name}, shrunk", _smallest(step.variant, fails, trials))


def _smallest(variant: Variant, fails: Callable[[Variant], bool], trials: int) -> Variant:
    again = True
    while again:
        again = False
        for smaller in _smaller(variant):
            trials -= 1
            if trials < 0:
                return variant
            if fails(smaller):
                variant, again = smaller, True
                break
    return variant


def _smaller(variant: Variant) -> Iterator[Variant]:
    """Without a statement, with what a statement holds in its place, without arguments that nothing names, with one group."""
    program, launch = variant.program, variant.launch
    used = {getattr(n, "name", "") for n in tree.walk(program.body)}
    used |= {n.array.name for n in tree.walk(program.body) if isinstance(n, (tree.Place, tree.DeclareArray))}
    used |= {n.image.name for n in tree.walk(program.body) if isinstance(n, (tree.ReadTexel, tree.WriteTexel))}
    kept = tuple(p for p in program.parameters if p.name in used)
    tables = tuple(t for t in program.tables if t[0].name in used)
    if len(kept) < len(program.parameters) or len(tables) < len(program.tables):
        yield Variant(dataclasses.replace(program, parameters=kept, tables=tables), launch)
    for statement in [n for n in tree.walk(program.body) if isinstance(n, tree.Stmt)]:
        yield _with(variant, statement, None)
        if isinstance(statement, (tree.If, tree.For)):
            yield _with(variant, statement, tree.Slot(0, statement.body))
    for axis in range(3):
        for count in {1, launch.groups[axis] // 2} - {0, launch.groups[axis]}:
            groups = tuple(count if n == axis else old for n, old in enumerate(launch.groups))
            yield Variant(program, dataclasses.replace(launch, groups=groups))


def _with(variant: Variant, old: tree.Stmt, new: tree.Stmt | None) -> Variant:
    body = tree.rebuild(variant.program.body, lambda node: new if node is old else node)
    return Variant(dataclasses.replace(variant.program, body=body), variant.launch)
