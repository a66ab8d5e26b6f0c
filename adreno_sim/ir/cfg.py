"""The control flow graph of a function: predecessors, orders, and simplifications that keep its behaviour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from .ir import Block, Const, Function, Instr, Value

_Item = TypeVar("_Item")


def reachable_from(start: Block, stop: Block | None = None) -> set[Block]:
    """Returns the blocks reachable from the successors of `start` without passing `stop`. `start` is included if it is in a
    cycle."""
    found: set[Block] = set()
    pending = list(start.successors)
    while pending:
        block = pending.pop()
        if block is not stop and block not in found:
            found.add(block)
            pending += block.successors
    return found


def simplify_cfg(function: Function) -> None:
    """Folds constant branches, removes unreachable blocks, skips empty blocks, and merges chains."""
    _fold_constant_branches(function.blocks)
    _drop_unreachable(function)
    _skip_empty(function)
    _fold_constant_branches(function.blocks)
    _join_chains(function)


def _fold_constant_branches(blocks: list[Block]) -> None:
    for block in blocks:
        last = block.terminator
        if last.op == "condbr" and last.blocks[0] is last.blocks[1] and not _starts_with_phi(last.blocks[0]):
            _make_br(last, last.blocks[0])
        elif last.op == "condbr" and isinstance(last.operands[0], Const) and isinstance(last.operands[0].value, int):
            taken, other = last.blocks if last.operands[0].value else reversed(last.blocks)
            _make_br(last, taken)
            _remove_edge(other, block)


def _make_br(last: Instr, target: Block) -> None:
    last.op, last.operands, last.blocks = "br", [], [target]


def _starts_with_phi(block: Block) -> bool:
    return block.instrs[0].op == "phi"


def _remove_edge(target: Block, source: Block) -> None:
    """Removes one edge from `source` in the phis of `target`."""
    for phi in target.instrs:
        if phi.op != "phi":
            return
        at = phi.blocks.index(source)
        del phi.blocks[at], phi.operands[at]


def _drop_unreachable(function: Function) -> None:
    entry = function.blocks[0]
    reached = {entry}
    pending = [entry]
    while pending:
        for successor in pending.pop().successors:
            if successor not in reached:
                reached.add(successor)
                pending.append(successor)
    for block in function.blocks:
        if block not in reached:
            for successor in block.successors:
                if successor in reached:
                    _remove_edge(successor, block)
    function.blocks = [block for block in function.blocks if block in reached]


def _skip_empty(function: Function) -> None:
    """Redirects jumps to a block that only jumps on, if no phi distinguishes the edges."""
    forward: dict[Block, Block] = {}
    for block in function.blocks[1:]:
        last = block.instrs[0]
        if last.op == "br" and last.blocks[0] is not block and not _starts_with_phi(last.blocks[0]):
            forward[block] = last.blocks[0]
    if not forward:
        return
    for block in function.blocks:
        block.terminator.blocks = [_final_target(target, forward) for target in block.terminator.blocks]
    _drop_unreachable(function)


def _final_target(block: Block, forward: dict[Block, Block]) -> Block:
    seen = set()
    while block in forward and block not in seen:  # a cycle of empty blocks is an endless loop: stop in it
        seen.add(block)
        block = forward[block]
    return block


def _join_chains(function: Function) -> None:
    """Appends a block to its only predecessor if it is the only successor."""
    incoming = predecessors(function.blocks)
    replaced: dict[Value, Value] = {}
    joined: set[Block] = set()
    moved: dict[Block, Block] = {}
    for block in function.blocks:
        if block in joined:
            continue
        while block.terminator.op == "br":
            following = block.terminator.blocks[0]
            if len(incoming[following]) != 1 or following is block or following is function.blocks[0]:
                break
            block.instrs.pop()
            for instr in following.instrs:
                if instr.op == "phi":
                    replaced[instr] = instr.operands[0]
                else:
                    block.instrs.append(instr)
            joined.add(following)
            moved[following] = block
    function.blocks = [block for block in function.blocks if block not in joined]
    _replace_uses(function, replaced, moved)


def _replace_uses(function: Function, replaced: dict[Value, Value], moved: dict[Block, Block]) -> None:
    if not moved:
        return
    for block in function.blocks:
        for instr in block.instrs:
            if instr.op == "phi":
                instr.blocks = [_resolve(source, moved) for source in instr.blocks]
            elif not replaced:
                break
            if replaced:
                instr.operands = [_resolve(value, replaced) for value in instr.operands]


def _resolve(item: _Item, mapping: dict[_Item, _Item]) -> _Item:
    while item in mapping:
        item = mapping[item]
    return item


class _Linked(Protocol):
    """A node of a control flow graph."""

    @property
    def successors(self) -> Sequence[Any]: ...


Node = TypeVar("Node", bound=_Linked)


def predecessors(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """Maps each node to the sources of its incoming edges, one entry per edge. No edge leads out of `nodes`."""
    found: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for successor in node.successors:
            found[successor].append(node)
    return found


def reverse_postorder(start: Node) -> list[Node]:
    """Returns the nodes reachable from `start` in reverse postorder: dominators come first."""
    order: list[Node] = []
    seen = {start}
    stack: list[tuple[Node, Iterator[Node]]] = [(start, iter(start.successors))]
    while stack:
        node, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successor.successors)))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]
