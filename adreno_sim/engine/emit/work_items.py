"""Work-item functions: ids and sizes as i64 operands. Group ids are parameters of the group's function, local ids come from
its loops, the rest from the context block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...ir import ir
from ..abi import context
from ..llvm.text import Text, emit_add_i64, emit_mul_i64

if TYPE_CHECKING:
    from .region import RegionEmitter

AXES = "xyz"
_WAVE_QUERIES = {
    "get_sub_group_size", "get_max_sub_group_size", "get_num_sub_groups", "get_enqueued_num_sub_groups",
    "get_sub_group_id", "get_sub_group_local_id",
}  # fmt: skip


class WorkItem:
    """The ids of the current work-item. `local` holds operands of its local ids as soon as the loops are open.

    If the global size is not a multiple of the local size, groups at the edge are smaller, and `size` is a run-time operand.
    """

    def __init__(self, emitter: RegionEmitter):
        self._e = emitter
        self._sizes = emitter.unit.spec.local_size
        self._known: dict[tuple[str, int], str] = {}
        self.local: list[str] = ["0", "0", "0"]

    @contextmanager
    def at(self, local: Sequence[str]) -> Iterator[None]:
        """Code of another work-item, which has these local ids."""
        here, self.local[:] = list(self.local), local
        try:
            yield
        finally:
            self.local[:] = here

    def _once(self, what: str, axis: int, make: Callable[[Text], object]) -> str:
        """Returns an operand that the prologue computes on first use."""
        if (what, axis) not in self._known:
            self._known[what, axis] = str(make(self._e.prologue))
        return self._known[what, axis]

    def group(self, axis: int) -> str:
        return f"%g{AXES[axis]}"

    def enqueued_size(self, axis: int) -> str:
        return str(self._sizes[axis])

    def size(self, axis: int) -> str:
        """Returns the number of work-items of this group along `axis`."""
        return str(self._sizes[axis]) if self._e.unit.spec.uniform else self._once("size", axis, lambda t: self._edge(t, axis))

    def _edge(self, t: Text, axis: int) -> str:
        total = context.read(t, context.GLOBAL_SIZE + axis)
        rest = t.op(f"sub i64 {total}, {emit_mul_i64(t, self.group(axis), self._sizes[axis])}")
        least = self._e.unit.declare("llvm.umin.i64", "i64", "i64, i64")
        return t.op(f"call {least}(i64 {rest}, i64 {self._sizes[axis]})")

    def offset(self, axis: int) -> str:
        return self._once("offset", axis, lambda t: context.read(t, context.GLOBAL_OFFSET + axis))

    def global_size(self, axis: int) -> str:
        return self._once("global", axis, lambda t: context.read(t, context.GLOBAL_SIZE + axis))

    def groups(self, axis: int) -> str:
        return self._once("groups", axis, lambda t: context.read(t, context.NUM_GROUPS + axis))

    def dimensions(self) -> str:
        return self._once("dim", 0, lambda t: context.read(t, context.WORK_DIM))

    def _first(self, axis: int) -> str:
        """Returns the global id of the group's first work-item, without the offset."""
        return self._once("first", axis, lambda t: self._start(t, axis))

    def _start(self, t: Text, axis: int) -> str | int:
        start = emit_mul_i64(t, self.group(axis), self._sizes[axis])
        if axis > 0 or not self._e.unit.spec.overlapping:
            return start
        last = t.op(f"sub i64 {self.global_size(axis)}, {self._sizes[axis]}")
        least = self._e.unit.declare("llvm.umin.i64", "i64", "i64, i64")
        return t.op(f"call {least}(i64 {start}, i64 {last})")

    def global_id(self, axis: int, with_offset: bool = True) -> str:
        start: str | int = self._first(axis)
        if with_offset:
            offset = self.offset(axis)
            start = self._once("start", axis, lambda t: emit_add_i64(t, self._first(axis), offset))
        return str(emit_add_i64(self._e.body, start, 0 if self.local[axis] == "0" else self.local[axis]))

    def _linear(self, t: Text, ids: list[str], sizes: list[str]) -> str:
        result: str | int = 0
        for axis in (2, 1, 0):
            if result != 0:
                result = t.op(f"mul i64 {result}, {sizes[axis]}")
            result = emit_add_i64(t, result, 0 if ids[axis] == "0" else ids[axis])
        return str(result)

    def local_linear(self, t: Text) -> str:
        """Returns the local id linear over the group's own extents, as get_local_linear_id does. It indexes arena arrays."""
        return self.linear(t, self.local)

    def linear(self, t: Text, ids: list[str]) -> str:
        """Returns a local id, linear over the group's own extents."""
        return self._linear(t, ids, [self.size(axis) for axis in range(3)])

    def slot(self, t: Text) -> str:
        """Returns the local id linear over the full extents, which names the work-item in reports and race cells."""
        return self._linear(t, self.local, [str(s) for s in self._sizes])

    def global_linear(self) -> str:
        ids = [self.global_id(axis, with_offset=False) for axis in range(3)]
        return self._linear(self._e.body, ids, [self.global_size(axis) for axis in range(3)])

    def local_total(self) -> str:
        """Returns the number of work-items of this group."""
        total = self.size(0)
        for axis in (1, 2):
            total = self._e.body.op(f"mul i64 {total}, {self.size(axis)}")
        return total


def _per_axis(e: RegionEmitter, instr: ir.Instr, get: Callable[[int], str], beyond: str) -> None:
    """Emits a function of a dimension number; its result is `beyond` from the fourth dimension on."""
    index = instr.operands[0]
    if isinstance(index, ir.Const):
        axis = index.value if isinstance(index.value, int) else 0
        e.define(instr, get(axis) if axis < 3 else beyond)
        return
    chosen, operand = beyond, e.typed_operand(index)
    for axis in range(3):
        hit = e.body.op(f"icmp eq {operand}, {axis}")
        chosen = e.body.op(f"select i1 {hit}, i64 {get(axis)}, i64 {chosen}")
    e.define(instr, chosen)


def emit_query(e: RegionEmitter, instr: ir.Instr) -> bool:
    """Emits a work-item function. Returns False if `instr` calls something else."""
    assert instr.callee is not None
    item, name = e.item_ids, instr.callee.name
    per_axis = {
        "get_global_id": (item.global_id, "0"), "get_local_id": (lambda axis: item.local[axis], "0"),
        "get_group_id": (item.group, "0"),
        "get_global_size": (item.global_size, "1"), "get_local_size": (item.size, "1"), "get_num_groups": (item.groups, "1"),
        "get_enqueued_local_size": (item.enqueued_size, "1"), "get_global_offset": (item.offset, "0"),
    }  # fmt: skip
    if name in per_axis:
        _per_axis(e, instr, *per_axis[name])
    elif name == "get_work_dim":
        e.define(instr, e.body.op(f"trunc i64 {item.dimensions()} to i32"))
    elif name == "get_local_linear_id":
        e.define(instr, item.local_linear(e.body))
    elif name == "get_global_linear_id":
        e.define(instr, item.global_linear())
    else:
        return _emit_wave_query(e, instr)
    return True


def _emit_wave_query(e: RegionEmitter, instr: ir.Instr) -> bool:
    """Emits sub-group queries. Sub-groups are runs of `wave_size` consecutive local linear ids."""
    assert instr.callee is not None
    if instr.callee.name not in _WAVE_QUERIES:
        return False
    wave, item, t = e.unit.spec.wave_size, e.item_ids, e.body
    total = item.local_total()
    count = t.op(f"udiv i64 {t.op(f'add i64 {total}, {wave - 1}')}, {wave}")
    full = -(-e.unit.spec.items // wave)
    linear = item.local_linear(t)
    number = t.op(f"udiv i64 {linear}, {wave}")
    name = instr.callee.name
    if name == "get_sub_group_size":
        rest = t.op(f"sub i64 {total}, {t.op(f'mul i64 {number}, {wave}')}")
        result = t.op(f"call {e.unit.declare('llvm.umin.i64', 'i64', 'i64, i64')}(i64 {rest}, i64 {wave})")
    else:
        result = {
            "get_max_sub_group_size": str(wave), "get_num_sub_groups": count, "get_enqueued_num_sub_groups": str(full),
            "get_sub_group_id": number, "get_sub_group_local_id": t.op(f"urem i64 {linear}, {wave}"),
        }[name]  # fmt: skip
    e.define(instr, t.op(f"trunc i64 {result} to i32"))
    return True
