"""The LLVM module under construction: what its functions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property

from ...base.errors import UnsupportedError
from ...ir import ir, llvm_types
from ...ir.constant_data import data_bytes
from ...ir.memory_ops import claimed_alignment
from ...records import dataclass
from ..abi.print_format import PrintCall
from ..abi.specialization import Specialization
from ..analysis.lane_uses import LaneUses
from ..analysis.normal_halves import NormalHalves
from ..llvm.flush_after_rounding import FLUSHING, FLUSHING_FLOATS
from ..llvm.passes import UNROLLING
from . import diagnostic_sites

MOST_CONSTANT_DATA = 16 << 20
"""Bytes that one program-scope constant may have. It becomes part of the machine code."""


_FIRST_LOOP = 3
"""The metadata number of the first loop."""


@dataclass
class Unit:
    """Declarations, constant data, library functions and diagnostic sites of one module.

    `local_bytes` and `arena_bytes` are the sizes of a worker's memory: local memory comes first, then the arena with spilled
    values and the event counters at `counter_offsets`. `may_fail` is set if code with deferred checks has a check that may
    set the fault flag. `multiplies_to_flush` is set if halves are flushed by a product, which LLVM must not take for one that
    flushes its operands.
    """

    spec: Specialization
    kernel: ir.Function
    table: diagnostic_sites.DiagnosticSiteTable = field(default_factory=diagnostic_sites.DiagnosticSiteTable)
    functions: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    prints: list[PrintCall] = field(default_factory=list)
    static_findings: dict[diagnostic_sites.DiagnosticSite, None] = field(default_factory=dict)
    emitted: set[str] = field(default_factory=set)
    local_offsets: dict[object, int] = field(default_factory=dict)
    local_bytes: int = 0
    arena_bytes: int = 0
    counter_offsets: dict[int, int] = field(default_factory=dict)
    may_fail: bool = False
    multiplies_to_flush: bool = False
    unrolled: list[str] = field(default_factory=list)
    _users: dict[int, dict[int, list[ir.Instr]]] = field(default_factory=dict)
    _lane_uses: dict[int, LaneUses] = field(default_factory=dict)
    _normal_halves: dict[int, NormalHalves] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        proofs = self.spec.proofs
        numbered = enumerate(i for b in self.kernel.blocks for i in b.instrs)
        known = proofs.in_range | proofs.nsw | proofs.narrow | proofs.aligned
        pairs = [(n, id(i)) for n, i in numbered if n in known]
        self._in_range = {i for n, i in pairs if n in proofs.in_range}
        self._nsw = {i for n, i in pairs if n in proofs.nsw}
        self._aligned = {i for n, i in pairs if n in proofs.aligned}
        self._narrow = {i for n, i in pairs if n in proofs.narrow}

    def define_once(self, name: str, make: Callable[[], str]) -> None:
        """Adds the function `name`, whose text `make` gives, unless it is there or being made."""
        if name not in self.emitted:
            self.emitted.add(name)
            self.functions.append(make())

    @property
    def checked(self) -> bool:
        """Whether accesses are checked: at every level but "off"."""
        return self.spec.checks != "off"

    @property
    def deferred_checks(self) -> bool:
        """Whether a failed check sets the launch's fault flag instead of reporting."""
        return self.spec.deferred_checks

    @cached_property
    def has_doubles(self) -> bool:
        """Whether the kernel computes with doubles."""
        values = (v for block in self.kernel.blocks for i in block.instrs for v in (i, *i.operands))
        return any(llvm_types.elem_of(v.type) == ir.Float(64) for v in values)

    def proves_in_range(self, instr: ir.Instr | None) -> bool:
        """Returns whether every access of `instr` is proven to be in range."""
        return id(instr) in self._in_range

    def proves_aligned(self, instr: ir.Instr | None, align: int) -> bool:
        """Returns whether the load or store `instr` is proven to begin at a multiple of `align`."""
        return instr is not None and id(instr) in self._aligned and align <= claimed_alignment(instr)

    def is_nsw(self, instr: ir.Instr) -> bool:
        """Returns whether an integer operation never wraps as a signed number (LLVM: nsw)."""
        return id(instr) in self._nsw

    def is_narrow(self, instr: ir.Instr) -> bool:
        """Returns whether an extension is of a value as `Proofs.narrow` says."""
        return id(instr) in self._narrow

    def instr_number(self, instr: ir.Instr | None) -> int:
        """Returns the number of an instruction of the kernel, counted through its blocks from 1; 0 for others."""
        if not self._numbers:
            self._numbers.update({id(i): n for n, i in enumerate((i for b in self.kernel.blocks for i in b.instrs), 1)})
        return self._numbers.get(id(instr), 0)

    def lane_uses(self, function: ir.Function) -> LaneUses:
        """Returns which lanes of the values of a function are used."""
        if id(function) not in self._lane_uses:
            self._lane_uses[id(function)] = LaneUses(function)
        return self._lane_uses[id(function)]

    def normal_halves(self, function: ir.Function) -> NormalHalves:
        """Returns which half values of `function` hold no denormal, of a launch that flushes them."""
        if id(function) not in self._normal_halves:
            self._normal_halves[id(function)] = NormalHalves(function)
        return self._normal_halves[id(function)]

    def users(self, function: ir.Function) -> dict[int, list[ir.Instr]]:
        """Maps the `id` of a value to the instructions of a function that have it as an operand. All regions share the result."""
        if id(function) not in self._users:
            found = self._users[id(function)] = {}
            for instr in (i for block in function.blocks for i in block.instrs):
                for operand in instr.operands:
                    found.setdefault(id(operand), []).append(instr)
        return self._users[id(function)]

    def declare(self, name: str, result: str, arguments: str) -> str:
        """Declares an LLVM intrinsic once. Returns "result @name" for a call."""
        self.declarations.setdefault(name, f"declare {result} @{name}({arguments})")
        return f"{result} @{name}"

    def constant_data(self, variable: ir.Global) -> str:
        """Returns the operand of a program-scope constant, which this module defines."""
        name = f"@data.{len(self.globals)}"
        if variable.name not in self.globals:
            size = llvm_types.size_of(variable.type)
            if size > MOST_CONSTANT_DATA:
                what = f"{size} bytes of program-scope data in {variable.name}"
                raise UnsupportedError(f"unsupported: {what}: expected at most {MOST_CONSTANT_DATA}")
            data = data_bytes(variable.initializer, variable.type)
            body = "".join(f"\\{byte:02X}" for byte in data)
            self.globals[variable.name] = f'{name} = internal constant [{len(data)} x i8] c"{body}", align 128'
        return self.globals[variable.name].split(" ", 1)[0]

    def reserve_local(self, owner: object, nbytes: int) -> int:
        """Returns the offset of `nbytes` of local memory for `owner`, the same at every call."""
        if owner not in self.local_offsets:
            self.local_offsets[owner] = self.local_bytes
            self.local_bytes += llvm_types.align_up(nbytes, 128)
        return self.local_offsets[owner]

    def reserve_arena(self, nbytes: int) -> int:
        """Returns the arena offset of `nbytes` that a worker keeps for the group it runs."""
        start = self.arena_bytes
        self.arena_bytes += llvm_types.align_up(nbytes, 128)
        return start

    def counter_offset(self, site: int) -> int:
        """Returns the arena offset of a worker's counter of a site."""
        if site not in self.counter_offsets:
            self.counter_offsets[site] = self.reserve_arena(8)
        return self.counter_offsets[site]

    def unrolled_loop(self, rounds: int) -> str:
        """Returns the metadata suffix of the back edge of a loop if LLVM must join `rounds` iterations to one; all, if 0. Of a
        loop that is to stay (1) there is none."""
        if rounds == 1:
            return ""
        self.unrolled.append('!"llvm.loop.unroll.full"' if rounds == 0 else f'!"{UNROLLING}", i32 {rounds}')
        return f", !llvm.loop !{_FIRST_LOOP + len(self.unrolled) - 1}"

    def add_static_finding(self, site: diagnostic_sites.DiagnosticSite) -> None:
        """Adds a finding that is certain at compile time. Every launch reports it once."""
        self.static_findings.setdefault(site)

    def text(self) -> str:
        flushing = FLUSHING_FLOATS if self.multiplies_to_flush else FLUSHING
        flush = f" {flushing}" if self.spec.flush_denormals else ""
        return "\n".join(
            [
                *self.declarations.values(),
                *self.globals.values(),
                *self.functions,
                f'attributes #0 = {{ nounwind "no-trapping-math"="true"{flush} }}',
                "attributes #1 = { nounwind cold noinline }",
                f"attributes #2 = {{ nounwind noinline{flush} }}",
                f"attributes #3 = {{ nounwind alwaysinline{flush} }}",
                f'attributes #4 = {{ nounwind alwaysinline "no-trapping-math"="true"{flush} }}',
                '!0 = !{!"branch_weights", i32 1, i32 1048576}',
                "!1 = !{}",
                *(f"!{n} = distinct !{{!{n}, !{{{how}}}}}" for n, how in enumerate(self.unrolled, _FIRST_LOOP)),
            ]
        )
