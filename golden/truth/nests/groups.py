"""Writes statements that run together: strip by strip, or element by element."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

from ....base.integers.interval import Interval
from ....compiler.tvm_bridge import read
from ..tensor import Strip
from ..value import Value, c_type
from .chains import Chain, find_chains, loops_by_dimension, shape_of
from .loops import NOT_UNROLLED, LoopWriter
from .strips import WIDTH, Nest, Part, Strips, find_nest, find_strips, is_load, key_of


def write_group(writer: LoopWriter, group: Strips | Chain) -> None:
    """The statements of a group."""
    if isinstance(group, Chain):
        _write_chain(writer, group)
    else:
        _write_strips(writer, group)


def _write_chain(writer: LoopWriter, chain: Chain) -> None:
    """One loop nest with the statements of all nests inside."""
    names = []
    for extent, dtype in shape_of(chain.nests[0]) or ():
        names.append(Value(writer.fresh("i"), dtype, range=Interval(0, extent - 1)))
        text, type = names[-1].text, c_type(dtype)
        writer.line(NOT_UNROLLED if extent > 1 else "")
        writer.open(f"for ({type} {text} = 0; {text} < ({type}){extent}LL; {text}++)" if extent > 1 else "")
        if extent == 1:
            writer.line(f"{type} {text} = 0;")
    for nest in chain.nests:
        tensor = writer.tensors[nest.stored]
        tensor.passed = nest.stored in chain.passed
        if tensor.passed:
            writer.line(f"{c_type(tensor.dtype)} {tensor.name} = 0;")
            for end in writer.companions(tensor):
                writer.line(f"double {tensor.name}{end} = 0;")
        for loop, name in zip(loops_by_dimension(nest) or (), names, strict=True):
            writer.names[read.key(loop.loop_var)] = name
        writer.statement(nest.realize)
    for _ in names:
        writer.close()


def _write_strips(writer: LoopWriter, strips: Strips) -> None:
    """The nests of a group, strip by strip."""
    base = writer.fresh("s")
    writer.open(f"for (int64_t {base} = 0; {base} < {strips.extent}; {base} += {WIDTH})")
    end = writer.let("int64_t", f"{base} + {WIDTH} < {strips.extent} ? {base} + {WIDTH} : {strips.extent}")
    for part in strips.parts:
        if part.axis >= 0:
            writer.tensors[part.nest.stored].strip = Strip(part.axis, base, WIDTH)
        _write_strip(writer, part, base, end, strips.extent)
    writer.close()


def _write_strip(writer: LoopWriter, part: Part, base: str, end: str, extent: int) -> None:
    """One nest over the elements [base, end), the innermost loop: they do not wait for each other."""
    others = [loop for loop in part.nest.loops if loop is not part.loop]
    for loop in others:
        writer.open_loop(loop)
    name, type = writer.fresh("i"), c_type(read.dtype_of(part.loop.loop_var))
    writer.names[read.key(part.loop.loop_var)] = Value(name, read.dtype_of(part.loop.loop_var), range=Interval(0, extent - 1))
    writer.open(f"for ({type} {name} = ({type}){base}; {name} < ({type}){end}; {name}++)")
    writer.statement(part.nest.realize)
    for _ in range(len(others) + 1):
        writer.close()


class Groups:
    """The statements of a function that run together, found once for all times that it is written.

    inexact: keys of the tensors that are known to hold rounded values, whatever the function is given.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.inexact: frozenset[int] = frozenset()
        self._nests: dict[int, Nest | None] = {}
        self._known: dict[int, dict[int, Strips | Chain | None]] = {}

    def nest_of(self, statement: Any) -> Nest | None:
        """The statement as a nest; None if it is something else."""
        key = read.key(statement)
        if key not in self._nests:
            self._nests[key] = find_nest(statement)
        return self._nests[key]

    def within(self, sequence: Any, temporary: Collection[int]) -> dict[int, Strips | Chain | None]:
        """By the position of a statement in a sequence: the group that is written in its place; None for the others in a group.

        temporary: keys of tensors that are not parameters.
        """
        key = read.key(sequence)
        if key not in self._known:
            nests = [self.nest_of(statement) for statement in sequence.seq]
            strips = find_strips(nests, temporary, self._uses)
            within = {number for group in strips for number in group.numbers}
            chains = [chain for chain in find_chains(nests, temporary, self._uses) if not within & set(chain.numbers)]
            found: dict[int, Strips | Chain | None] = {}
            groups: list[Strips | Chain] = [*strips, *chains]
            for group in groups:
                found |= dict.fromkeys(group.numbers)
                found[group.numbers[-1]] = group
            self._known[key] = found
        return self._known[key]

    @cached_property
    def _uses(self) -> dict[int, int]:
        """How often each tensor is loaded or stored, by key."""
        found: dict[int, int] = {}
        for node in read.walk(self.function.body):
            if is_load(node) or read.kind(node) == "BufferStore":
                key = key_of(node)
                found[key] = found.get(key, 0) + 1
        return found
