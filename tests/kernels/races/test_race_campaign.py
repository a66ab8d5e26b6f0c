"""Random kernels of plain and atomic accesses between barriers, judged by brute force: all pairs of accesses to one place that
nothing orders.

Each statement stands on a line of its own and is executed by some of the work-items, whatever the memory holds, so that the
accesses of a launch are known from its text. A kernel has a race if and only if one is reported, and each that is reported is
one of the pairs. Pairs that atomics and barriers may order, which is not followed, are named instead.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec

PLACES = 3
FIRST_LINE = 5
OPS = (
    "load store add barrier",
    "store add add",
    "load add exchange barrier",
    "load store barrier barrier",
    "load store add exchange atomic_load barrier",
)
RACES = {"data-race", "same-value-race"}


@dataclass(frozen=True)
class Statement:
    """op: "load", "store", "add", "exchange", "atomic_load" or "barrier". place: of `memory` ("global", "local"), by work-item
    where `by_item`. who: a condition on the local id `l` and the group `g`. fence: which memory a barrier orders."""

    op: str
    memory: str = "global"
    place: int = 0
    by_item: bool = False
    who: str = "1"
    fence: str = "global local"

    def text(self, number: int) -> str:
        if self.op == "barrier":
            flags = " | ".join(f"CLK_{memory.upper()}_MEM_FENCE" for memory in self.fence.split())
            return f"barrier({flags});"
        array = {"global": "o", "local": "s"}[self.memory]
        at = f"{array}[{f'{PLACES} + l' if self.by_item else self.place}]"
        what = {
            "load": f"sum += {at};",
            "store": f"{at} = {100 * number} + g * 10 + l;",
            "add": f"atomic_add(&{at}, 1);",
            "exchange": f"atomic_xchg(&{at}, {number});",
            "atomic_load": f"sum += atomic_or(&{at}, 0);",
        }[self.op]
        return f"if ({self.who}) {{ {what} }}"


@dataclass(frozen=True)
class Launch:
    statements: tuple[Statement, ...]
    groups: int
    items: int

    def source(self) -> str:
        lines = [
            "__kernel void k(__global int* o, __global int* results, __local int* s) {",
            "  int l = get_local_id(0), g = get_group_id(0); int sum = 0;",
            f"  if (l == 0) for (int j = 0; j < {PLACES + self.items}; ++j) s[j] = 0;",
            "  barrier(CLK_LOCAL_MEM_FENCE);",
            *(f"  {statement.text(number)}" for number, statement in enumerate(self.statements)),
            "  results[get_global_id(0)] = sum;",
            "}",
        ]
        return "\n".join(lines)

    def accesses(self) -> Iterator[tuple[int, Statement, int, int, object, dict[str, int]]]:
        """Number, statement, group, item, place and the barriers of each memory before it."""
        for group in range(self.groups):
            for item in range(self.items):
                passed = {"global": 0, "local": 0}
                for number, statement in enumerate(self.statements):
                    if statement.op == "barrier":
                        for memory in statement.fence.split():
                            passed[memory] += 1
                    elif eval(statement.who.replace("&&", " and "), {}, {"l": item, "g": group}):
                        place = PLACES + item if statement.by_item else statement.place
                        where = (statement.memory, place, group if statement.memory == "local" else 0)
                        yield number, statement, group, item, where, dict(passed)

    def races(self) -> set[frozenset[int]]:
        """Pairs of statements that race."""
        by_place: dict[object, list] = {}
        for access in self.accesses():
            by_place.setdefault(access[4], []).append(access)
        found = set()
        for accesses in by_place.values():
            for one, other in combinations(accesses, 2):
                if not _is_ordered(one, other) and _conflict(one[1], other[1]):
                    found.add(frozenset((one[0], other[0])))
        return found


def _is_ordered(one, other) -> bool:
    if one[2:4] == other[2:4]:
        return True
    return one[2] == other[2] and one[5][one[1].memory] != other[5][other[1].memory]


def _conflict(one: Statement, other: Statement) -> bool:
    atomic = {"add", "exchange", "atomic_load"}
    writes = {"store", "add", "exchange", "atomic_load"}  # an atomic_or counts as one that writes
    return not (one.op in atomic and other.op in atomic) and (one.op in writes or other.op in writes)


def random_launch(seed: int) -> Launch:
    r = random.Random(seed)
    groups, items = r.choice([(1, 4), (1, 8), (2, 4), (3, 3)])
    conditions = ["1", "l == 0", f"l == {items - 1}", "l < 2", "l > 0", "l == 0 && g == 0", "l == 1 && g == 0", "g == 0"]
    ops = r.choice(OPS).split()
    statements = [
        Statement(
            r.choice(ops),
            r.choice(["global", "local"]),
            r.randrange(PLACES),
            r.random() < 0.4,
            r.choice(conditions),
            r.choice(["global", "local", "global local", "global local"]),
        )
        for _ in range(r.randint(2, 7))
    ]
    return Launch(tuple(statements), groups, items)


def run(launch: Launch):
    device = adreno_sim.open_device("sim:reference", checks="full")
    kernel = device.build(launch.source(), "-cl-std=CL3.0")["k"]
    total = launch.groups * launch.items
    views = []
    for count in (PLACES + launch.items, total):
        view = device.view(device.allocate(4 * count), BufferSpec(4 * count, "int32"))
        device.write(view, np.zeros(count, np.int32))
        views.append(view)
    room = adreno_sim.base.specs.Local(4 * (PLACES + 2 * launch.items))
    return device.launch(kernel, (total,), (launch.items,), [*views, room])


def check(launch: Launch) -> str:
    """Returns what is wrong with the verdict on a launch; "" if nothing is."""
    expected, result = launch.races(), run(launch)
    races = [f for f in result.findings if f.kind.label in RACES]
    found = {frozenset((f.line - FIRST_LINE, f.detail["earlier"]["line"] - FIRST_LINE)) for f in races}
    if found - expected:
        return f"no race: {sorted(map(sorted, found - expected))}"
    silent = not found and not any("atomics and fences may order" in text for text in result.failures)
    return f"missed: {sorted(map(sorted, expected))}" if expected and silent else ""


@pytest.mark.parametrize("block", [pytest.param(block, marks=[pytest.mark.slow] * (block > 1)) for block in range(8)])
def test_races_are_those_that_brute_force_finds(block):
    wrong = {seed: what for seed in range(20 * block, 20 * (block + 1)) if (what := check(random_launch(seed)))}
    assert not wrong, "\n".join(f"seed {seed}: {what}\n{random_launch(seed).source()}" for seed, what in wrong.items())


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_races_of_two_thousand_kernels(block):
    wrong = {seed: what for seed in range(1000 + 100 * block, 1100 + 100 * block) if (what := check(random_launch(seed)))}
    assert not wrong, "\n".join(f"seed {seed}: {what}\n{random_launch(seed).source()}" for seed, what in wrong.items())
