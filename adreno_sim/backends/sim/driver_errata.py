"""Which known faults of the device's driver a kernel meets. Nothing is simulated as the driver would compile it; it is named."""

from __future__ import annotations

import fnmatch
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...base.code_digest import name_with_code
from ...findings import Finding, Kind
from ...ir import ir, llvm_types
from ...ir.dominators import Dominators
from ...ir.loops import natural_loops
from ...profiles.errata import TABLE, Erratum, errata
from ...profiles.profile import Profile
from .program import SimKernel

Test = Callable[[ir.Instr], bool]

_MULTIPLY_ADDS = ("fma", "mad", "llvm.fma.*", "llvm.fmuladd.*")
_INTEGER_CHOICES = ("min", "max", "llvm.smin.*", "llvm.smax.*", "llvm.umin.*", "llvm.umax.*")
_MOST_STEPS = 1000
"""The most values that are examined between a load and a store."""
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def find_errata(kernel: SimKernel, profile: Profile, all_drivers: bool) -> Iterator[Finding]:
    """A warning for each fault that a kernel meets: of the device's compiler, or of any."""
    compiler = profile.compiler_version
    for erratum in errata():
        here = bool(compiler) and erratum.is_of(compiler, profile["device_version"])
        if (here or all_drivers) and (place := _find_place(erratum, kernel, profile)) is not None:
            owners = f"compiler {compiler}" if here else f"another driver ({erratum.owners})"
            message = (
                f"{erratum.name}: {erratum.construct}: with {owners}, {erratum.symptom}; instead: {erratum.workaround} "
                f"({erratum.source})"
            )
            yield Finding(Kind.DRIVER_ERRATUM, message, kernel=kernel.name, line=place[0], column=place[1])


def find_met_in_body(function: ir.Function) -> dict[str, list[int]]:
    """Line and column where a body meets what an erratum asks of bodies, by its name."""
    return function.fact(name_with_code("driver errata", Path(__file__), TABLE), _meet_all)


def _meet_all(function: ir.Function) -> dict[str, list[int]]:
    places = ((erratum.name, _find_in_body(erratum, function)) for erratum in errata() if _asks_for_body(erratum))
    return {name: [place.line, place.column] for name, place in places if place is not None}


def _asks_for_body(erratum: Erratum) -> bool:
    return bool(
        erratum.multiply_adds or erratum.calls or erratum.narrowed_nibbles or erratum.uniform_operands or erratum.nested_update
    )


def _find_place(erratum: Erratum, kernel: SimKernel, profile: Profile) -> list[int] | None:
    """The line and column where a kernel meets a fault; None if it does not."""
    if erratum.kernel and not any(fnmatch.fnmatchcase(kernel.name, pattern) for pattern in erratum.kernel):
        return None
    if erratum.text and not re.search(erratum.text, _without_comments(kernel.source)):
        return None
    asked = kernel.required_work_group_size
    if erratum.required_group and (asked is None or math.prod(asked) < profile["MAX_WORK_GROUP_SIZE"]):
        return None
    if _asks_for_body(erratum):
        return find_met_in_body(kernel.function).get(erratum.name)
    return [kernel.function.loc.line, kernel.function.loc.column]


def _find_in_body(erratum: Erratum, function: ir.Function) -> ir.SourceLoc | None:
    """The place where a body meets what an erratum asks of it; None if it does not."""
    place = function.loc
    if erratum.multiply_adds and not any(_products(block) >= erratum.multiply_adds for block in function.blocks):
        return None
    if erratum.nested_update:
        return _find_nested_update(function)
    for meets in filter(None, (_calls(erratum), _packs(erratum), _pairs_uniforms(erratum))):
        found = next((instr for block in function.blocks for instr in block.instrs if meets(instr)), None)
        if found is None:
            return None
        place = found.loc
    return place


def _calls(erratum: Erratum) -> Test | None:
    """The test whether an instruction makes one of the erratum's calls; None if it names none."""
    if not erratum.calls:
        return None

    def meets(instr: ir.Instr) -> bool:
        if not _is_call_of(instr, erratum.calls):
            return False
        if not erratum.constant:
            return True
        value = instr.operands[erratum.constant["position"]]
        number = value.value if isinstance(value, ir.Const) else None
        if not isinstance(number, int):
            return False
        return number == erratum.constant.get("exactly", number) and number >= erratum.constant.get("least", number)

    return meets


def _packs(erratum: Erratum) -> Test | None:
    """The test whether an instruction shifts a nibble up that an 8-bit variable holds after a mask."""

    def meets(instr: ir.Instr) -> bool:
        if instr.op != "shl" or not _is_number(instr.operands[1], 4):
            return False
        narrow = _source(instr.operands[0], "zext")
        wide = None if narrow is None else _source(narrow, "trunc")
        return wide is not None and narrow is not None and narrow.type == ir.Int(8) and _source(wide, "and") is not None

    return meets if erratum.narrowed_nibbles else None


def _pairs_uniforms(erratum: Erratum) -> Test | None:
    """The test whether an instruction takes an integer argument of the kernel and the group's size, converted or not.

    A product of the argument and a variable that grows by the group's size is one, too: the compiler makes the product of both,
    once, out of it.
    """

    def meets(instr: ir.Instr) -> bool:
        if not (instr.op == "mul" or _is_call_of(instr, _INTEGER_CHOICES)) or len(instr.operands) != 2:
            return False
        sides = [_strip_conversions(operand) for operand in instr.operands]
        return any(isinstance(side, ir.Param) and isinstance(side.type, ir.Int) for side in sides) and any(
            _is_group_size(side) or (instr.op == "mul" and _grows_by_group_size(side)) for side in sides
        )

    return meets if erratum.uniform_operands else None


def _is_group_size(value: ir.Value) -> bool:
    return isinstance(value, ir.Instr) and _is_call_of(value, ("get_local_size",))


def _grows_by_group_size(value: ir.Value) -> bool:
    """Whether a value is a variable of a loop to which each iteration adds the group's size."""
    if not isinstance(value, ir.Instr) or value.op != "phi":
        return False
    steps = [step for step in map(_strip_conversions, value.operands) if isinstance(step, ir.Instr) and step.op == "add"]
    return any(_is_group_size(_strip_conversions(term)) for step in steps for term in step.operands)


def _find_nested_update(function: ir.Function) -> ir.SourceLoc | None:
    """The place where a loop within a loop adds to an element of global memory: reads it and writes what it makes of it."""
    updates = [(block, store) for block in function.blocks if (store := _find_update(block)) is not None]
    loops = natural_loops(Dominators(function)) if updates else None
    depths = Counter(block for body in (loops or {}).values() for block in body)
    return next((store.loc for block, store in updates if depths[block] > 1), None)


def _find_update(block: ir.Block) -> ir.Instr | None:
    """The first store to global memory of what the block makes of the same element; None if it has none."""
    loaded: dict[int, ir.Instr] = {}
    for instr in block.instrs:
        if instr.op == "load" and instr.operands[0].type == ir.Pointer(ir.GLOBAL):
            loaded[id(instr.operands[0])] = instr
        elif instr.op == "store" and (load := loaded.get(id(instr.operands[1]))) and _depends(instr.operands[0], load):
            return instr
    return None


def _depends(value: ir.Value, load: ir.Instr) -> bool:
    """Whether a value was computed from a load, as far as some steps back show."""
    work, seen = [value], {id(value)}
    while work and len(seen) < _MOST_STEPS:
        at = work.pop()
        if at is load:
            return True
        if isinstance(at, ir.Instr) and at.op != "phi":
            work += [operand for operand in at.operands if id(operand) not in seen]
            seen.update(map(id, at.operands))
    return False


def _strip_conversions(value: ir.Value) -> ir.Value:
    while isinstance(value, ir.Instr) and value.op in ("trunc", "zext", "sext"):
        value = value.operands[0]
    return value


def _source(value: ir.Value, op: str) -> ir.Value | None:
    """Operand 0 of an instruction `op`; None of any other value."""
    return value.operands[0] if isinstance(value, ir.Instr) and value.op == op else None


def _is_number(value: ir.Value, number: int) -> bool:
    return isinstance(value, ir.Const) and value.value == number


def _products(block: ir.Block) -> int:
    """Multiply-adds of a block, each lane of a vector one."""
    return sum(llvm_types.lanes_of(instr.type) for instr in block.instrs if _is_call_of(instr, _MULTIPLY_ADDS))


def _is_call_of(instr: ir.Instr, patterns: Sequence[str]) -> bool:
    return instr.callee is not None and _is_one_of(instr.callee.name, tuple(patterns))


@functools.cache
def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _without_comments(source: str) -> str:
    return _COMMENT.sub(" ", source)


class ErrataWatch:
    """Warns of each kernel's faults once."""

    def __init__(self, profile: Profile, all_drivers: bool):
        self._profile, self._all = profile, all_drivers
        self._seen: set[tuple[str, str]] = set()

    def look_at(self, kernel: SimKernel) -> list[Finding]:
        """The warnings of a kernel that was not examined before; none for any other."""
        key = kernel.name, kernel.source
        if key in self._seen:
            return []
        self._seen.add(key)
        return list(find_errata(kernel, self._profile, self._all))
