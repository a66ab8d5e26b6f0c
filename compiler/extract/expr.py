"""TIR scalar expressions to host expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import UnsupportedError
from ..artifact.host_function import Binary, BinaryOp, Cast, Const, Expr, Load, Not, Select, Var
from ..tvm_bridge import read


class Names:
    """Unique host names of TIR variables and buffers, by handle."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()

    def new(self, handle: int, hint: str) -> str:
        """A fresh name for `handle`."""
        self._names[handle] = self.fresh(hint)
        return self._names[handle]

    def fresh(self, hint: str) -> str:
        """A name that nothing has yet."""
        name, n = hint, 0
        while name in self._taken:
            n += 1
            name = f"{hint}_{n}"
        self._taken.add(name)
        return name

    def alias(self, handle: int, other: int) -> None:
        """`handle` is another handle of what `other` names."""
        if other in self._names:
            self._names[handle] = self._names[other]

    def get(self, handle: int) -> str | None:
        return self._names.get(handle)

    def of(self, handle: int, hint: str) -> str:
        """The name of `handle`, made up at first use."""
        return self._names.get(handle) or self.new(handle, hint)


_BINARY: dict[str, BinaryOp] = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Mod": "truncmod", "FloorDiv": "floordiv", "FloorMod": "floormod",
    "LShift": "shl", "RShift": "shr", "BitwiseAnd": "bitand", "BitwiseOr": "bitor", "BitwiseXor": "bitxor",
    "Min": "min", "Max": "max", "EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "And": "and", "Or": "or",
}  # fmt: skip

_CALLS: dict[str, BinaryOp] = {
    "tirx.shift_left": "shl", "tirx.shift_right": "shr",
    "tirx.bitwise_and": "bitand", "tirx.bitwise_or": "bitor", "tirx.bitwise_xor": "bitxor",
}  # fmt: skip


def expression(node: Any, names: Names) -> Expr:
    """`node` as a host expression. Raises UnsupportedError naming what host programs cannot compute."""
    kind = read.kind(node)
    if kind in _BINARY:
        return Binary(_BINARY[kind], expression(node.a, names), expression(node.b, names), read.dtype_of(node))
    if kind not in _OTHERS:
        raise UnsupportedError(f"unsupported: {kind} in a host expression: {node}")
    return _OTHERS[kind](node, names)


def _call(node: Any, names: Names) -> Expr:
    name = read.op_name(node)
    args = [expression(arg, names) for arg in node.args]
    if name in _CALLS:
        return Binary(_CALLS[name], args[0], args[1], read.dtype_of(node))
    if name == "tirx.if_then_else":
        return Select(args[0], args[1], args[2])
    if name == "tirx.likely":
        return args[0]
    raise UnsupportedError(f"unsupported: {name or node.op} in a host expression: {node}")


def _load(node: Any, names: Names) -> Expr:
    if len(node.indices) != 1:
        raise UnsupportedError(f"unsupported: host load with {len(node.indices)} indices: {node}")
    info = read.buffer_info(read.loaded_buffer(node))
    return Load(names.of(info.key, info.name), expression(node.indices[0], names))


_OTHERS: dict[str, Callable[[Any, Names], Expr]] = {
    "IntImm": lambda n, _: Const(bool(n.value) if read.dtype_of(n) == "bool" else int(n.value), read.dtype_of(n)),
    "FloatImm": lambda n, _: Const(float(n.value), read.dtype_of(n)),
    "Var": lambda n, names: Var(names.of(read.key(n), read.var_name(n))),
    "SizeVar": lambda n, names: Var(names.of(read.key(n), read.var_name(n))),
    "Not": lambda n, names: Not(expression(n.a, names)),
    "Cast": lambda n, names: Cast(expression(n.value, names), read.dtype_of(n)),
    "Select": lambda n, names: Select(*(expression(e, names) for e in (n.condition, n.true_value, n.false_value))),
    "BufferLoad": _load,
    "TensorLoad": _load,
    "Call": _call,
}
