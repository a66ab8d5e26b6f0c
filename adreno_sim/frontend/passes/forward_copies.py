"""Forwarding of whole private variables: a struct passed by value is read where the caller has it.

A helper that takes a struct gets a copy of it, and passes it on as another. Where such a copy is never written again, and the
original not before the copy's last read, all reads take the original: they see the same bytes, written or not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from ...ir.builtins import builtin_of
from ...ir.ir import Block, Const, Function, Instr, Value
from ...ir.provenance import is_pointer
from ...ir.queries import private_bytes
from ...records import dataclass

_MOST_STEPS = 1_000_000
"""The most blocks, reads and writes that are examined for one function. Copies that are left stay."""

_Place = tuple[Block, int]
"""A block and the position of an instruction in it."""


@dataclass
class _Accesses:
    """What happens to a private variable. losses: where it loses its value. whole: False if there are accesses that are not
    known, or pointers that merge."""

    reads: list[_Place] = field(default_factory=list)
    writes: list[_Place] = field(default_factory=list)
    losses: list[_Place] = field(default_factory=list)
    whole: bool = True


def forward_copies(function: Function) -> bool:
    """Makes reads of copies reads of the original where both are the same. Returns whether any was."""
    copies = [place for place in _places(function) if _is_copy(place[0].instrs[place[1]])]
    if not copies:
        return False
    accesses = _find_accesses(function)
    replaced: dict[Value, Value] = {}
    removed: set[Value] = set()
    steps = _MOST_STEPS
    for block, at in copies:
        copy = block.instrs[at]
        target, source = copy.operands[0], copy.operands[1]
        while source in replaced:
            source = replaced[source]
        here, there = accesses[target], accesses[source]
        if source is target or not (here.whole and there.whole and here.writes == [(block, at)]):
            continue
        steps -= len(function.blocks) + len(here.reads) + len(there.writes)
        if steps < 0:
            break
        changes = [*there.writes, *there.losses, *here.losses]
        if _may_read_before(function, (block, at), here.reads, changes):
            continue
        replaced[target] = source
        removed |= {target, copy, *(lost.instrs[place] for lost, place in here.losses)}
        there.reads += here.reads
        assert isinstance(source, Instr)
        assert isinstance(target, Instr)
        source.align = max(source.align, target.align)
    if removed:
        _replace(function, replaced, removed)
    return bool(removed)


def _places(function: Function) -> Iterator[_Place]:
    for block in function.blocks:
        for at in range(len(block.instrs)):
            yield block, at


def _is_copy(instr: Instr) -> bool:
    """Returns whether `instr` copies one whole private variable to another."""
    if instr.op not in ("memcpy", "memmove") or instr.volatile:
        return False
    target, source, length = instr.operands
    if isinstance(target, Instr) and target.indices:
        return False  # a debugger shows it
    pair = (target, source)
    return isinstance(length, Const) and all(
        isinstance(variable, Instr) and variable.op == "alloca" and private_bytes(variable) == length.value for variable in pair
    )


def _find_accesses(function: Function) -> dict[Value, _Accesses]:
    """Returns the accesses of every private variable."""
    found: dict[Value, _Accesses] = {instr: _Accesses() for instr in function.blocks[0].instrs if instr.op == "alloca"}
    root: dict[Value, Value] = {variable: variable for variable in found}
    places = list(_places(function))
    derived: dict[Value, list[Instr]] = {}
    for block, at in places:
        if (instr := block.instrs[at]).op in ("gep", "bitcast"):
            derived.setdefault(instr.operands[0], []).append(instr)
    pending: list[Value] = list(found)
    while pending:
        pointer = pending.pop()
        for instr in derived.get(pointer, ()):
            root[instr] = root[pointer]
            pending.append(instr)
    for block, at in places:
        instr = block.instrs[at]
        if instr in root:
            continue
        pointers = [value for value in instr.operands if is_pointer(value)]
        for number, value in enumerate(instr.operands):
            if value in root:
                _note(found[root[value]], instr, number, pointers.index(value), (block, at))
    return found


def _note(accesses: _Accesses, instr: Instr, number: int, pointer: int, place: _Place) -> None:
    """Notes an access through operand `number` of `instr`, which is its pointer number `pointer`."""
    if instr.volatile:
        accesses.whole = False
    elif instr.op == "load":
        accesses.reads.append(place)
    elif instr.op == "store" and number == 1:
        accesses.writes.append(place)
    elif instr.op == "undefine":
        accesses.losses.append(place)
    elif instr.op in ("memcpy", "memmove", "memset") and number < 2:
        (accesses.reads if number else accesses.writes).append(place)
    elif instr.op == "call" and (effect := builtin_of(instr).effect(pointer)) in ("read", "write"):
        (accesses.reads if effect == "read" else accesses.writes).append(place)
    else:
        accesses.whole = False


def _may_read_before(function: Function, copy: _Place, reads: list[_Place], writes: list[_Place]) -> bool:
    """Returns whether a path leads from the entry, or from what changes either, to a read of the copy without the copy."""
    stops = _positions(reads)
    pending = [(function.blocks[0], -1), *writes]
    seen: set[Block] = set()
    while pending:
        block, after = pending.pop()
        end = copy[1] if block is copy[0] and copy[1] > after else len(block.instrs)
        here = stops.get(block, [])
        first = bisect_right(here, after)
        if first < len(here) and here[first] < end:
            return True
        if end == len(block.instrs):
            following = [(successor, -1) for successor in block.successors if successor not in seen]
            seen.update(successor for successor, _ in following)
            pending += following
    return False


def _positions(places: list[_Place]) -> dict[Block, list[int]]:
    found: dict[Block, list[int]] = {}
    for block, at in places:
        found.setdefault(block, []).append(at)
    for positions in found.values():
        positions.sort()
    return found


def _replace(function: Function, replaced: dict[Value, Value], removed: set[Value]) -> None:
    def resolve(value: Value) -> Value:
        while value in replaced:
            value = replaced[value]
        return value

    for block in function.blocks:
        block.instrs = [instr for instr in block.instrs if instr not in removed]
        for instr in block.instrs:
            instr.operands = [resolve(value) for value in instr.operands]
