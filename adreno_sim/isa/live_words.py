"""How many words of registers the values of a kernel take where most of them are alive: from live ranges of kernel IR.

Vectors are taken apart: an element that is read out of one, or put into one, is the same scalar. A value that does not belong
to one work-item (a constant, a parameter, an address of a variable) takes no register; an address with a computed index does.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..base.errors import UnsupportedError
from ..ir import ir, layout
from ..ir.builtins import builtin_of
from ..records import dataclass
from .translate.translation import constant_index, leaves_of

Leaves = tuple[int, ...]
_NONE = -1
"""The leaf of what takes no register."""

_MOST_IN_REGISTERS = 256
"""Bytes of a private array that a compiler may keep in registers; a larger one is in memory."""

_SAME = frozenset(["freeze", "addrspacecast", "bitcast", "inttoptr", "ptrtoint"])


def find_live_words(function: ir.Function) -> float:
    """Returns the words that are alive at once, at most; private arrays that are kept in registers are, always."""
    found: float = function.fact("live words", _find_live_words)
    return found


def _find_live_words(function: ir.Function) -> float:
    scalars = _Scalars(function)
    return _find_peak(function, scalars) + _array_words(function)


def _array_words(function: ir.Function) -> float:
    from .translate.private_arrays import find_arrays  # the translation, for launches of large groups alone

    try:
        arrays = find_arrays(function)
    except UnsupportedError:  # a type that these GPUs do not have
        return 0
    allocas = [instr for instr in function.blocks[0].instrs if id(instr) in arrays]
    sizes = [layout.size_of(instr.elem) for instr in allocas if instr.elem is not None]
    return sum(size for size in sizes if size <= _MOST_IN_REGISTERS) / 4


class _Scalars:
    """The scalars of each value by number, and the words of each."""

    def __init__(self, function: ir.Function):
        self.words: list[float] = []
        self._leaves: dict[int, Leaves] = {}
        for block in function.blocks:  # a phi may be used before its block was seen
            for phi in block.phis:
                self._leaves[id(phi)] = self._add(phi.type)
        for block in function.blocks:
            for instr in block.instrs:
                if instr.op != "phi":
                    self._leaves[id(instr)] = self._define(instr)

    def of(self, value: ir.Value) -> Leaves:
        """Returns the scalars of an operand that take a register."""
        return tuple(leaf for leaf in self._all(value) if leaf != _NONE)

    def of_many(self, values: Iterable[ir.Value]) -> Leaves:
        """Returns those of several operands."""
        return tuple(leaf for value in values for leaf in self.of(value))

    def _all(self, value: ir.Value) -> Leaves:
        if isinstance(value, ir.Instr):
            return self._leaves.get(id(value), ())
        return (_NONE,) * len(_types_of(ir.type_of(value)))

    def _add(self, type: ir.Type) -> Leaves:
        start = len(self.words)
        self.words += map(_words_of, _types_of(type))
        return tuple(range(start, len(self.words)))

    def _define(self, instr: ir.Instr) -> Leaves:
        known = self._find_known(instr)
        return self._add(instr.type) if known is None else known

    def _find_known(self, instr: ir.Instr) -> Leaves | None:
        """The scalars of a value that are those of its operands; None if they are new."""
        op, operands = instr.op, instr.operands
        if op in ("alloca", "undefine"):
            return (_NONE,)
        if op in _SAME or (op in ("sext", "zext") and instr.type == ir.Int(64)):
            given = self._all(operands[0])
            return given if len(given) == len(_types_of(instr.type)) else None
        if op == "trunc" and ir.type_of(operands[0]) == ir.Int(64):
            return self._all(operands[0])
        if op == "gep":
            moves = any(constant_index(index) is None for index in operands[1:])
            return None if moves and self._all(operands[0]) != () else self._all(operands[0])
        if op == "call" and builtin_of(instr).query and builtin_of(instr).uniformity != "work_item":
            return (_NONE,) * len(_types_of(instr.type))
        return self._find_elements(instr)

    def _find_elements(self, instr: ir.Instr) -> Leaves | None:
        operands = instr.operands
        if instr.op == "extractelement":
            at = constant_index(operands[1])
            given = self._all(operands[0])
            return None if at is None or not 0 <= at < len(given) else (given[at],)
        if instr.op == "insertelement":
            at = constant_index(operands[2])
            given = self._all(operands[0])
            return None if at is None or not 0 <= at < len(given) else given[:at] + self._all(operands[1]) + given[at + 1 :]
        if instr.op == "shufflevector":
            given = self._all(operands[0]) + self._all(operands[1])
            return tuple(given[at] if 0 <= at < len(given) else _NONE for at in instr.mask)
        return None


def _types_of(type: ir.Type) -> tuple[ir.Type, ...]:
    return tuple(leaf for _, leaf in leaves_of(type)) if not isinstance(type, (ir.Image, ir.Sampler)) else ()


def _words_of(type: ir.Type) -> float:
    if isinstance(type, ir.Pointer):
        return 2 if type.space in (ir.GLOBAL, ir.CONSTANT, ir.GENERIC) else 1
    return max(0.5, type.bits / 32) if isinstance(type, (ir.Int, ir.Float)) else 1


@dataclass
class _Step:
    """What an instruction defines and uses, as sets of bits."""

    defines: int
    uses: int


def _find_peak(function: ir.Function, scalars: _Scalars) -> float:
    """Liveness, backwards until nothing changes; then the most words between two instructions."""
    steps = {id(block): [_step_of(instr, scalars) for instr in block.instrs] for block in function.blocks}
    flows = {id(block): _join_steps(steps[id(block)]) for block in function.blocks}
    entering: dict[int, int] = dict.fromkeys(steps, 0)
    changed = True
    while changed:
        changed = False
        for block in reversed(function.blocks):
            whole = flows[id(block)]
            found = (_leaving(block, entering, scalars) & ~whole.defines) | whole.uses
            if found != entering[id(block)]:
                entering[id(block)], changed = found, True
    leaving = {id(block): _leaving(block, entering, scalars) for block in function.blocks}
    return max((_peak_of(steps[at], live, scalars.words) for at, live in leaving.items()), default=0)


def _step_of(instr: ir.Instr, scalars: _Scalars) -> _Step:
    """The operands of a phi are alive at the ends of the blocks that they come from. A value that only gets a new name is not
    defined.
    """
    uses = 0 if instr.op == "phi" else _bits(scalars.of_many(instr.operands))
    return _Step(_bits(scalars.of(instr)) & ~uses, uses)


def _bits(leaves: Iterable[int]) -> int:
    found = 0
    for leaf in leaves:
        found |= 1 << leaf
    return found


def _join_steps(steps: list[_Step]) -> _Step:
    """A block as one step: what it uses before it defines it."""
    whole = _Step(0, 0)
    for step in reversed(steps):
        whole.uses = (whole.uses & ~step.defines) | step.uses
        whole.defines |= step.defines
    whole.defines &= ~whole.uses
    return whole


def _leaving(block: ir.Block, entering: dict[int, int], scalars: _Scalars) -> int:
    live = 0
    for target in block.successors:
        live |= entering[id(target)]
        for phi in target.phis:
            live |= _bits(scalars.of(phi.incoming(block)))
    return live


def _peak_of(steps: list[_Step], live: int, words: list[float]) -> float:
    now = most = _sum_words(live, words)
    for step in reversed(steps):
        unused = step.defines & ~live  # takes a register for a moment
        most = max(most, now + _sum_words(unused, words))
        gone, new = step.defines & live, step.uses & ~(live & ~step.defines)
        now += _sum_words(new, words) - _sum_words(gone, words)
        live = (live & ~step.defines) | step.uses
    return max(most, now)


def _sum_words(bits: int, words: list[float]) -> float:
    total = 0.0
    while bits:
        lowest = bits & -bits
        total += words[lowest.bit_length() - 1]
        bits ^= lowest
    return total
