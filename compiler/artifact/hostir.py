"""The host program of a compiled model: what runs on the CPU around the kernels, in two levels.

`HostFunction` is one PrimFunc after its kernels were split off: scalar code that computes sizes, allocates
workspaces and launches kernels. `VMFunction` is one Relax function: it allocates storages and tensors, calls
host functions and returns results. Both are plain data; `compiler/run` interprets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from .serial import Node

# --- scalar expressions of host functions -----------------------------------------------------------------

BinaryOp = Literal[
    "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "eq", "ne", "lt", "le", "gt", "ge",
    "and", "or", "bitand", "bitor", "bitxor", "shl", "shr",
]  # fmt: skip


@dataclass(frozen=True)
class Const(Node):
    """A literal of numpy dtype `dtype` ("int64", "float32", "bool", ...)."""

    value: bool | int | float
    dtype: str


@dataclass(frozen=True)
class Var(Node):
    """A scalar bound by a parameter's shape, a Let or a For; names are unique within their host function."""

    name: str


@dataclass(frozen=True)
class Binary(Node):
    """`op` on two scalars, the result rounded or wrapped to `dtype`."""

    op_name: BinaryOp
    a: Expr
    b: Expr
    dtype: str


@dataclass(frozen=True)
class Not(Node):
    a: Expr


@dataclass(frozen=True)
class Cast(Node):
    value: Expr
    dtype: str


@dataclass(frozen=True)
class Select(Node):
    """`a` where `condition` holds, else `b`; only the chosen side is evaluated."""

    condition: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True)
class Load(Node):
    """Element `index` of a host-side buffer (the shape heap, a host allocation)."""

    buffer: str
    index: Expr


Expr = Union[Const, Var, Binary, Not, Cast, Select, Load]

# --- statements of host functions -------------------------------------------------------------------------


@dataclass(frozen=True)
class Let(Node):
    var: str
    value: Expr


@dataclass(frozen=True)
class Store(Node):
    """Write `value` to element `index` of a host-side buffer."""

    buffer: str
    index: Expr
    value: Expr


@dataclass(frozen=True)
class For(Node):
    var: str
    start: Expr
    extent: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class IfThen(Node):
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Check(Node):
    """Fail with `message` unless `condition` holds."""

    condition: Expr
    message: str


@dataclass(frozen=True)
class AllocBuffer(Node):
    """Workspace `name` for the statements after it in the same block: device memory, or host memory where `host`."""

    name: str
    dtype: str
    shape: tuple[Expr, ...]
    host: bool = False


@dataclass(frozen=True)
class AllocImage(Node):
    """A texture inside a PrimFunc for the statements after it in the same block; extents in texels, RGBA of `dtype`."""

    name: str
    dtype: str
    width: Expr
    height: Expr
    layers: Expr
    scope: str


@dataclass(frozen=True)
class BufferRef(Node):
    """A kernel argument that is a buffer or image: a parameter or workspace of the host function."""

    name: str


@dataclass(frozen=True)
class Launch(Node):
    """One kernel launch: arguments in the kernel's order; `groups` and `local` are (x, y, z), in groups and work-items."""

    kernel: str
    args: tuple[BufferRef | Const | Var | Binary | Not | Cast | Select | Load, ...]
    groups: tuple[Expr, Expr, Expr]
    local: tuple[Expr, Expr, Expr]


@dataclass(frozen=True)
class RunGraph(Node):
    """Run one graph of OpenCL ML operators: its inputs, then its outputs, in the graph's order."""

    graph: str
    inputs: tuple[BufferRef, ...]
    outputs: tuple[BufferRef, ...]


Stmt = Union[Let, Store, For, IfThen, Check, AllocBuffer, AllocImage, Launch, RunGraph]

# --- host functions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BufferParam(Node):
    """A tensor parameter. A dimension that is a lone unbound Var is bound by the argument's shape; others must agree with it.

    `access`: "read", "write" or "read_write", as the kernels use it; "none" where no kernel touches it.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: str
    scope: str = "global"
    access: Literal["none", "read", "write", "read_write"] = "read_write"


@dataclass(frozen=True)
class ScalarParam(Node):
    name: str
    dtype: str


Param = Union[BufferParam, ScalarParam]


@dataclass(frozen=True)
class HostFunction:
    """One PrimFunc's host side. `golden` names its pre-scheduled twin (same parameters); "" = none (a shape function).

    `on_host`: it touches only host memory (shape heap) and launches nothing.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    golden: str = ""
    on_host: bool = False

    def launches(self) -> list[Launch]:
        """Every launch in the body, in textual order."""
        return list(_launches(self.body))

    def graphs(self) -> list[RunGraph]:
        """The graphs that it runs: a function of subgraphs is nothing but one of these."""
        return [stmt for stmt in self.body if isinstance(stmt, RunGraph)]


def _launches(body: tuple[Stmt, ...]) -> list[Launch]:
    found: list[Launch] = []
    for stmt in body:
        if isinstance(stmt, Launch):
            found.append(stmt)
        elif isinstance(stmt, For):
            found += _launches(stmt.body)
        elif isinstance(stmt, IfThen):
            found += _launches(stmt.then) + _launches(stmt.otherwise)
    return found


# --- VM operands ------------------------------------------------------------------------------------------


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


Operand = Union[Reg, ConstRef, ShapeLiteral, ScalarLiteral]

# --- VM instructions --------------------------------------------------------------------------------------


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

    dst: str
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
    heap: str
    entries: tuple[ShapeEntry, ...]
    context: str


@dataclass(frozen=True)
class MatchScalar(Node):
    """As MatchShape for a scalar value (one entry)."""

    value: Operand
    heap: str
    entry: ShapeEntry
    context: str


@dataclass(frozen=True)
class MakeShape(Node):
    dst: str
    heap: str
    entries: tuple[ShapeEntry, ...]


@dataclass(frozen=True)
class MakeScalar(Node):
    """An int64 scalar from a constant or a heap slot."""

    dst: str
    heap: str
    entry: ShapeEntry


@dataclass(frozen=True)
class AllocStorage(Node):
    """`size`: a shape of one element, bytes. `scope` and `dtype` as the planner wrote them."""

    dst: str
    size: Operand
    scope: str
    dtype: str


@dataclass(frozen=True)
class AllocTensor(Node):
    """A view of `storage` at byte `offset`; `scope` decides buffer or texture."""

    dst: str
    storage: str
    offset: int
    shape: Operand
    dtype: str
    scope: str


@dataclass(frozen=True)
class CallHost(Node):
    """Call a HostFunction; tensor arguments are written in place. The shape heap is an argument of shape functions."""

    function: str
    args: tuple[Operand, ...]


@dataclass(frozen=True)
class CallVM(Node):
    """Call another VMFunction."""

    dst: str
    function: str
    args: tuple[Operand, ...]


@dataclass(frozen=True)
class Reshape(Node):
    """An alias of `src` under another shape with as many elements."""

    dst: str
    src: Operand
    shape: Operand


@dataclass(frozen=True)
class ToDevice(Node):
    """A copy of `src` under storage scope `scope` (an alias if it already has it)."""

    dst: str
    src: Operand
    scope: str


@dataclass(frozen=True)
class ShapeOf(Node):
    dst: str
    src: Operand


@dataclass(frozen=True)
class MakeTuple(Node):
    dst: str
    items: tuple[Operand, ...]


@dataclass(frozen=True)
class GetItem(Node):
    """Element `index` of a tuple, or extent `index` of a shape as a scalar."""

    dst: str
    src: Operand
    index: int


@dataclass(frozen=True)
class Copy(Node):
    """`dst` is another name of `src`. boundary: what passed a function's boundary here, where the function was inlined."""

    dst: str
    src: Operand
    boundary: str = ""


@dataclass(frozen=True)
class Kill(Node):
    """Drop a register: its storage or tensor ends here unless another register still holds it."""

    name: str


@dataclass(frozen=True)
class Branch(Node):
    """`dst` = result of the block that the boolean scalar tensor `condition` selects."""

    dst: str
    condition: Operand
    then: tuple[Instruction, ...]
    then_result: Operand
    otherwise: tuple[Instruction, ...]
    otherwise_result: Operand


@dataclass(frozen=True)
class Return(Node):
    value: Operand


Instruction = Union[
    AllocHeap, CheckTensor, MatchShape, MatchScalar, MakeShape, MakeScalar, AllocStorage, AllocTensor, CallHost, CallVM,
    Reshape, ToDevice, ShapeOf, MakeTuple, GetItem, Copy, Kill, Branch, Return,
]  # fmt: skip


@dataclass(frozen=True)
class VMFunction:
    """One Relax function: parameters in order and a body that ends in Return."""

    name: str
    params: tuple[str, ...]
    body: tuple[Instruction, ...]
