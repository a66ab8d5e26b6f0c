"""Neighbours of a schedule: what differs from it in one choice, from which every schedule of the space is reached."""

from __future__ import annotations

import itertools
import math

import numpy as np
from tvm import relax, s_tir

from adreno_sim.compiler.lower.pipeline import select_fixes
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.compiler.schedule_database.store import decisions_of, key_of, variant_of
from adreno_sim.compiler.schedule_database.tasks import find_tasks
from adreno_sim.compiler.schedule_search.neighbours import Key, Neighbours
from adreno_sim.compiler.schedule_search.space import MOST_INNER, UNROLL, design_spaces


def product() -> object:
    blocks = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3, 8), "float32"))
    with blocks.function("main", [x]):
        with blocks.dataflow():
            result = blocks.emit_output(relax.op.matmul(x, relax.const(np.zeros((8, 16), "float32"))))
        blocks.emit_func_output(result)
    return blocks.get()


def factors(extent: int, parts: int) -> list[str]:
    sizes = itertools.product(range(1, extent + 1), repeat=parts)
    return ["x".join(map(str, one)) for one in sizes if math.prod(one) == extent and one[-1] <= MOST_INNER]


def test_from_one_schedule_every_other_is_reached() -> None:
    (task,) = find_tasks(product(), make_target("texture"), select_fixes("fixed", ()))
    spaces = design_spaces(s_tir.Schedule(task.module))
    neighbours = Neighbours(spaces)
    whole = set()
    for space in spaces:
        tiles = [[math.prod(map(int, text.split("x"))), text.count("x") + 1] for text in decisions_of(space.trace)[:-1]]
        choices = [*(factors(*tile) for tile in tiles), [str(number) for number in range(len(UNROLL))]]
        whole |= {(variant_of(space.trace), *chosen) for chosen in itertools.product(*choices)}
    first = key_of(spaces[0].trace)
    reached, ahead = {first}, [first]
    while ahead:
        new = set(neighbours.list_keys(ahead.pop())) - reached
        reached |= new
        ahead += new
    assert reached == whole
    last = max(reached)
    assert key_of(neighbours.make_schedule(task.module, last).trace) == last


def test_the_best_has_its_neighbours_tried_first() -> None:
    neighbours, generator = Neighbours([]), np.random.default_rng(0)
    ranked: list[tuple[Key, float]] = [(("v", "4x1"), 2.0), (("v", "3x1"), 1.0), (("v", "9x1"), math.inf)]
    seen: set[Key] = {key for key, _ in ranked}
    assert neighbours.pick_next(ranked, seen, generator) == ("v", "1x3")
    assert neighbours.pick_next(ranked, seen | {("v", "1x3")}, generator) == ("v", "2x2")
    assert neighbours.pick_next(ranked, seen | {("v", "1x3"), ("v", "2x2")}, generator) == ("v", "3x3")
    assert neighbours.pick_next([], seen, generator) is None
