"""Which arguments a launch writes so that no two writes, of whichever work-items, touch a byte in common: nothing can race
there, and nothing is overwritten.

The offset of a write is a linear form over ids, turns of loops and other atoms. It tells the atoms apart where each
coefficient outweighs all that the smaller ones can add up to, as the digits of a number do. If every id that can vary and
the turn of every loop around the write are among them, no two executions of the write agree in the offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ..clc import ir
from . import cache
from .accesses import IMAGE, targets, touches_memory
from .context_bounds import Context
from .index_forms import IndexForms
from .kernel_memo import KernelMemo
from .launch_facts import LaunchFacts
from .linear import Linear
from .proofs import Analysis
from .specialisation import Specialisation

_COORDINATE = 1 << 40  # weight of a coordinate over the one before it: beyond any extent

Step = tuple[int, int]
"""A distance, and how many multiples of it there are, from 0."""

_known: KernelMemo[frozenset[int]] = KernelMemo()


def exclusive_arguments(function: ir.Function, key: Specialisation, facts: LaunchFacts, *, keep: bool = False) -> frozenset[int]:
    """Positions of the arguments that are only written, each byte at most once in a launch of `facts`.

    This looks at each argument alone: one whose memory another argument shares may be among them. `keep`: they are looked for
    on disk first, and kept there.
    """
    found = partial(cache.found_of_launch, "exclusive", _all) if keep else _all
    return _known.get(function, key, facts, make=lambda: found(function, key, facts))


def _all(function: ir.Function, key: Specialisation, facts: LaunchFacts) -> frozenset[int]:
    try:
        return frozenset(_found(function, key, facts))
    except RecursionError:  # nested too deeply to look at
        return frozenset()


@dataclass(frozen=True)
class Write:
    """A write of `size` bytes at `offset` (of texels: one, at a number that stands for the coordinates)."""

    instr: ir.Instr
    offset: Linear
    size: int


def _found(function: ir.Function, key: Specialisation, facts: LaunchFacts) -> Iterator[int]:
    analysis = Analysis(function, key, facts)
    writes = _writes(function, analysis)
    if writes is None:
        return
    for param in function.params:
        found = writes.get(param.index, (analysis.forms, []))
        if found is not None and _all_apart(*found):
            yield param.index


def _writes(function: ir.Function, analysis: Analysis) -> dict[int, tuple[IndexForms, list[Write]] | None] | None:
    """The writes to each argument, None for one that is accessed in another way. None where an access may lead anywhere."""
    forms = analysis.forms
    found: dict[int, tuple[IndexForms, list[Write]] | None] = {}
    for block in forms.dominators.order:
        for instr in block.instrs:
            if not touches_memory(instr):
                continue
            write = write_of(instr, analysis)
            for target in targets(instr):
                place = ("param", target.index) if isinstance(target, ir.Param) else analysis.key_of(target)
                if place is None:
                    return None
                kind, index = place
                if kind != "param":
                    continue
                assert isinstance(index, int)
                known = found.setdefault(index, (forms, []))
                if write is None:
                    found[index] = None
                elif known is not None:
                    known[1].append(write)
    return found


def write_of(instr: ir.Instr, analysis: Analysis) -> Write | None:
    """A plain write that is certain to be in range, or None."""
    if not analysis.in_range(instr):
        return None
    if instr.callee is not None and IMAGE.fullmatch(instr.callee.name):
        return _texel(instr, analysis) if instr.callee.name.startswith("write") else None
    plain = instr.op == "store" or (instr.callee is not None and instr.callee.name.startswith("vstore"))
    spans = list(analysis.spans(instr)) if plain else []
    if len(spans) != 1 or spans[0] is None:
        return None
    return Write(instr, spans[0].offset, spans[0].size)


def _texel(instr: ir.Instr, analysis: Analysis) -> Write | None:
    """The coordinates as one number: each is below `_COORDINATE`, so that different ones give different numbers."""
    image, where = instr.operands[0], instr.operands[1]
    if not isinstance(image, ir.Param):
        return None
    number = Linear.number(0)
    for lane in range(len(analysis.forms.extents(image))):
        number = number.plus(analysis.forms.form(where, lane), _COORDINATE**lane)
    return Write(instr, number, 1)


def _all_apart(forms: IndexForms, writes: list[Write]) -> bool:
    """Whether no two executions of these writes have a byte in common."""
    ids = [number for axis in range(3) for number in (forms.local_id(axis), forms.group_id(axis))]
    if not items_apart(forms, writes, ids):
        return False
    return all(_turns_told(forms, write) for write in writes)


def items_apart(forms: IndexForms, writes: list[Write], ids: list[Linear], reads: Sequence[ir.Instr] = ()) -> bool:
    """Whether no two executions of these writes by work-items that differ in any of `ids` have a byte in common, nor those of
    different writes or with different turns of a loop in the offset. `reads`: of what one of the writes writes, held against
    them in the same way."""
    if not writes:
        return True
    first = writes[0]
    if any(w.offset.terms != first.offset.terms or w.size != first.size for w in writes):
        return False
    offsets = sorted(w.offset.const for w in writes)
    places = [forms.context(instr) for instr in (*(w.instr for w in writes), *reads)]
    steps = _as_steps([offset - offsets[0] for offset in offsets])
    if steps is None or not all(_told(place, number, first.offset) for place in places for number in ids):
        return False
    return _tells_apart(places, first.offset, steps, first.size)


def _told(place: Context, number: Linear, offset: Linear) -> bool:
    """Whether the atoms of `offset` determine `number`, if it can vary here."""
    low, high = place.tight(number)
    return low == high or offset.terms.keys() >= number.terms.keys()


def _turns_told(forms: IndexForms, write: Write) -> bool:
    """Whether the atoms of the offset determine the turns of all loops around a write."""
    loops = _loops_around(forms, forms.block_of[id(write.instr)])
    turning = {id(forms.turns[atom]) for atom in write.offset.terms if atom in forms.turns}
    return loops is not None and loops <= turning


def _loops_around(forms: IndexForms, block: ir.Block) -> set[int] | None:
    """Ids of the heads of all loops around `block`; None where control goes round without one that dominates the way."""
    dominators = forms.dominators
    position = {id(b): n for n, b in enumerate(dominators.order)}
    heads: set[int] = set()
    for tail in dominators.order:
        for head in tail.instrs[-1].blocks:
            if position[id(head)] > position[id(tail)]:
                continue
            if not dominators.dominates(head, tail):
                return None
            if id(block) in _body(forms, head, tail):
                heads.add(id(head))
    return heads


def _body(forms: IndexForms, head: ir.Block, tail: ir.Block) -> set[int]:
    """Ids of the blocks from which control gets to `tail` without passing `head`, and of `head`."""
    body, pending = {id(head), id(tail)}, [tail]
    while pending:
        block = pending.pop()
        for source in forms.dominators.predecessors[id(block)] if block is not head else ():
            if id(source) not in body:
                body.add(id(source))
                pending.append(source)
    return body


def _tells_apart(places: list[Context], value: Linear, steps: list[Step], width: int) -> bool:
    """Whether different values of the atoms of `value`, plus any of `steps`, are at least `width` apart.

    Of two executions look at the largest coefficient whose atom (or step) differs: what is smaller must not make up for it.
    """
    parts: list[tuple[int, int, int]] = [(step, count, -1) for step, count in steps]
    parts += [(abs(coefficient), 0, atom) for atom, coefficient in value.terms.items() if _varies(places, atom)]
    below, extent = Linear.number(0), 0  # of atoms, and of steps
    for coefficient, count, atom in sorted(parts):
        if coefficient < _spread(places, below) + extent + width:
            return False
        if atom < 0:
            extent += coefficient * (count - 1)
        else:
            below = below.plus(Linear({atom: value.terms[atom]}, 0))
    return True


def _varies(places: list[Context], atom: int) -> bool:
    return _spread(places, Linear({atom: 1}, 0)) > 0


def _spread(places: list[Context], value: Linear) -> int:
    """The largest difference between two values, at whichever places."""
    ends = [place.tight(value) for place in places]
    return max(high for _, high in ends) - min(low for low, _ in ends)


def _as_steps(offsets: list[int]) -> list[Step] | None:
    """Different offsets, ascending from 0, as all the sums of multiples of some steps; None where they are no such sums."""
    steps: list[Step] = []
    while len(offsets) > 1:
        step, count, left = offsets[1] - offsets[0], 1, set(offsets)
        if step <= 0 or len(left) != len(offsets):
            return None
        while count * step in left:
            count += 1
        starts = []
        for offset in offsets:
            if offset in left:
                run = {offset + n * step for n in range(count)}
                if not run <= left:
                    return None
                left -= run
                starts.append(offset)
        steps.append((step, count))
        offsets = starts
    return steps
