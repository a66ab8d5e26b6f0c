"""Dominators and dominance frontiers against their definitions, on random graphs."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

import pytest

from adreno_sim.engine.emit.tables.post_dominated_sites import PostDominatedSites
from adreno_sim.ir import dominators
from adreno_sim.ir.cfg import reverse_postorder
from adreno_sim.ir.dominators import DominatorTree
from adreno_sim.ir.growing_tree import GrowingTree
from adreno_sim.ir.loops import count_nested_loops, natural_loops
from adreno_sim.ir.postdominators import PostDominators


@dataclass(eq=False)
class Node:
    successors: list[Node] = field(default_factory=list)


def reached(start: Node, without: Node | None = None) -> set[Node]:
    found, work = set(), [start]
    while work:
        node = work.pop()
        if node is not without and node not in found:
            found.add(node)
            work += node.successors
    return found


def draw_graph(seed: int) -> list[Node]:
    """A graph with cycles, loops with several ways in, and edges that are doubled; all is reachable."""
    dice = random.Random(seed)
    nodes = [Node() for _ in range(dice.randint(1, 12))]
    for node in nodes:
        node.successors = dice.choices(nodes[1:] or nodes, k=dice.randint(0, 3))
    return reverse_postorder(nodes[0])


def test_a_node_dominates_what_is_not_reached_without_it():
    for seed in range(60):
        order = draw_graph(seed)
        tree = DominatorTree(order)
        for upper in order:
            below = {lower for lower in order if lower not in reached(order[0], without=upper)}
            assert {lower for lower in order if tree.dominates(upper, lower)} == below, seed
            for child in tree.children(upper):
                assert tree.parent(child) is upper, seed
                between = below - {upper, child}
                assert not any(tree.dominates(upper, other) and tree.dominates(other, child) for other in between), seed


def test_a_frontier_is_where_dominance_ends():
    for seed in range(60):
        order = draw_graph(seed)
        tree = DominatorTree(order)
        for node in order:
            below = {other for other in order if tree.dominates(node, other)}
            ends = {target for other in below for target in other.successors if target is node or target not in below}
            found = tree.frontier(node)
            assert set(found) == ends, seed
            assert len(found) == len(ends), seed


def follows(found: PostDominators, later: Node, earlier: Node) -> bool:
    """Whether every path from `earlier` to an exit passes `later`, by their spans; trivially so where there is no such path."""
    return PostDominatedSites({0: (found.span(earlier),), 1: (found.span(later),)}).always_follows(1, 0)


def test_a_node_post_dominates_what_reaches_no_exit_without_it():
    for seed in range(60):
        order = draw_graph(seed)
        ends = {node for node in order if not node.successors}
        found = PostDominators(order)
        assert found.all_end == all(reached(node) & ends for node in order), seed
        for earlier in order:
            after = {later for later in order if not reached(earlier, without=later) & ends}
            assert {later for later in order if follows(found, later, earlier)} == after, seed
            first = found.find_immediate(earlier)
            if not reached(earlier) & ends:
                assert first is None, seed
                assert after == set(order), seed
            elif first is None:
                assert after == {earlier}, seed
            else:
                assert first is not earlier, seed
                assert all(follows(found, other, first) for other in after - {earlier}), seed


def test_post_dominators_of_a_long_chain_take_little_memory():
    """Ten thousand conditions in a row: a set for each block took gigabytes."""
    heads = [Node() for _ in range(10_000)]
    for head, following in itertools.pairwise(heads):
        head.successors = [following, heads[-1]]
    found = PostDominators(heads)
    assert found.find_immediate(heads[0]) is heads[-1]
    assert found.find_immediate(heads[-2]) is heads[-1]


def test_loops_within_one_another_are_counted():
    for seed in range(200):
        tree = DominatorTree(draw_graph(seed))
        bodies = natural_loops(tree)
        if bodies is None:
            continue  # a loop with two ways in: only its natural loops count
        deepest = max(sum(node in body for body in bodies.values()) for node in tree.order)
        assert count_nested_loops(tree) == deepest, seed


@pytest.mark.parametrize("shape", ["one end", "ends of their own", "ladder"])
def test_steps_grow_with_the_graph(shape, monkeypatch):
    """Three thousand conditions within one another: their paths meet at one node, or pair by pair."""
    counts = []
    for depth in (300, 3000):
        steps = _count_steps(monkeypatch)
        heads, ends = [Node() for _ in range(depth)], [Node() for _ in range(depth)]
        for k in range(depth):
            inner = heads[k + 1] if k + 1 < depth else ends[-1]
            after = {"one end": ends[-1], "ends of their own": ends[k], "ladder": heads[min(k + 2, depth - 1)]}[shape]
            heads[k].successors = [inner, after]
            ends[k].successors = [ends[k - 1]] if k and after is ends[k] else []
        tree = DominatorTree(reverse_postorder(heads[0]))
        assert tree.dominates(heads[0], ends[-1])
        counts.append(steps[0])
    assert counts[1] <= 15 * counts[0]


def _count_steps(monkeypatch) -> list[int]:
    """Counts the nodes that are passed on the way up the search's tree."""
    steps, whole = [0], dominators._evaluate

    def evaluate(node, linked, best, semi):
        up = node
        while linked[up] >= 0:
            steps[0] += 1
            up = linked[up]
        return whole(node, linked, best, semi)

    monkeypatch.setattr(dominators, "_evaluate", evaluate)
    return steps


def test_common_ancestors_are_those_of_the_walk():
    for seed in range(20):
        dice = random.Random(seed)
        tree = GrowingTree(0)
        above: list[list[int]] = [[0]]  # each node and what is above it
        for node in range(1, 200):
            parent = max(0, node - dice.randint(1, 12))
            tree.add(node, parent)
            above.append([node, *above[parent]])
        for _ in range(300):
            a, b = dice.randrange(200), dice.randrange(200)
            assert tree.find_common(a, b) == next(node for node in above[a] if node in above[b]), seed
