"""Kinds of statements, registered by the files that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .generator import Generator
from .tree import Block, Stmt

Build = Callable[[Generator, int], Stmt]


@dataclass(frozen=True)
class Production:
    """How to make one kind of statement. `when` says whether it may stand at the generator's present place."""

    name: str
    weight: float
    build: Build
    when: Callable[[Generator], bool]


STATEMENTS: list[Production] = []


def statement(name: str, weight: float, when: Callable[[Generator], bool] = lambda g: True) -> Callable[[Build], Build]:
    """Register a builder (generator, nesting still allowed) -> statement."""

    def register(build: Build) -> Build:
        STATEMENTS.append(Production(f"statement/{name}", weight, build, when))
        return build

    return register


def make_statement(g: Generator, nesting: int) -> Stmt:
    """One statement fit for this place."""
    fitting = [(p.weight, p) for p in STATEMENTS if p.name not in g.features.avoid and p.when(g)]
    chosen = g.choices.weighted(fitting)
    g.choices.note(chosen.name)
    return chosen.build(g, nesting)


def make_block(g: Generator, nesting: int, low: int = 1, high: int = 2) -> Block:
    """Statements in the scope that the caller has opened."""
    statements = [make_statement(g, nesting)]
    while len(statements) < g.choices.number(low, high) and g.budget > 0:
        statements.append(make_statement(g, nesting))
    return Block(tuple(statements))


def in_kernel(g: Generator) -> bool:
    """In a kernel, not in a helper function."""
    return g.loads


def at_barrier(g: Generator) -> bool:
    """Every work-item of the group comes here together."""
    return g.loads and g.scope.uniform
