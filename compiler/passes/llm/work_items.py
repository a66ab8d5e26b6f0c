"""What a kernel's TIR says of its work-items: their numbers, where all of a group arrive together, what an index is for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from ....records import dataclass
from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm

MOST_ITEMS = 4096
"""Work-items, times passes of loops, over which an index is evaluated."""


@dataclass(frozen=True)
class StatementContext:
    """Where a statement is. items: key of a work-item's number in its group -> (variable, count). uniform: all work-items of
    a group get here together. looped: inside a loop of the kernel. conditions: that hold here. ranges: variable -> extent, of
    loops and groups too. lets: key of a bound variable -> its value."""

    items: dict[int, tuple[Any, int]] = field(default_factory=dict)
    uniform: bool = True
    looped: bool = False
    conditions: tuple[Any, ...] = ()
    ranges: tuple[tuple[Any, Any], ...] = ()
    lets: dict[int, Any] = field(default_factory=dict)

    def numbers_in(self, expr: Any) -> set[int]:
        """Keys of the work-items' numbers on which an expression depends."""
        found: set[int] = set()
        for node in read.walk(expr):
            if read.kind(node) == "Var":
                key = read.key(node)
                found |= {key} if key in self.items else self.numbers_in(self.lets[key]) if key in self.lets else set()
        return found

    def same_for_all(self, condition: Any) -> bool:
        """Whether a condition is known to be the same for all work-items of a group."""
        if read.kind(condition) == "Call" and read.op_name(condition) == "tirx.tvm_thread_invariant":
            return True
        return not self.numbers_in(condition) and not any(True for _ in self.loads_in(condition))

    def loads_in(self, expr: Any) -> Iterator[Any]:
        """The loads that an expression rests on."""
        for node in read.walk(expr):
            if is_load(node):
                yield node
            elif read.kind(node) == "Var" and read.key(node) in self.lets:
                yield from self.loads_in(self.lets[read.key(node)])


def is_load(node: Any) -> bool:
    return read.kind(node) in ("BufferLoad", "TensorLoad")


def constant(expr: Any) -> int | None:
    """The value of an integer that is known; None of any other expression."""
    return int(getattr(expr, "value", expr)) if isinstance(expr, int) or read.kind(expr) == "IntImm" else None


def memories(func: Any) -> dict[int, int]:
    """Key of each buffer -> key of the buffer that owns its memory: itself, or the one that it is a view of."""
    owners: dict[int, int] = {}
    for statement, _ in walk_places(func.body):
        if read.kind(statement) == "DeclBuffer" and statement.data is not None:
            viewed = read.data_key(statement.data)
            if viewed is not None:
                owners[read.key(statement.buffer)] = owners.get(viewed, viewed)
    return owners


def memory_of(access: Any, owners: Mapping[int, int]) -> int:
    """Key of the memory that a load or a store accesses."""
    key = read.key(read.loaded_buffer(access))
    return owners.get(key, key)


def loads_of(part: Any, memory: int, owners: Mapping[int, int]) -> list[Any]:
    """The loads from a memory in an expression."""
    return [node for node in read.walk(part) if is_load(node) and memory_of(node, owners) == memory]


def scope_of(access: Any) -> str:
    """Storage scope of what is accessed: "global", "shared", "local", ..."""
    return read.buffer_info(read.loaded_buffer(access)).scope


def walk_places(node: Any, place: StatementContext | None = None) -> Iterator[tuple[Any, StatementContext]]:
    """Every statement in the order of the program, with its place."""
    here = place or StatementContext()
    yield node, here
    kind = read.kind(node)
    if kind == "SeqStmt":
        for item in node.seq:
            yield from walk_places(item, here)
            if read.kind(item) == "Bind":
                here = replace(here, lets={**here.lets, read.key(item.var): item.value})
    elif kind == "IfThenElse":
        uniform = here.uniform and here.same_for_all(node.condition)
        yield from walk_places(node.then_case, replace(here, uniform=uniform, conditions=(*here.conditions, node.condition)))
        if node.else_case is not None:
            yield from walk_places(node.else_case, replace(here, uniform=uniform))
    elif kind == "AttrStmt":
        yield from walk_places(node.body, _launched(node, here) if str(node.attr_key) == "thread_extent" else here)
    elif kind == "For":
        yield from walk_places(node.body, _looped(node, here))
    elif kind.endswith("BlockRealize"):
        yield from walk_places(node.block.body, replace(here, conditions=(*here.conditions, node.predicate)))
    elif kind == "While":
        yield from walk_places(node.body, replace(here, uniform=here.uniform and here.same_for_all(node.condition), looped=True))
    elif getattr(node, "body", None) is not None:
        yield from walk_places(node.body, here)


def _looped(loop: Any, place: StatementContext) -> StatementContext:
    """The place in a loop; of one that a schedule bound to threads, among them."""
    if loop.thread_binding is not None:
        return _among_threads(loop.loop_var, loop.extent, str(loop.thread_binding.thread_tag), place)
    ranges = (*place.ranges, (loop.loop_var, loop.extent))
    return replace(place, uniform=place.uniform and place.same_for_all(loop.extent), looped=bool(place.items), ranges=ranges)


def _launched(attr: Any, place: StatementContext) -> StatementContext:
    return _among_threads(attr.node.var, attr.value, str(attr.node.thread_tag), place)


def _among_threads(var: Any, extent: Any, tag: str, place: StatementContext) -> StatementContext:
    place = replace(place, ranges=(*place.ranges, (var, extent)))
    count = constant(extent)
    if not tag.startswith("threadIdx.") or count is None:
        return place
    return replace(place, items={**place.items, read.key(var): (var, count)})


def evaluate(exprs: list[Any], place: StatementContext) -> list[np.ndarray] | None:
    """Integer expressions for each work-item of a group: arrays (passes of loops around, work-items, lanes).

    None if one depends on more than these, or there are too many.
    """
    counts = [count for _, count in place.items.values()]
    loops = [(var, constant(extent)) for var, extent in place.ranges if read.key(var) not in place.items]
    used = {read.key(node) for expr in exprs for node in read.walk(expr) if read.kind(node) == "Var"}
    loops = [(var, count) for var, count in loops if read.key(var) in used]
    if any(count is None for _, count in loops):
        return None
    passes = [int(count or 0) for _, count in loops]
    if np.prod([*counts, *passes], dtype=np.int64) > MOST_ITEMS:
        return None
    grid = np.indices([*passes, *counts]).reshape(len(passes) + len(counts), int(np.prod(passes)), int(np.prod(counts)), 1)
    keys = [*(read.key(var) for var, _ in loops), *place.items]
    try:
        shape = grid.shape[1:3]
        values = [_value(expr, dict(zip(keys, grid, strict=True)), place.lets) for expr in exprs]
        return [np.broadcast_to(value, (*shape, np.shape(value)[-1] if np.ndim(value) else 1)) for value in values]
    except LookupError:
        return None


_FUNCTIONS: dict[str, Any] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide, "FloorMod": np.mod,
    "Min": np.minimum, "Max": np.maximum, "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
    "GT": np.greater, "GE": np.greater_equal, "And": np.logical_and, "Or": np.logical_or,
}  # fmt: skip


def _value(expr: Any, known: Mapping[int, np.ndarray], lets: Mapping[int, Any]) -> Any:
    kind = read.kind(expr)
    if kind == "IntImm":
        return np.int64(expr.value)
    if kind == "Var":
        key = read.key(expr)
        return known[key] if key in known else _value(lets[key], known, lets)
    if kind in ("Cast", "Broadcast"):
        return _value(expr.value, known, lets)
    if kind == "Ramp":
        base, stride, lanes = _value(expr.base, known, lets), _value(expr.stride, known, lets), int(expr.lanes)
        return base + stride * np.arange(lanes)
    return _FUNCTIONS[kind](_value(expr.a, known, lets), _value(expr.b, known, lets))


def rewrite(func: Any, instead: Mapping[int, Any], kinds: tuple[str, ...]) -> Any:
    """The function with statements of these kinds replaced by key."""
    import tvm_ffi

    tirx = import_tvm().tirx
    if not instead:
        return func
    replaced = (tuple(getattr(tirx, kind) for kind in kinds), lambda node: instead.get(read.key(node), node))
    return func.with_body(tvm_ffi.structural_map(func.body, replaced, order="post"))
