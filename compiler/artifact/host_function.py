"""The CPU side of one PrimFunc, after its kernels were split off.

A HostFunction is scalar code: it computes sizes, allocates workspaces, launches kernels, or runs an OpenCL ML graph. It is
plain data: `compiler.run` interprets it, and a bundle stores it under the names of these classes.
"""

from __future__ import annotations

from typing import Literal, Union

from ...records import dataclass
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
        """The graphs that it runs: a function of subgraphs is only one of these."""
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
