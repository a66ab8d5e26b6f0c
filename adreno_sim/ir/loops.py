"""Loops of a control flow graph: back edges and natural loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .cfg import Node
from .dominators import DominatorTree


def back_edges(order: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Returns the edges (tail, head) that go back in `order`, a reverse postorder: every cycle holds at least one of them."""
    position = {id(node): number for number, node in enumerate(order)}
    found = {
        (id(tail), id(head)): (tail, head)
        for tail in order
        for head in tail.successors
        if position[id(head)] <= position[id(tail)]
    }
    return list(found.values())


def natural_loops(tree: DominatorTree[Node]) -> dict[Node, set[Node]] | None:
    """Returns the nodes of each natural loop by its header; None if control flow is irreducible (a loop with two ways in)."""
    edges = back_edges(tree.order)
    if not all(tree.dominates(head, tail) for tail, head in edges):
        return None
    sources = {node: tree.predecessors[id(node)] for node in tree.order}
    bodies: dict[Node, set[Node]] = {}
    for tail, head in edges:
        bodies.setdefault(head, {head}).update(loop_body(sources, tail, head))
    return bodies


def loop_body(sources: Mapping[Node, Sequence[Node]], tail: Node, head: Node) -> set[Node]:
    """Returns the nodes of the loop of one back edge: those that reach `tail` without passing `head`.

    sources: the predecessors of every node.
    """
    body, work = {head}, [tail]
    while work:
        node = work.pop()
        if node not in body:
            body.add(node)
            work += sources[node]
    return body


def count_nested_loops(tree: DominatorTree[Node]) -> int:
    """Returns how many natural loops lie within one another, at most, in near linear time: a loop that was counted is one node
    of the loops around it."""
    order, stands_for, depths = tree.order, list(range(len(tree.order))), [0] * len(tree.order)

    def find(place: int) -> int:
        while stands_for[place] != place:
            stands_for[place] = place = stands_for[stands_for[place]]
        return place

    for head in reversed(range(len(order))):  # inner loops first
        tails = [source for source in tree.predecessors[id(order[head])] if tree.dominates(order[head], source)]
        work, inside = [find(tree.position(tail)) for tail in tails], {head}
        while work:
            place = work.pop()
            if place not in inside:
                inside.add(place)
                sources = tree.predecessors[id(order[place])]
                work += [find(tree.position(source)) for source in sources if tree.dominates(order[head], source)]
        if tails:
            depths[head] = 1 + max(depths[place] for place in inside)
            for place in inside:
                stands_for[place] = head
    return max(depths)
