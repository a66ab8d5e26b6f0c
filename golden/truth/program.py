"""A PrimFunc before scheduling as a C function: its loops and blocks, run one after another, over values without rounding."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from ...compiler.tvm_bridge import read
from ...compiler.tvm_bridge.read_once import read_once
from .choices import MOST_UNDECIDED, Choices
from .guarded_reads import compute_where_chosen
from .nests.groups import Groups, write_group
from .nests.loops import NOT_UNROLLED, LoopWriter, computes_each_alone, with_elements_inside
from .nests.strips import REDUCTION
from .nests.sums import find_sum
from .nests.tiles import write_sum
from .tensor import Tensor
from .truth_program import NO_MEMORY, TruthParam, TruthProgram
from .value import FLOATS, HALVES, Unmodelled, Value, c_type

LARGE = 1 << 22
"""Elements of a parameter that is only read from which it may be floats in memory: as doubles, weights take twice as much."""


def write_program(
    name: str, function: Any, given: Collection[int] = (), drifts: bool = False, over: type[Statements] | None = None
) -> TruthProgram:
    """The truth of a PrimFunc; `given`: positions of parameters whose values are not exact. drifts: halves made some of them.

    over: what it is written over in place of values without rounding. Raises Unmodelled where it holds what no truth is made of.
    """
    groups = function if isinstance(function, Groups) else find_groups(function)
    infos = [read.buffer_param(groups.function, groups.function.params[position]) for position in given]
    inexact = set(groups.inexact) | {info.key for info in infos if info is not None}
    native = drifts
    while True:
        writer = (over or Statements)(inexact, native, groups)
        program = writer.function(name, groups.function)
        if writer.inexact == inexact and (writer.halves or drifts) == native:
            break
        inexact, native = set(writer.inexact), writer.halves or drifts
    if not given:
        groups.inexact = frozenset(inexact)
    return program


def find_groups(function: Any) -> Groups:
    """A PrimFunc as `write_program` also takes it: it is read once, however often it is written."""
    return Groups(compute_where_chosen(read_once(function)))


class Statements(LoopWriter):
    """Writes one function. inexact: keys of tensors that hold rounded values; it grows as stores are met."""

    def __init__(self, inexact: set[int], native: bool, groups: Groups) -> None:
        super().__init__(native=native)
        self.inexact = set(inexact)
        self.halves = False
        self._bound: set[int] = set()
        self._own: set[int] = set()
        self._groups = groups
        self._dims = 0
        self._stepping = False

    def function(self, name: str, function: Any) -> TruthProgram:
        """Two C functions: one with every tensor as a separate parameter (only so does clang know that they lie apart), and
        one that allocates what is temporary and calls it."""
        params = [self._param(function, param) for param in function.params]
        given, self.lines = self.lines, []
        self._bound = set(self.names)
        own = [param.tensor for param in params if param.tensor is not None]
        self._own = set(self.tensors)
        self.statement(function.body)
        body, self.lines, self.depth = self.lines, [], 1
        temporary = [tensor for tensor in self.tensors.values() if tensor not in own and not tensor.passed]
        large = [tensor for tensor in own if _is_given(tensor) and tensor.dtype != "float64" and _elements(tensor) >= LARGE]
        text = self._body(f"{name}_body", own, temporary, [], [*given, *body])
        text += self._body(f"{name}_floats", own, temporary, large, [*given, *body]) if large else []
        text += [
            f"static int {name}(const int64_t *k, void *const *p, const int64_t *n, const Unit *U, int64_t *unsure) {{",
            "  int bad = 0;", *given, *self._wrap(name, own, temporary, large), "}",
        ]  # fmt: skip
        names = tuple(tensor.title for tensor in sorted(self.tensors.values(), key=lambda tensor: tensor.number))
        places = tuple(place for place, param in enumerate(params) if param.tensor in large and param.tensor is not None)
        exact = tuple(place for place, param in enumerate(params) if param.tensor is not None and _is_given(param.tensor))
        return TruthProgram(
            name, "\n".join(text), tuple(params), names, self.halves, self.native, places, exact, self.open_to_nan,
            self.open_to_denormals,
        )  # fmt: skip

    def _body(self, name: str, own: list[Tensor], temporary: list[Tensor], floats: list[Tensor], lines: list[str]) -> list[str]:
        """A function with every tensor as a parameter. floats: those whose elements are floats in memory."""
        types = {tensor.name: "float" if tensor in floats else c_type(tensor.dtype) for tensor in (*own, *temporary)}
        declared = "".join(
            f", {types.get(pointer, 'double')} *restrict {pointer}" for pointer in self._pointers([*own, *temporary])
        )
        sizes = "const int64_t *restrict k, const int64_t *restrict n"
        head = f"static int {name}({sizes}, const Unit *restrict U, int64_t *restrict unsure{declared}) {{"
        return [head, "  int bad = 0;", *lines, "end:", "  return bad;", "}"]

    def _pointers(self, tensors: list[Tensor]) -> list[str]:
        """The names of the values of tensors, then those of what accompanies them."""
        return [t.name for t in tensors] + [t.name + end for t in tensors for end in self.companions(t)]

    def _wrap(self, name: str, own: list[Tensor], temporary: list[Tensor], large: list[Tensor]) -> list[str]:
        self.lines = []
        for place, tensor in enumerate(own):
            for number, end in enumerate(("", *self.companions(tensor))):
                self.line(f"void *{tensor.name}{end} = p[{3 * place + number}];")
        made = []
        for tensor in temporary:
            made.append(tensor.name)
            self.line(f"void *{tensor.name} = calloc({tensor.size}, sizeof({c_type(tensor.dtype)}));")
            for end in self.companions(tensor):
                made.append(tensor.name + end)
                self.line(f"void *{made[-1]} = calloc({tensor.size}, sizeof(double));")
        missing = " || ".join(f"!{pointer}" for pointer in made) or "0"
        call = f"({', '.join(['k', 'n', 'U', 'unsure', *self._pointers([*own, *temporary])])})"
        call = f"p[{3 * own.index(large[0]) + 1}] ? {name}_floats{call} : {name}_body{call}" if large else f"{name}_body{call}"
        self.line(f"bad = {missing} ? {NO_MEMORY} : {call};")
        for pointer in made:
            self.line(f"free({pointer});")
        self.line("return bad;")
        return self.lines

    def _param(self, function: Any, param: Any) -> TruthParam:
        info = read.buffer_param(function, param)
        if info is None:
            dtype = read.dtype_of(param)
            if dtype in FLOATS:
                raise Unmodelled("a float scalar as parameter")
            self.names[read.key(param)] = Value(self.let(c_type(dtype), f"({c_type(dtype)})n[{self._dims}]"), dtype)
            self._dims += 1
            return TruthParam(read.var_name(param), dtype, None)
        buffer = function.buffer_map[param] if param in (getattr(function, "buffer_map", None) or {}) else param
        if len(getattr(getattr(buffer, "ty", buffer), "strides", None) or ()):
            raise Unmodelled(f"the tensor {info.name} with strides")
        dims = []
        for dim in info.shape:
            text = f"{int(dim.value)}LL" if read.kind(dim) == "IntImm" else self.let("int64_t", f"n[{self._dims}]")
            if read.kind(dim) == "Var" and read.key(dim) not in self.names:
                self.names[read.key(dim)] = Value(text, read.dtype_of(dim))
            dims.append(text)
            self._dims += 1
        return TruthParam(info.name, info.dtype, self._tensor(info, dims))

    def _tensor(self, info: read.BufferInfo, dims: list[str]) -> Tensor:
        c_type(info.dtype)
        self.halves |= info.dtype in HALVES
        extents = [int(dim.value) if read.kind(dim) == "IntImm" else None for dim in info.shape]
        exact = info.key not in self.inexact
        tensor = Tensor(self.fresh("b"), info.name, info.dtype, dims, len(self.tensors) + 1, extents, exact)
        self.tensors[info.key] = tensor
        return tensor

    def _allocate(self, buffer: Any) -> None:
        info = read.buffer_info(buffer)
        if info.key in self.tensors:
            return
        for dim in info.shape:
            if any(
                read.kind(node) not in _SIZES or (read.kind(node) == "Var" and read.key(node) not in self._bound)
                for node in read.walk(dim)
            ):
                raise Unmodelled(f"the tensor {info.name}, whose size is not that of the parameters")
        self._tensor(info, [_size_text(dim, self.names) for dim in info.shape])

    # --- statements ---------------------------------------------------------------------------------------

    def write_eqStmt(self, node: Any) -> None:
        groups = self._groups.within(node, self.tensors.keys() - self._own)
        for number, part in enumerate(node.seq):
            if number not in groups:
                self.statement(part)
            elif (group := groups[number]) is not None:
                write_group(self, group)

    def write_For(self, node: Any) -> None:
        nest = None if self.native else self._groups.nest_of(node)
        if nest is not None and (found := find_sum(nest, self.tensors, self.inexact)) is not None:
            write_sum(self, found)
            return
        loops = [node]
        while read.kind(loops[-1].body) == "For":
            loops.append(loops[-1].body)
        body = loops[-1].body
        moves = computes_each_alone(body)
        for loop in with_elements_inside(loops, body):
            self.open_loop(loop, NOT_UNROLLED if moves else "")
        self.statement(body)
        for _ in loops:
            self.close()

    def write_While(self, node: Any) -> None:
        self.open("for (;;)")
        asked = self._decide(node.condition)
        self.line(f"if (!{asked}) break;")
        self.statement(node.body)
        self.close()

    def write_IfThenElse(self, node: Any) -> None:
        asked = self._decide(node.condition)
        self.open(f"if ({asked})")
        self.statement(node.then_case)
        self.close()
        if node.else_case is not None:
            self.open("else")
            self.statement(node.else_case)
            self.close()

    def _decide(self, condition: Any) -> str:
        asked = self.value(condition)
        if asked.q is not None:
            self.line(f"if ({asked.q} != 0) ++*unsure;")
        return asked.text

    def write_BlockRealize(self, node: Any) -> None:
        block = node.block
        self.open("")
        if block.iter_vars and computes_each_alone(node):  # clang may not take x - y + y for x: y may be infinite
            self.line("#pragma clang fp reassociate(off)")
        starts, terms = [], []
        for axis, given in zip(block.iter_vars, node.iter_values, strict=True):
            value = self.keep(self.value(given))
            self.names[read.key(axis.var)] = value
            if int(axis.iter_type) == REDUCTION:
                starts.append(f"{value.text} == {self.value(axis.dom.min).text}")
                terms.append(f"(double){self.value(axis.dom.extent).text}")
        outer, self._stepping, self.terms = (self._stepping, self.terms), bool(starts), " * ".join(terms) or "1.0"
        if block.match_buffers:
            raise Unmodelled("matched buffers")
        for buffer in block.alloc_buffers:
            self._allocate(buffer)
        guarded = not (read.kind(node.predicate) == "IntImm" and int(node.predicate.value) == 1)
        if guarded:
            self.open(f"if ({self._decide(node.predicate)})")
        if block.init is not None:
            self.open(f"if ({' && '.join(starts) or '1'})")
            self.statement(block.init)
            self.close()
        self.statement(block.body)
        if guarded:
            self.close()
        self.close()
        self._stepping, self.terms = outer

    def write_BufferStore(self, node: Any) -> None:
        key = read.buffer_key(node.buffer)
        loads = (part for part in read.walk(node.value) if read.kind(part) in ("TensorLoad", "BufferLoad"))
        self.reducing, self.stored = any(read.buffer_key(read.loaded_buffer(load)) == key for load in loads), key
        value = self._value_of_choices(node.value)
        self.reducing = False
        tensor, index = self.place(node.buffer, node.indices)
        if value.dtype != tensor.dtype:
            raise Unmodelled(f"a store of {value.dtype} in a tensor of {tensor.dtype}")
        tensor.written = True
        if value.q is not None:
            self.inexact.add(key)
        self.line(f"{tensor.element(index.text)} = {value.text};")
        if index.q is not None:
            self.line(f"if ({index.q} != 0) ++*unsure;")
        for end in self.companions(tensor):
            self.line(f"{tensor.element(index.text, end)} = {value.variance if end == '_q' else value.as_native};")

    def _value_of_choices(self, node: Any) -> Value:
        """The value of an expression; where rounding moves what it reads, of every choice of whole numbers, the first one's."""
        start, self.moved = len(self.lines), False
        plain = self.value(node)
        if not self.moved:
            return plain
        lines, self.lines = self.lines[start:], self.lines[:start]
        names = [self.fresh() for _ in range(3)]
        self.choices, self.taken = Choices(self.let, self.line), "!chosen"
        self.line("uint64_t chosen = 0, undecided = 0;")
        for name, type in zip(names, (c_type(plain.dtype), "double", "double"), strict=True):
            self.line(f"{type} {name} = 0;")
        self.open("do")
        value, (text, q, native) = self.value(node), names
        self.line(f"{q} = chosen ? also({text}, {q}, {value.text}, {value.variance}) : {value.variance};")
        self.line(f"if (!chosen) {{ {text} = {value.text}; {native} = {value.as_native}; }}")
        self.line("chosen = ((chosen | ~undecided) + 1) & undecided;  /* the next of its parts */")
        self.close(f"}} while (chosen && __builtin_popcountll(undecided) <= {MOST_UNDECIDED});")
        self.line(f"if (chosen) {q} = INF;")
        followed, self.choices, self.taken = self.choices.steps, None, ""
        if not followed:  # what tensors hold moves it
            self.lines = [*self.lines[:start], *lines]
            return plain
        return Value(text, value.dtype, q, native if self.native else None, value.loaded)

    def write_Bind(self, node: Any) -> None:
        self.reducing = self._stepping
        self.names[read.key(node.var)] = self.keep(self.value(node.value))
        self.reducing = False
        body = getattr(node, "body", None)
        if body is not None:
            self.statement(body)

    write_LetStmt = write_Bind

    def write_AttrStmt(self, node: Any) -> None:
        self.statement(node.body)

    def write_AssertStmt(self, node: Any) -> None:
        body = getattr(node, "body", None)
        if body is not None:
            self.statement(body)

    def write_AllocBuffer(self, node: Any) -> None:
        self._allocate(node.buffer)
        body = getattr(node, "body", None)
        if body is not None:
            self.statement(body)

    def write_Evaluate(self, node: Any) -> None:
        if read.kind(node.value) != "IntImm":
            raise Unmodelled(f"calls of {read.op_name(node.value).rpartition('.')[2]}")


def _is_given(tensor: Tensor) -> bool:
    """Whether the elements of a parameter are floats that are known exactly and do not change."""
    return tensor.exact and not tensor.written and tensor.dtype in FLOATS


def _elements(tensor: Tensor) -> int:
    return math.prod(extent or 0 for extent in tensor.extents)


def _size_text(node: Any, names: Mapping[int, Value]) -> str:
    """A dimension over the names of parameters."""
    kind = read.kind(node)
    if kind == "IntImm":
        return f"{int(node.value)}LL"
    if kind == "Var":
        return f"(int64_t){names[read.key(node)].text}"
    if kind == "Cast":
        return _size_text(node.value, names)
    a, b = _size_text(node.a, names), _size_text(node.b, names)
    return f"({a} {_SIZES[kind]} {b})" if len(_SIZES[kind]) == 1 else f"{_SIZES[kind]}({a}, {b})"


_SIZES = {"IntImm": "", "Var": "", "Cast": "", "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "floordiv", "FloorMod": "floormod"}
