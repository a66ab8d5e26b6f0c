"""The facts about a kernel's machine code, as data."""

from __future__ import annotations

from dataclasses import fields

from ..records import dataclass


@dataclass(frozen=True)
class Instructions:
    """Instructions by what they do, a repeated one once for each time.

    alu_full, alu_half: arithmetic on 32 and on 16 bits. special: roots, logarithms, sines. moves: moves and conversions.
    texture: reads of textures, and questions about them. memory: loads, stores, atomics. flow: jumps. barriers: and fences.
    nops: slots in which nothing is done, since a result is not there yet. preamble: what one work-item computes for all, nops
    left out; it is in no other count.
    """

    alu_full: int = 0
    alu_half: int = 0
    special: int = 0
    moves: int = 0
    texture: int = 0
    memory: int = 0
    flow: int = 0
    barriers: int = 0
    nops: int = 0
    preamble: int = 0

    @property
    def total(self) -> int:
        """All of them that each work-item runs."""
        return sum(getattr(self, field.name) for field in fields(self)) - self.preamble


@dataclass(frozen=True)
class MachineCode:
    """The machine code of a kernel for one chip, compiled in one way.

    registers: of four words each, in which half registers lie as pairs; half_registers: of four halves. waves: that a core can
    hold with so many registers, and the group's local memory. group_limit: work-items of a group that find registers. lanes:
    work-items of a wave, 64 or 128. spill_stores, spill_loads: accesses of private memory for which there was no register.
    private_bytes: of a work-item. local_bytes: of a group. constants: of four words, with parameters. loops: that are left.
    ss, sy: places that wait for special functions and local memory, for textures and global memory; ss_stall, sy_stall: for how
    many cycles by Mesa's estimate, at most. text: the assembly. lines: for each line of it the line of the source that it is
    made of; 0 where that is not known, or in another file.
    """

    instructions: Instructions
    registers: int
    half_registers: int
    waves: int
    group_limit: int
    lanes: int
    spill_stores: int
    spill_loads: int
    private_bytes: int
    local_bytes: int
    constants: int
    loops: int
    ss: int
    sy: int
    ss_stall: int
    sy_stall: int
    text: str
    lines: tuple[int, ...]

    @property
    def spills(self) -> int:
        """Stores and loads for which there was no register."""
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True)
class KernelCode:
    """A kernel's machine code for one chip.

    unrolled: as Mesa compiles it, which unrolls loops of known length; rolled: with all loops left. A phone's compiler chooses
    in between: each figure is a range. group: work-items of a group for which it was compiled. stand_ins: functions of the
    library that the hardware's own stand for. omitted: what the code lacks. code_of: another chip, whose code stands for this
    one's; "" if it is its own.
    """

    kernel: str
    chip: str
    group: tuple[int, int, int]
    unrolled: MachineCode
    rolled: MachineCode
    stand_ins: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    code_of: str = ""


Range = tuple[int, int]
"""The least and the most."""


@dataclass(frozen=True)
class RegisterUse:
    """What a work-item of a kernel takes on a chip, and what that leaves room for.

    registers: of four words. waves: that a core holds at once. spills: stores and loads for which there was no register; (0, 0)
    where that is not known. group_limit: work-items of a group that find registers for certain, and beyond which none do.
    meets: whether work-items of a group wait for each other, so that all of them must have registers at once. by: "ir3" where it
    was compiled, "estimate" where live ranges say it.
    """

    kernel: str
    chip: str
    registers: Range
    waves: Range
    spills: Range
    group_limit: Range
    meets: bool
    by: str

    def may_refuse(self, items: int) -> bool:
        """Whether the launch of a group of so many work-items may be refused."""
        return items > self.group_limit[0 if self.meets else 1]

    def refuses(self, items: int) -> bool:
        """Whether it is refused: its work-items wait for each other, and cannot all have registers."""
        return self.meets and items > self.group_limit[1]
