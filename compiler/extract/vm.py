"""VM functions from the Relax functions that VMShapeLower leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...records import dataclass
from ..artifact import vm_function as vm
from ..artifact.vm_registers import change_blocks, find_operands, find_registers, walk
from ..run.builtins import BUILTINS
from ..tvm_bridge import read
from ..tvm_bridge.tensors import array_of
from .constants import ConstantPool
from .expr import Names

_MATCH = {0: "const", 1: "store", 2: "any", 3: "slot"}
"""vm.builtin.match_shape codes."""
_MAKE = {0: "const", 1: "slot"}
"""vm.builtin.make_shape codes."""


def vm_function(
    name: str, function: Any, mod: Any, scopes: Sequence[str], pool: ConstantPool, graphs: Container[str] = ()
) -> vm.VMFunction:
    """Relax function `name` of `mod`. scopes: storage scope of each virtual device; constants go into `pool`.

    graphs: external functions that are graphs of OpenCL ML.

    Raises UnsupportedError naming a builtin or expression that the VM does not have.
    """
    builder = _Builder(name, mod, scopes, pool, graphs)
    params = tuple(builder.names.new(read.key(p), read.var_name(p)) for p in function.params)
    result = builder.block(function.body)
    return vm.VMFunction(name, params, _without_dead_tuples((*builder.out, vm.Return(result))))


def _without_dead_tuples(body: vm.Block) -> vm.Block:
    """The body without tuples that nothing reads: each would keep its items from ending where they are last used."""
    read_names = {operand.name for i in walk(body) for operand in find_operands(i) if isinstance(operand, vm.Reg)}
    read_names |= {register for i in walk(body) for register in find_registers(i, vm.Ended)}

    def alive(part: vm.Block) -> vm.Block:
        return tuple(change_blocks(i, alive) for i in part if not isinstance(i, vm.MakeTuple) or i.dst in read_names)

    return alive(body)


@dataclass
class _Builder:
    """Translates one function: `out` receives instructions, `names` keys registers by handle."""

    function: str
    mod: Any
    scopes: Sequence[str]
    pool: ConstantPool
    graphs: Container[str] = ()
    names: Names = field(default_factory=Names)
    out: list[vm.Instruction] = field(default_factory=list)

    def block(self, body: Any) -> vm.Operand:
        """Emit a body's bindings; the operand of its value."""
        if read.kind(body) != "SeqExpr":
            return self.operand(body)
        for bindings in body.blocks:
            for binding in bindings.bindings:
                if read.kind(binding) != "VarBinding":
                    raise self.unsupported_error(binding, read.kind(binding))
                self.bind(binding.var, binding.value)
        return self.operand(body.body)

    def bind(self, var: Any, value: Any) -> None:
        kind = read.kind(value)
        if kind == "Call":
            self.call(var, value)
        elif kind == "Tuple":
            items = tuple(self.operand(item) for item in value.fields)
            self.out.append(vm.MakeTuple(self.define(var), items))
        elif kind == "TupleGetItem":
            source = self.operand(value.tuple_value)
            self.out.append(vm.GetItem(self.define(var), source, int(value.index)))
        elif kind == "If":
            self.branch(var, value)
        else:
            source = self.operand(value)
            self.out.append(vm.Copy(self.define(var), source))

    def branch(self, var: Any, value: Any) -> None:
        condition = self.operand(value.cond)
        outer, self.out = self.out, []
        then_result = self.block(value.true_branch)
        then, self.out = tuple(self.out), []
        otherwise_result = self.block(value.false_branch)
        otherwise, self.out = tuple(self.out), outer
        self.out.append(vm.Branch(self.define(var), condition, then, then_result, otherwise, otherwise_result))

    def define(self, var: Any) -> str:
        return self.names.new(read.key(var), read.var_name(var))

    def operand(self, node: Any) -> vm.Operand:
        kind = read.kind(node)
        if kind in ("Var", "DataflowVar"):
            name = self.names.get(read.key(node))
            if name is None:
                raise self.unsupported_error(node, "variable of another function")
            return vm.Reg(name)
        if kind == "Constant":
            return self.constant(node, array_of(node.data))
        if kind == "ShapeExpr":
            return vm.ShapeLiteral(tuple(_int(dim) for dim in node.values))
        if kind == "GlobalVar" and read.kind(self.mod[node]) == "PrimFunc":
            return vm.FunctionRef(str(node.name_hint))
        if kind == "Tuple":
            name = self.names.fresh("tuple")
            items = tuple(self.operand(item) for item in node.fields)
            self.out.append(vm.MakeTuple(name, items))
            return vm.Reg(name)
        return self.literal(node, kind)

    def literal(self, node: Any, kind: str) -> vm.Operand:
        if kind == "PrimValue":
            node, kind = node.value, read.kind(node.value)
        if kind in ("IntImm", "FloatImm"):
            return vm.ScalarLiteral(node.value, read.dtype_of(node))
        if kind in ("StringImm", "DataTypeImm"):
            return vm.ScalarLiteral(str(node.value))
        if kind == "GenericConst":
            return self.generic_constant(node)
        raise self.unsupported_error(node, kind)

    def generic_constant(self, node: Any) -> vm.Operand:
        """0.27's constants: a tensor, or a dtype or string."""
        value: Any = node.value
        return self.constant(node, array_of(value)) if hasattr(value, "numpy") else vm.ScalarLiteral(str(value))

    def constant(self, node: Any, array: np.ndarray) -> vm.ConstRef:
        return vm.ConstRef(self.pool.add(array), read.memory_scope(read.type_of(node)))

    def call(self, var: Any, call: Any) -> None:
        if read.kind(call.op) == "GlobalVar":
            self.call_global(var, str(call.op.name_hint), call.args)
            return
        name = read.op_name(call)
        args = list(call.args)
        if name == "relax.call_builtin_with_ctx":
            name, args = str(args[0].global_symbol), list(args[1].fields)
        elif name in ("relax.vm.call_tir_dyn", "vm.builtin.call_tir_dyn"):
            given = args[1].fields if read.kind(args[1]) == "Tuple" else args[1:]
            self.call_unpacked(str(args[0].name_hint), [self.operand(arg) for arg in given])
            return
        if name in self.graphs:
            self.out.append(vm.CallHost(name, tuple(self.operand(arg) for arg in args)))
            return
        emit = _CALLS.get(name)
        if emit is None and name in BUILTINS:
            operands = tuple(self.operand(arg) for arg in args)
            self.out.append(vm.CallBuiltin(self.define(var), name, operands))
            return
        if emit is None:
            raise self.unsupported_error(call, _describe_callee(name or read.kind(call.op), read.kind(call.op)))
        emit(self, var, args)

    def call_global(self, var: Any, name: str, args: Sequence[Any]) -> None:
        operands = tuple(self.operand(arg) for arg in args)
        if read.kind(self.mod[name]) == "PrimFunc":
            number = None if operands else _constant_result(self.mod[name])
            self.out.append(vm.CallHost(name, operands) if number is None else vm.Copy(self.define(var), number))
        else:
            self.out.append(vm.CallVM(self.define(var), name, operands))

    def call_unpacked(self, name: str, operands: list[vm.Operand]) -> None:
        """Call a PrimFunc whose scalar arguments come as one shape, the last operand."""
        missing = len(self.mod[name].params) - (len(operands) - 1)
        scalars: list[vm.Operand] = []
        for index in range(missing):
            scalar = self.names.fresh(f"{name}_argument")
            self.out.append(vm.GetItem(scalar, operands[-1], index))
            scalars.append(vm.Reg(scalar))
        self.out.append(vm.CallHost(name, (*operands[:-1], *scalars)))

    def register(self, node: Any) -> str:
        operand = self.operand(node)
        if not isinstance(operand, vm.Reg):
            raise self.unsupported_error(node, "operand that is not a variable")
        return operand.name

    def integer(self, node: Any) -> int:
        operand = self.operand(node)
        if not isinstance(operand, vm.ScalarLiteral) or isinstance(operand.value, (str, float)):
            raise self.unsupported_error(node, "operand that is not an integer")
        return int(operand.value)

    def text(self, node: Any) -> str:
        operand = self.operand(node)
        if not isinstance(operand, vm.ScalarLiteral):
            raise self.unsupported_error(node, "operand that is not a string")
        return str(operand.value)

    def entries(self, nodes: Sequence[Any], codes: dict[int, str]) -> tuple[vm.ShapeEntry, ...]:
        pairs = zip(nodes[::2], nodes[1::2], strict=True)
        return tuple(vm.ShapeEntry(codes[self.integer(code)], self.integer(value)) for code, value in pairs)  # type: ignore[arg-type]

    def scope(self, index: int) -> str:
        if not self.scopes:
            return "global"
        if not 0 <= index < len(self.scopes):
            raise UnsupportedError(f"unsupported: {self.function} names virtual device {index} of {len(self.scopes)}")
        return self.scopes[index]

    def unsupported_error(self, node: Any, what: str) -> UnsupportedError:
        text = " ".join(str(node).split())
        return UnsupportedError(f"unsupported: {what} in VM function {self.function}: {text[:120]}")


def _constant_result(function: Any) -> vm.ScalarLiteral | None:
    """The number that a PrimFunc without parameters returns; None if it computes anything."""
    body = function.body
    while read.kind(body) == "SeqStmt" and len(body.seq) == 1:
        body = body.seq[0]
    value = getattr(body, "value", None) if read.kind(body) in ("Evaluate", "Return") else None
    if value is not None and read.kind(value) == "Call" and read.op_name(value) == "tirx.ret":
        value = value.args[0]
    if value is None or read.kind(value) not in ("IntImm", "FloatImm"):
        return None
    return vm.ScalarLiteral(value.value, read.dtype_of(value))


def _int(node: Any) -> int:
    return int(getattr(node, "value", node))


def _context(text: str) -> str:
    """ErrorContext(fn=main, loc=param[0], param=x, annotation=...) as "main, param[0] (x)"."""
    found = re.search(r"fn=(\w+), loc=([^,]+)(?:, param=(\w+))?", text)
    if not found:
        return text
    return f"{found[1]}, {found[2]}" + (f" ({found[3]})" if found[3] else "")


Emit = Callable[[_Builder, Any, list[Any]], None]


def _null(b: _Builder, var: Any, args: list[Any]) -> None:
    b.out.append(vm.AllocHeap(b.define(var), 0))


def _heap(b: _Builder, var: Any, args: list[Any]) -> None:
    b.out.append(vm.AllocHeap(b.define(var), b.integer(args[-1])))


def _check_tensor(b: _Builder, var: Any, args: list[Any]) -> None:
    """(value, ndim, dtype, context), or (value, ndim, context) where any dtype will do."""
    dtype = b.text(args[2]) if len(args) == 4 else ""
    b.out.append(
        vm.CheckTensor(b.operand(args[0]), b.integer(args[1]), "" if dtype == "void" else dtype, _context(b.text(args[-1])))
    )


def _match_shape(b: _Builder, var: Any, args: list[Any]) -> None:
    """(value, heap, rank, (code, value) pairs..., context)."""
    entries = b.entries(args[3:-1], _MATCH)
    b.out.append(vm.MatchShape(b.operand(args[0]), b.register(args[1]), entries, _context(b.text(args[-1]))))


def _match_scalar(b: _Builder, var: Any, args: list[Any]) -> None:
    (entry,) = b.entries(args[2:4], _MATCH)
    b.out.append(vm.MatchScalar(b.operand(args[0]), b.register(args[1]), entry, _context(b.text(args[-1]))))


def _make_shape(b: _Builder, var: Any, args: list[Any]) -> None:
    """(heap, rank, (code, value) pairs...)."""
    heap, entries = b.register(args[0]), b.entries(args[2:], _MAKE)
    b.out.append(vm.MakeShape(b.define(var), heap, entries))


def _make_scalar(b: _Builder, var: Any, args: list[Any]) -> None:
    heap = b.register(args[0])
    (entry,) = b.entries(args[1:3], _MAKE)
    b.out.append(vm.MakeScalar(b.define(var), heap, entry))


def _alloc_storage(b: _Builder, var: Any, args: list[Any]) -> None:
    """(size, device index, dtype, scope)."""
    size = b.operand(args[0])
    b.out.append(vm.AllocStorage(b.define(var), size, b.text(args[3]), b.text(args[2])))


def _alloc_tensor(b: _Builder, var: Any, args: list[Any]) -> None:
    """(storage, offset, shape, dtype, device index): the device, not the storage, says buffer or texture."""
    shape, scope = b.operand(args[2]), b.scope(b.integer(args[4]) if len(args) > 4 else 0)
    storage, offset = b.register(args[0]), b.integer(args[1])
    b.out.append(vm.AllocTensor(b.define(var), storage, offset, shape, read.scalar_dtype(b.text(args[3]), storage)[0], scope))


def _kill(b: _Builder, var: Any, args: list[Any]) -> None:
    b.out.append(vm.Kill(b.register(args[0])))


def _reshape(b: _Builder, var: Any, args: list[Any]) -> None:
    source, shape = b.operand(args[0]), b.operand(args[1])
    b.out.append(vm.Reshape(b.define(var), source, shape))


def _to_device(b: _Builder, var: Any, args: list[Any]) -> None:
    """(tensor, device type, device id, scope)."""
    source = b.operand(args[0])
    b.out.append(vm.ToDevice(b.define(var), source, b.text(args[3]) if len(args) > 3 else "global"))


def _shape_of(b: _Builder, var: Any, args: list[Any]) -> None:
    source = b.operand(args[0])
    b.out.append(vm.ShapeOf(b.define(var), source))


def _copy(b: _Builder, var: Any, args: list[Any]) -> None:
    source = b.operand(args[0])
    b.out.append(vm.Copy(b.define(var), source))


def _make_tuple(b: _Builder, var: Any, args: list[Any]) -> None:
    items = tuple(b.operand(arg) for arg in args)
    b.out.append(vm.MakeTuple(b.define(var), items))


def _get_item(b: _Builder, var: Any, args: list[Any]) -> None:
    source = b.operand(args[0])
    b.out.append(vm.GetItem(b.define(var), source, b.integer(args[1])))


def _nothing(b: _Builder, var: Any, args: list[Any]) -> None:
    """Checks of values that need none here: shapes, tuples, and scalars are typed by construction."""


def _describe_callee(name: str, kind: str) -> str:
    """What a program calls, and whose limit it is that nothing runs it."""
    if kind == "ExternFunc":
        return f"{name}, a function of TVM's runtime that adreno-sim does not have,"
    return f"{name}, which TVM's pipeline leaves unchanged," if name.startswith("relax.") else name


_CALLS: dict[str, Emit] = {
    "relax.null_value": _null,
    "vm.builtin.alloc_shape_heap": _heap,
    "vm.builtin.check_tensor_info": _check_tensor,
    "vm.builtin.check_shape_info": _nothing,
    "vm.builtin.check_prim_value_info": _nothing,
    "vm.builtin.check_tuple_info": _nothing,
    "vm.builtin.match_shape": _match_shape,
    "vm.builtin.match_prim_value": _match_scalar,
    "vm.builtin.make_shape": _make_shape,
    "vm.builtin.make_prim_value": _make_scalar,
    "relax.vm.alloc_storage": _alloc_storage,
    "relax.vm.alloc_tensor": _alloc_tensor,
    "relax.vm.kill_object": _kill,
    "vm.builtin.null_value": _null,
    "vm.builtin.reshape": _reshape,
    "vm.builtin.to_device": _to_device,
    "vm.builtin.shape_of": _shape_of,
    "vm.builtin.copy": _copy,
    "vm.builtin.make_tuple": _make_tuple,
    "vm.builtin.tuple_getitem": _get_item,
}
