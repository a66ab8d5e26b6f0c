"""The main program of a compiled model: one VMFunction for each Relax function.

A VMFunction allocates storages and tensors, calls host functions (`host_function`) and returns results. It is plain data:
`compiler.run` interprets it, and a bundle stores it under the names of these classes. What an instruction does with a register
or an operand is the type of its field, which `vm_registers` reads.
"""

from __future__ import annotations

from typing import Annotated, Literal, Union

from ...records import dataclass
from .serial import Node

Defined = Annotated[str, "defined"]
"""Name of the register that an instruction binds."""
Used = Annotated[str, "used"]
"""Name of a register that an instruction uses; most registers are used as operands."""
Ended = Annotated[str, "ended"]
"""Name of a register that holds nothing after the instruction."""


@dataclass(frozen=True)
class Reg(Node):
    """A register: a value bound by a parameter or an instruction. Assigned once per execution of its block."""

    name: str


@dataclass(frozen=True)
class ConstRef(Node):
    """A tensor constant: key of CompiledModel.constants, and the storage scope it is used in."""

    key: str
    scope: str = "global"


@dataclass(frozen=True)
class ShapeLiteral(Node):
    dims: tuple[int, ...]


@dataclass(frozen=True)
class ScalarLiteral(Node):
    value: bool | int | float | str
    dtype: str = ""


@dataclass(frozen=True)
class FunctionRef(Node):
    """A host function as a value: what calls it is a function of TVM's runtime."""

    name: str


Operand = Union[Reg, ConstRef, ShapeLiteral, ScalarLiteral, FunctionRef]


@dataclass(frozen=True)
class ShapeEntry(Node):
    """One dimension in MatchShape and MakeShape: a constant, or slot `value` of the shape heap.

    match: "const" must equal, "slot" must equal the slot, "store" stores into the slot, "any" is ignored.
    """

    match: Literal["const", "slot", "store", "any"]
    value: int = 0


@dataclass(frozen=True)
class AllocHeap(Node):
    """The shape heap: `size` int64 slots on the host."""

    dst: Defined
    size: int


@dataclass(frozen=True)
class CheckTensor(Node):
    """Fail unless `value` is a tensor of this rank (-1: any) and dtype ("": any)."""

    value: Operand
    ndim: int
    dtype: str
    context: str


@dataclass(frozen=True)
class MatchShape(Node):
    """Compare the shape of a tensor or shape `value` with `entries`, filling heap slots."""

    value: Operand
    heap: Used
    entries: tuple[ShapeEntry, ...]
    context: str


@dataclass(frozen=True)
class MatchScalar(Node):
    """As MatchShape for a scalar value (one entry)."""

    value: Operand
    heap: Used
    entry: ShapeEntry
    context: str


@dataclass(frozen=True)
class MakeShape(Node):
    dst: Defined
    heap: Used
    entries: tuple[ShapeEntry, ...]


@dataclass(frozen=True)
class MakeScalar(Node):
    """An int64 scalar from a constant or a heap slot."""

    dst: Defined
    heap: Used
    entry: ShapeEntry


@dataclass(frozen=True)
class AllocStorage(Node):
    """`size`: a shape of one element, bytes. `scope` and `dtype` as the planner wrote them; scope ON_CHIP: on the chip."""

    dst: Defined
    size: Operand
    scope: str
    dtype: str


@dataclass(frozen=True)
class AllocTensor(Node):
    """A view of `storage` at byte `offset`; `scope` decides buffer or texture."""

    dst: Defined
    storage: Used
    offset: int
    shape: Operand
    dtype: str
    scope: str


@dataclass(frozen=True)
class CallHost(Node):
    """Call a HostFunction; tensor arguments are written in place. The shape heap is an argument of shape functions.

    operators: of the model, that the call does; () where that is not known.
    """

    function: str
    args: tuple[Operand, ...]
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunStep(Node):
    """Step `step` of the OpenCL ML graph that host function `function` runs (`mlops.steps`), where the program has its tensors.

    reads, writes: tensors of the step's nodes, in their order. args: of the function, at the first and at the last step, between
    which they are one call of it; () at the others. operators: as of CallHost.
    """

    function: str
    step: int
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    args: tuple[Operand, ...] = ()
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class BeginRecording(Node):
    """The launches up to EndRecording are one enqueue of a recording, for which on-chip memory keeps its contents."""


@dataclass(frozen=True)
class EndRecording(Node):
    """The end of the recording that the last BeginRecording began."""


@dataclass(frozen=True)
class CallVM(Node):
    """Call another VMFunction. once: of the same tensors, as weights are, a later call takes the result of the one before."""

    dst: Defined
    function: str
    args: tuple[Operand, ...]
    once: bool = False


@dataclass(frozen=True)
class CallBuiltin(Node):
    """Call a function of TVM's runtime that keeps state on the host; tensor arguments may be written in place."""

    dst: Defined
    function: str
    args: tuple[Operand, ...]


@dataclass(frozen=True)
class Reshape(Node):
    """An alias of `src` under another shape with as many elements."""

    dst: Defined
    src: Operand
    shape: Operand


@dataclass(frozen=True)
class ToDevice(Node):
    """A copy of `src` under storage scope `scope` (an alias if it already has it)."""

    dst: Defined
    src: Operand
    scope: str


@dataclass(frozen=True)
class CopyTensor(Node):
    """Write the elements of `src` into the tensor `target`, of the same shape and dtype: a ToDevice whose place is planned."""

    src: Operand
    target: Operand


@dataclass(frozen=True)
class ShapeOf(Node):
    dst: Defined
    src: Operand


@dataclass(frozen=True)
class MakeTuple(Node):
    dst: Defined
    items: tuple[Operand, ...]


@dataclass(frozen=True)
class GetItem(Node):
    """Element `index` of a tuple, or extent `index` of a shape as a scalar."""

    dst: Defined
    src: Operand
    index: int


@dataclass(frozen=True)
class Copy(Node):
    """`dst` is another name of `src`. boundary: what passed a function's boundary here, where the function was inlined."""

    dst: Defined
    src: Operand
    boundary: str = ""


@dataclass(frozen=True)
class Kill(Node):
    """Drop a register: its storage or tensor ends here unless another register still holds it."""

    name: Ended


@dataclass(frozen=True)
class Branch(Node):
    """`dst` = result of the block that the boolean scalar tensor `condition` selects."""

    dst: Defined
    condition: Operand
    then: Block
    then_result: Operand
    otherwise: Block
    otherwise_result: Operand


@dataclass(frozen=True)
class Return(Node):
    value: Operand


Instruction = Union[
    AllocHeap, CheckTensor, MatchShape, MatchScalar, MakeShape, MakeScalar, AllocStorage, AllocTensor, CallHost, CallVM,
    CallBuiltin, Reshape, ToDevice, CopyTensor, ShapeOf, MakeTuple, GetItem, Copy, Kill, Branch, Return, RunStep, BeginRecording,
    EndRecording,
]  # fmt: skip

Block = tuple[Instruction, ...]


@dataclass(frozen=True)
class VMFunction:
    """One Relax function: parameters in order and a body that ends in Return."""

    name: str
    params: tuple[str, ...]
    body: Block
