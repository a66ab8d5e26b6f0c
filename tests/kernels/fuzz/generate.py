"""From a seed to a kernel."""

from __future__ import annotations

from collections import Counter

from .case import Case
from .choices import Choices
from .forms import (  # noqa: F401  (register)
    atomics,
    control_flow,
    image_writes,
    images,
    irregular_flow,
    local_memory,
    maths,
    private_memory,
    record_memory,
    simple_statements,
    sub_buffers,
    sub_groups,
    wide_atomics,
)
from .forms.helpers import make_helper
from .forms.simple_statements import DEPTH, STYLES
from .generator import Features, Generator
from .judges import Judge
from .productions import make_statement
from .scope import Name
from .tree import Block, Output, Stmt
from .value_types import INT

OPERATIONS = 24

LOCAL_SIZES = ((8,), (16,), (5,), (4, 4), (3, 2), (2, 2, 2), (1,))


def make_features(choices: Choices, judge: Judge) -> Features:
    local_size = choices.pick(LOCAL_SIZES)
    groups = tuple(choices.pick((1, 1, 2)) for _ in local_size)
    return Features(judge.half, judge.standard, local_size, groups, judge.avoid, judge.can, judge.licence)


def make_case(seed: str, name: str, judge: Judge, operations: int = OPERATIONS) -> Case:
    """The kernel of that seed: always the same one. `operations`: about how many it has at most."""
    choices = Choices(seed)
    choices.tame = judge.licence in ("denorms", "relaxed")
    g = Generator(choices, make_features(choices, judge), f"{name}_", choices.number(operations // 4, operations))
    for _ in range(choices.pick((0, 0, 0, 1))):
        make_helper(g, pointer=choices.chance(0.4))
    for word in ("gid", "lid", "grp", "n0"):
        g.scope.add(Name(INT, word, writable=False, construct=f"variable/{word}"))
    statements = [make_statement(g, 2)]
    while g.budget > 0:
        statements.append(make_statement(g, 2))
    statements += _results(g)
    return Case(
        seed, name, g.features, Block(tuple(statements)), tuple(g.functions), tuple(g.declarations), tuple(g.locals),
        tuple(g.parameters), not choices.tame and choices.chance(0.2), dict(Counter(choices.used)),
    )  # fmt: skip


def _results(g: Generator) -> list[Stmt]:
    """Every variable of the outermost scope that still can be seen, so that no statement is without effect."""
    seen = [name for name in g.scope.frames[0] if name.construct == "variable"][-3:]
    made = [Stmt((Output(g.read(name), style=g.choices.pick(STYLES)),)) for name in seen]
    return made or [Stmt((Output(g.expression(g.type(), DEPTH)),))]
