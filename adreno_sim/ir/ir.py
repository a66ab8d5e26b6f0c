"""Kernel IR: the typed SSA form every analysis and emitter works on.

It is what remains of clang's LLVM IR after inlining and promotion to registers, without anything LLVM may
exploit (no ``nsw``, ``inbounds`` or fast-math flags), and with a source place on every instruction.

Invariants
* One definition per value; a use is the defining object itself (``Instr``, ``Param``, ``Const`` or ``Global``).
* Every block ends in exactly one terminator (``br``, ``condbr``, ``switch``, ``ret``, ``unreachable``).
* ``phi`` instructions come first in their block; ``alloca`` only in the entry block.
* No call of a defined function is left: helpers are inlined, recursion was refused by the front end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import field, fields
from typing import Any, TypeVar, Union

from ..records import dataclass

T = TypeVar("T")

# Address spaces as SPIR numbers them (OpenCL C 3.0, section 6.7).
PRIVATE, GLOBAL, CONSTANT, LOCAL, GENERIC = range(5)

OF_WAVE = "of a wave"


@dataclass(frozen=True, slots=True)
class Void:
    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class Int:
    """An integer of `bits` (1, 8, 16, 32 or 64; signedness is in the operations)."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@dataclass(frozen=True, slots=True)
class Float:
    """An IEEE binary float of `bits`: 16, 32 or 64."""

    bits: int

    def __str__(self) -> str:
        return {16: "half", 32: "float", 64: "double"}[self.bits]


@dataclass(frozen=True, slots=True)
class Pointer:
    """An opaque pointer into address space `space`."""

    space: int

    def __str__(self) -> str:
        return "ptr" if self.space == PRIVATE else f"ptr addrspace({self.space})"


@dataclass(frozen=True, slots=True)
class Vector:
    elem: Union[Int, Float, Pointer]
    count: int

    def __str__(self) -> str:
        return f"<{self.count} x {self.elem}>"


@dataclass(frozen=True, slots=True)
class Array:
    elem: Type
    count: int

    def __str__(self) -> str:
        return f"[{self.count} x {self.elem}]"


@dataclass(frozen=True, slots=True)
class Struct:
    """A literal struct; `packed` means no padding between the fields."""

    fields: tuple[Type, ...]
    packed: bool = False

    def __str__(self) -> str:
        body = "{ " + ", ".join(map(str, self.fields)) + " }" if self.fields else "{}"
        return f"<{body}>" if self.packed else body


@dataclass(frozen=True, slots=True)
class Image:
    """An image handle: `kind` as in `device.ImageSpec.kind`; `access` read_only, write_only or read_write."""

    kind: str
    access: str

    def __str__(self) -> str:
        return f"{self.access} {self.kind}_t"


@dataclass(frozen=True, slots=True)
class Sampler:
    def __str__(self) -> str:
        return "sampler_t"


@dataclass(frozen=True, slots=True)
class Event:
    """``event_t``, of asynchronous copies: an opaque token, 8 bytes in memory."""

    def __str__(self) -> str:
        return "event_t"


Type = Union[Void, Int, Float, Pointer, Vector, Array, Struct, Image, Sampler, Event]


@dataclass(frozen=True, slots=True)
class SourceLoc:
    """A source location: 1-based line and column of the innermost (inlined) position, 0 if unknown.

    `callers` are the lines of the calls of inlined helpers, innermost first. `scope` is the number of the scope in clang's debug
    information, 0 in a build that is not for the debugger.
    """

    line: int
    column: int
    file: str = ""
    callers: tuple[int, ...] = ()
    scope: int = 0


UNKNOWN_LOC = SourceLoc(0, 0)
"""The location of instructions that have none in the source."""


@dataclass(eq=False, slots=True)
class Const:
    """A constant. `value` is, by kind:

    int for Int (unsigned bit pattern); int for Float (the IEEE bit pattern, so that NaN payloads survive);
    a tuple of Const for vectors, arrays and structs; ``None`` for the null pointer and all-zero aggregates;
    ``UNDEF`` for undef and poison (a read of an uninitialised variable);
    ``GlobalOffset`` for a constant address inside a Global.

    name: of UNDEF, the variable to which nothing was assigned, if it is one's.
    """

    type: Type
    value: object
    name: str = ""


class _Undef:
    def __repr__(self) -> str:
        return "UNDEF"


UNDEF = _Undef()


@dataclass(frozen=True, slots=True)
class GlobalOffset:
    """The address `offset` bytes into `target`."""

    target: Global
    offset: int


@dataclass(eq=False, slots=True)
class Global:
    """A program-scope variable: ``__constant`` data, a kernel's ``__local`` array (initializer None), a string."""

    name: str
    type: Type  # of the pointee
    space: int
    initializer: Const | None
    align: int


@dataclass(eq=False, slots=True)
class Param:
    """A kernel or library function parameter.

    `spelled` is the source type ("float4*", "image2d_array_t"); `name` the source name where known.
    A struct passed by value has a Struct type, and the entry block stores it to an alloca.
    """

    name: str
    type: Type
    index: int
    spelled: str = ""
    access: str = "none"  # images: read_only, write_only, read_write
    qualifiers: tuple[str, ...] = ()  # const, restrict, volatile, sub_group_uniform, max_constant_size(BYTES)


@dataclass(eq=False, slots=True)
class Instr:
    """One instruction; `op` decides which of the fields below mean anything.

    op (LLVM's names, LLVM's semantics with every wrap defined):
      add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem fneg
      icmp fcmp            `pred` ("eq", "slt", "olt", "une", ...)
      trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast addrspacecast freeze
      select               operands (cond, a, b); cond may be a vector of i1
      extractelement insertelement            index operand may be variable
      shufflevector        `mask`: tuple of lane numbers, -1 = undefined lane
      extractvalue insertvalue                `indices`
      alloca               `elem` (type allocated), `align`; operands (count,) or (); `pred` OF_WAVE: it stands for constant
                           memory that a wave loads (cl_qcom_subgroup_constant_load)
      undefine             operands (alloca,): the declaration of a variable that is given no value. Its bytes count as unwritten
                           from here on, and stay unchanged. As read: (parameter,), `elem`, where it is what is returned
      note                 of builds for the debugger: the source assigns operands (value,) to the variable `indices` (number,),
                           or declares it and gives it no value: operands ()
      load                 operands (pointer,), `align`, `volatile`
      store                operands (value, pointer), `align`, `volatile`; type Void
      gep                  operands (pointer,), (pointer, index...): `elem` is the source element type;
                           address arithmetic wraps, indices are sign-extended to 64 bits
      atomicrmw            operands (pointer, value), `pred` names the operation ("add", "xchg", "umin", "fadd", ...)
      cmpxchg              operands (pointer, expected, new); type is Struct(value, i1)
      fence
      memcpy memmove memset                   operands (dst, src or byte, length), `volatile`
      call                 a built-in: `callee` is a Callee; operands are its arguments (a pointer's address space may be
                           narrower than the spelling's: "__generic float*" is given a global pointer where that is known)
      phi                  operands parallel to `blocks`, one entry per incoming edge
      br                   `blocks` (target,)          condbr  operands (cond,), `blocks` (then, else)
      switch               operands (value,), `cases` ints, `blocks` (default, case 0, case 1, ...)
      ret                  operands () or (value,)      unreachable
    """

    op: str
    type: Type
    operands: list[Value] = field(default_factory=list)
    loc: SourceLoc = UNKNOWN_LOC
    pred: str = ""
    callee: Callee | None = None
    elem: Type | None = None
    align: int = 0
    volatile: bool = False
    mask: tuple[int, ...] = ()
    indices: tuple[int, ...] = ()
    cases: tuple[int, ...] = ()
    blocks: list[Block] = field(default_factory=list)
    name: str = ""

    def incoming(self, block: Block) -> Value:
        """Returns the value of a phi where control comes from `block`."""
        return self.operands[self.blocks.index(block)]


Value = Union[Instr, Param, Const, Global]

TERMINATORS = frozenset(("br", "condbr", "switch", "ret", "unreachable"))
"""Operations that end a block."""


def type_of(value: Value) -> Type:
    """Returns the type of an operand. A Global denotes its address."""
    return Pointer(value.space) if isinstance(value, Global) else value.type


@dataclass(frozen=True, slots=True)
class Callee:
    """A built-in function: source name, mangled name and OpenCL argument spellings.

    ``_Z11read_imagef20ocl_image2d_array_ro11ocl_samplerDv4_i`` gives name "read_imagef" and
    args ("image2d_array_ro", "sampler", "int4"): signedness, which the IR types lack, is in the spelling.
    LLVM intrinsics keep their name ("llvm.fmuladd.f32") with mangled == name and args ().
    """

    name: str
    mangled: str
    args: tuple[str, ...]


@dataclass(eq=False, slots=True)
class Block:
    name: str
    instrs: list[Instr] = field(default_factory=list)

    @property
    def phis(self) -> list[Instr]:
        return list(itertools.takewhile(lambda instr: instr.op == "phi", self.instrs))

    @property
    def terminator(self) -> Instr:
        return self.instrs[-1]

    @property
    def successors(self) -> list[Block]:
        return self.instrs[-1].blocks


@dataclass(eq=False, slots=True)
class Function:
    """A kernel, or a function of the built-in library. `blocks[0]` is the entry.

    `required_sub_group_size` is what Qualcomm's attribute asks for: "half", "full", or "" if it is absent.
    `relaxed_math` says whether its build options allow floats to be less exact.
    `digest` is of all the function was made from, "" if that is not known. `facts` are results of analyses by name.
    """

    name: str
    params: list[Param]
    result: Type
    blocks: list[Block]
    is_kernel: bool = False
    required_work_group_size: tuple[int, int, int] | None = None
    loc: SourceLoc = UNKNOWN_LOC
    required_sub_group_size: str = ""
    relaxed_math: bool = False
    digest: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def fact(self, name: str, analysis: Callable[[Function], T]) -> T:
        """Returns what `analysis` computes for this function, once. The result must be small: numbers, texts, and containers of
        Python's own of them, as which it is kept on disk."""
        if name not in self.facts:
            self.facts[name] = analysis(self)
        found: T = self.facts[name]
        return found

    def with_body(self, blocks: list[Block]) -> Function:
        """Returns a function of the same name, parameters and attributes with another body, without any cached facts."""
        given = {field.name: getattr(self, field.name) for field in fields(Function)}
        return Function(**given | {"blocks": blocks, "digest": "", "facts": {}})


@dataclass(eq=False, slots=True)
class Module:
    """A built program: its kernels by name, program-scope data, and the warnings clang gave."""

    source: str
    kernels: dict[str, Function]
    globals: dict[str, Global]
    warnings: list[object] = field(default_factory=list)  # frontend.diagnostics.Diagnostic
