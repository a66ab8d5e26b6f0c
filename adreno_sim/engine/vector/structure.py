"""Loops and divergent branches of a control flow graph: which branches stay, and what becomes masked code.

The graph is seen level by level: the function, and the body of each loop. At a level an inner loop is one item, so items form
an acyclic graph. A divergent branch and everything up to the join of its paths is "linear": all of it runs, each item under
the mask of the lanes that reach it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property, reduce
from typing import Union

from ...ir import ir
from ...ir.dominators import DominatorTree
from ...ir.growing_tree import GrowingTree
from ...ir.loops import natural_loops
from ...records import dataclass
from ..analysis.segments import Segment
from ..emit.check import NotVectorizable

MOST_NESTED_LOOPS = 100
"""The most loops within one another that become vectors: they are emitted by calls within one another."""


@dataclass(eq=False)
class Edge:
    """An outgoing edge of a segment."""

    source: Segment
    target: Segment


@dataclass(eq=False)
class Loop:
    """A natural loop. `divergent`: lanes may leave it in different iterations, or by different exits. `depth`: 1 for a
    loop that is in no other."""

    head: Segment
    body: set[Segment]
    parent: Loop | None = None
    divergent: bool = False
    depth: int = 1

    @cached_property
    def blocks(self) -> set[ir.Block]:
        return {segment.block for segment in self.body}

    @cached_property
    def leaving(self) -> list[Edge]:
        return [Edge(s, t) for s in sorted(self.body, key=lambda s: s.number) for t in s.successors if t not in self.body]


Item = Union[Segment, Loop]


class VirtualNode:
    """A node that is not a segment: the back edge of a loop, or the end of a level."""

    def __init__(self, name: str):
        self.name = name


LATCH = VirtualNode("latch")
END = VirtualNode("end")
Node = Union[Segment, Loop, VirtualNode]


@dataclass(eq=False)
class Level:
    """The function (loop None) or the body of a loop. `branching`: items whose outgoing edges are masked. `linear`: items run
    under masks. `dominators`: the dominator tree of the items."""

    loop: Loop | None
    entry: Item
    items: list[Item]
    next: dict[Item, list[Node]]
    home: dict[Segment, Item]
    position: dict[Item, int] = field(default_factory=dict)
    before: dict[Item, list[Item]] = field(default_factory=dict)
    joins: dict[Item, Node] = field(default_factory=dict)
    branching: set[Item] = field(default_factory=set)
    linear: set[Item] = field(default_factory=set)
    dominators: GrowingTree[Node] = field(init=False)

    def __post_init__(self) -> None:
        self.dominators = GrowingTree(self.entry)

    def node(self, target: Segment) -> Node:
        """Returns the node that an edge to `target` leads to at this level."""
        if self.loop is not None and target is self.loop.head:
            return LATCH
        return self.home.get(target, END)

    def children(self, item: Item) -> list[Item]:
        """Returns the items that `item` immediately dominates, in topological order."""
        return self._children.get(item, [])

    @cached_property
    def _children(self) -> dict[Node, list[Item]]:
        found: dict[Node, list[Item]] = {}
        for item in self.items[1:]:
            found.setdefault(self.dominators.parents[item], []).append(item)
        return found

    def region(self, root: Item) -> list[Item]:
        """Returns the items between `root` and its join, in topological order."""
        end, seen, work = self.joins[root], set(), list(self.next[root])
        while work:
            node = work.pop()
            if node is end or node in seen or isinstance(node, VirtualNode):
                continue
            seen.add(node)
            work += self.next[node]
        return sorted(seen, key=self.position.__getitem__)


class Structure:
    """The loops and levels of the graph `order` (in reverse postorder). Raises NotVectorizable if it is not reducible."""

    def __init__(self, order: list[Segment]):
        self.order = order
        self._tree = DominatorTree(order)
        self.loops = self._loops()
        self.innermost: dict[Segment, Loop | None] = dict.fromkeys(order)
        self._place = {segment: number for number, segment in enumerate(order)}
        for loop in self.loops:  # outer ones first
            loop.parent = self.innermost[loop.head]
            loop.depth = loop.parent.depth + 1 if loop.parent is not None else 1
            if loop.depth > MOST_NESTED_LOOPS:
                raise NotVectorizable(f"loops nested more than {MOST_NESTED_LOOPS} deep")
            self.innermost.update(dict.fromkeys(loop.body, loop))
        self.levels = {loop: self._make_level(loop) for loop in [None, *self.loops]}
        self.segment_of = {id(i): s for s in order for i in s.instrs}

    def dominates(self, a: Segment, b: Segment) -> bool:
        return self._tree.dominates(a, b)

    def holds_loops(self, loop: Loop) -> bool:
        """Returns whether there are loops inside `loop`."""
        return any(self.innermost[segment] is not loop for segment in loop.body)

    def _loops(self) -> list[Loop]:
        bodies = natural_loops(self._tree)
        if bodies is None:
            raise NotVectorizable("a loop with more than one way in")
        found = [Loop(head, body) for head, body in bodies.items()]
        return sorted(found, key=lambda loop: (-len(loop.body), loop.head.number))

    def _make_level(self, loop: Loop | None) -> Level:
        body = self.order if loop is None else sorted(loop.body, key=self._place.__getitem__)
        home: dict[Segment, Item] = {}
        for segment in body:
            item: Item = segment
            inner = self.innermost[segment]
            while inner is not loop:
                assert inner is not None
                item, inner = inner, inner.parent
            home[segment] = item
        level = Level(loop, home[body[0]], list(dict.fromkeys(home.values())), {}, home)
        for item in level.items:
            targets = [e.target for e in item.leaving] if isinstance(item, Loop) else item.successors
            nodes = [level.node(t) for t in targets]
            level.next[item] = list(dict.fromkeys(nodes)) or [END]
        level.items = self._sorted(level)
        level.position = {item: number for number, item in enumerate(level.items)}
        self._link(level)
        return level

    @staticmethod
    def _sorted(level: Level) -> list[Item]:
        """Returns the items in topological order."""
        done: list[Item] = []
        seen: set[Item] = set()

        def visit(item: Item) -> None:
            stack = [(item, iter(level.next[item]))]
            seen.add(item)
            while stack:
                top, rest = stack[-1]
                for node in rest:
                    if not isinstance(node, VirtualNode) and node not in seen:
                        seen.add(node)
                        stack.append((node, iter(level.next[node])))
                        break
                else:
                    done.append(top)
                    stack.pop()

        visit(level.entry)
        return done[::-1]

    @staticmethod
    def _link(level: Level) -> None:
        """Computes the immediate dominator and the join (immediate post-dominator) of each item."""
        after: GrowingTree[Node] = GrowingTree(END)
        after.add(LATCH, END)
        for item in reversed(level.items):
            level.joins[item] = join = reduce(after.find_common, level.next[item])
            after.add(item, join)
        before = level.before
        for item in level.items:
            for node in level.next[item]:
                if not isinstance(node, VirtualNode):
                    before.setdefault(node, []).append(item)
        for item in level.items[1:]:
            sources: list[Node] = [*before[item]]
            level.dominators.add(item, reduce(level.dominators.find_common, sources))

    # Divergence

    def mark_divergence(self, divides: Callable[[ir.Instr], bool]) -> set[Segment]:
        """Marks what is linear. `divides` says whether lanes may diverge at a branch. Returns the segments where masked paths
        join."""
        mixed: set[Segment] = set()
        for loop in [*reversed(self.loops), None]:  # inner ones first
            self._mark_level(self.levels[loop], divides, mixed)
        return mixed

    def _mark_level(self, level: Level, divides: Callable[[ir.Instr], bool], mixed: set[Segment]) -> None:
        roots = [i for i in level.items if self._divides(i, divides)]
        level.branching, level.linear = set(roots), set()
        work = deque(roots)
        while work:
            root = work.popleft()
            if root in level.linear:  # its region is part of the one that it is in
                continue
            region = set(level.region(root))
            level.linear |= region
            for item in {source: None for inside in region for source in level.before[inside]}:
                if item in region or item is root:
                    continue
                common = level.dominators.find_common(item, root)
                assert not isinstance(common, VirtualNode)
                if common not in level.branching:
                    level.branching.add(common)
                    work.append(common)
        if level.loop is not None and any(level.joins[i] is END for i in level.branching):
            level.loop.divergent = True
        if level.loop is not None and level.loop.divergent:
            level.branching, level.linear = set(level.items), set(level.items)
        level.branching |= level.linear
        self._mix(level, mixed)

    @staticmethod
    def _divides(item: Item, divides: Callable[[ir.Instr], bool]) -> bool:
        if isinstance(item, Loop):
            return item.divergent and len({e.target for e in item.leaving}) > 1
        last = item.block.instrs[-1]
        return item.sync is None and last.op in ("condbr", "switch") and divides(last)

    def _mix(self, level: Level, mixed: set[Segment]) -> None:
        """Adds the targets of more than one masked edge."""
        count: dict[Segment, int] = {}
        for item in level.items:
            for edge in exit_edges(item):
                if item in level.branching or (isinstance(item, Loop) and item.divergent):
                    count[edge.target] = count.get(edge.target, 0) + 1
        mixed.update(t for t, n in count.items() if n > 1)


def exit_edges(item: Item) -> Iterable[Edge]:
    """Returns the outgoing edges of an item."""
    if isinstance(item, Loop):
        return item.leaving
    return [Edge(item, t) for t in item.successors]
