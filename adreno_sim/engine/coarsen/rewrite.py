"""The body of a coarse kernel: the kernel's own, except for ids, sizes, local memory, and barriers that order nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...base.specs import Size3
from ...ir import ir
from ...ir.builtins import builtin_of
from ...records import dataclass
from .barriers import find_needless_barriers
from .coarse_grid import CoarseGrid
from .group_number import GroupNumber, Known, RowNumber, find_group_numbers
from .local_memory import LocalMemory, LocalRows

_SIZE = ir.Int(64)

REWRITTEN = frozenset(
    ("get_group_id", "get_local_id", "get_global_id", "get_local_linear_id", "get_local_size", "get_enqueued_local_size")
    + ("get_num_groups", "get_global_size", "get_global_offset")
)
"""The work-item functions that have another meaning in the coarse kernel. get_work_dim is what the launch says."""


def coarsen(kernel: ir.Function, grid: CoarseGrid, local_size: Size3, most_groups: int) -> ir.Function:
    """Returns the kernel that runs `grid.lanes` groups of `local_size` as one, with the same parameters. Launches have at most
    `most_groups` groups along x."""
    return _Rewriting(kernel, grid, local_size, most_groups).function()


@dataclass(frozen=True)
class GroupRow:
    """The number of a row: `first` of its plane, and `rows` times `plane`; None is 0."""

    first: ir.Value | None
    plane: ir.Value | None = None
    rows: int = 1


class _Rewriting:
    """Copies a kernel, and replaces ids, sizes and accesses to local memory by what a coarse group computes.

    Values computed from ids are computed again in each block and behind each barrier, as the kernel itself does: kept across a
    barrier it would go through memory.
    """

    def __init__(self, kernel: ir.Function, grid: CoarseGrid, local_size: Size3, most_groups: int):
        self._kernel, self._grid, self._local_size = kernel, grid, local_size
        self._numbers = find_group_numbers(kernel, most_groups) if grid.row else {}
        self._needless = find_needless_barriers(kernel)
        self._rows = LocalRows(LocalMemory(kernel), grid.lanes)
        self._blocks = {id(block): ir.Block(block.name) for block in kernel.blocks}
        self._values: dict[int, ir.Value] = {}
        self._here: list[ir.Instr] = []
        self._known: dict[object, ir.Value] = {}
        self._loc = ir.UNKNOWN_LOC

    def function(self) -> ir.Function:
        """Returns the coarse kernel."""
        copies: list[ir.Instr] = []
        for block in self._kernel.blocks:
            self._here, self._known = self._blocks[id(block)].instrs, {}
            for instr in block.instrs:
                copies += self._copy(instr)
        for copy in copies:  # operands may be defined in a later block
            copy.operands = [self._operand(value) for value in copy.operands]
        return self._kernel.with_body([self._blocks[id(block)] for block in self._kernel.blocks])

    def _copy(self, instr: ir.Instr) -> list[ir.Instr]:
        """Appends what stands for an instruction. Returns the copies, whose operands are still the kernel's."""
        self._loc = instr.loc
        if id(instr) in self._needless:
            return []
        if id(instr) in self._numbers:
            self._values[id(instr)] = self._converted(self._number(self._numbers[id(instr)]), instr.type)
            return []
        if instr.callee is not None and instr.callee.name in REWRITTEN:
            self._values[id(instr)] = self._converted(self._query(instr.callee.name, instr), instr.type)
            return []
        copy = replace(instr, elem=self._rows.elem(instr), blocks=[self._blocks[id(b)] for b in instr.blocks])
        self._values[id(instr)] = copy
        own = self._rows.own_address(instr, self._place)
        if own is not None:
            copy.operands = [*instr.operands[:-1], own]
            self._values[id(own)] = own
            self._here.append(own)
        self._here.append(copy)
        if builtin_of(instr).sync:
            self._known = {}
        return [copy] if own is None else [copy, own]

    def _operand(self, value: ir.Value) -> ir.Value:
        if isinstance(value, ir.Instr):
            return self._values.get(id(value), value)
        return self._rows.operand(value)

    # Values of the coarse kernel

    def _once(self, key: object, make: Callable[[], ir.Value]) -> ir.Value:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _op(self, op: str, *operands: ir.Value, type: ir.Type = _SIZE, callee: ir.Callee | None = None) -> ir.Value:
        instr = ir.Instr(op, type, list(operands), self._loc, callee=callee)
        self._values[id(instr)] = instr
        self._here.append(instr)
        return instr

    def _call(self, name: str, axis: int) -> ir.Value:
        callee = ir.Callee(name, f"_Z{len(name)}{name}j", ("uint",))
        axis_of = ir.Const(ir.Int(32), axis)
        return self._once((name, axis), lambda: self._op("call", axis_of, callee=callee))

    def _times(self, value: ir.Value, factor: int) -> ir.Value:
        return value if factor == 1 else self._once((id(value), factor), lambda: self._op("mul", value, ir.Const(_SIZE, factor)))

    def _sum(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return self._once((id(one), id(other)), lambda: self._op("add", one, other))

    def _converted(self, value: ir.Value, type: ir.Type) -> ir.Value:
        """Returns a value of 64 bits as `type`, to which it fits."""
        if type == _SIZE:
            return value
        if isinstance(value, ir.Const):
            return replace(value, type=type)
        return self._once((id(value), type), lambda: self._op("trunc", value, type=type))

    def _place(self) -> ir.Value:
        """Returns which of the coarse group's groups this is."""
        if not self._grid.plane:
            return self._call("get_local_id", 0)
        return self._sum(self._call("get_local_id", 0), self._times(self._call("get_local_id", 1), self._grid.columns))

    def _column(self) -> ir.Value:
        """Returns the group's place in its row."""
        return self._call("get_global_id", 0)

    def _row(self, periods: tuple[int, ...]) -> GroupRow:
        """Returns the number of the group's row, modulo each of `periods` groups in turn."""
        if periods:
            return self._modulo(self._row(periods[:-1]), periods[-1] // self._grid.row)
        if not self._grid.plane:
            return GroupRow(self._call("get_group_id", 1))
        first = self._call("get_group_id", 2) if self._grid.rows > 1 else None
        return GroupRow(first, self._call("get_global_id", 1), self._grid.rows)

    def _modulo(self, row: GroupRow, by: int) -> GroupRow:
        if row.plane is not None and by % row.rows == 0:
            return GroupRow(row.first, self._by("urem", row.plane, by // row.rows), row.rows)
        return GroupRow(self._by("urem", row.first, by))  # a plane has a multiple of `by` rows

    def _quotient(self, row: GroupRow, by: int) -> ir.Value | None:
        if row.plane is None:
            return self._by("udiv", row.first, by)
        if by % row.rows == 0:
            return self._by("udiv", row.plane, by // row.rows)
        return self._number_of(GroupRow(self._by("udiv", row.first, by), row.plane, row.rows // by))

    def _number_of(self, row: GroupRow) -> ir.Value | None:
        if row.plane is None:
            return row.first
        before = self._times(row.plane, row.rows)
        return before if row.first is None else self._sum(row.first, before)

    def _by(self, op: str, value: ir.Value | None, by: int) -> ir.Value | None:
        """Returns a quotient or remainder by a constant; None is 0."""
        if value is None or by == 1:
            return value if op == "udiv" else None
        return self._once((op, id(value), by), lambda: self._op(op, value, ir.Const(_SIZE, by)))

    def _number(self, known: Known) -> ir.Value:
        """Returns a value that is known, of 64 bits."""
        if isinstance(known, RowNumber):
            return self._quotient(self._row(known.number.periods), known.by // self._grid.row) or ir.Const(_SIZE, 0)
        row = self._number_of(self._row(known.periods))
        return self._column() if row is None else self._sum(self._column(), self._times(row, self._grid.row))

    def _local_id(self, axis: int) -> ir.Value:
        if not self._grid.plane:
            return self._call("get_local_id", axis + 1)
        return self._call("get_local_id", 2) if axis == 0 else ir.Const(_SIZE, 0)

    def _query(self, name: str, instr: ir.Instr) -> ir.Value:
        """Returns the result of a work-item function, of 64 bits."""
        if name == "get_local_linear_id":
            return self._sum(self._local_id(0), self._times(self._local_id(1), self._local_size[0]))
        which = instr.operands[0]
        assert isinstance(which, ir.Const)
        assert isinstance(which.value, int)
        axis = which.value
        if name == "get_global_offset" or axis > 1:
            return ir.Const(_SIZE, int(name.endswith(("_size", "_groups"))))
        size = self._local_size[axis]
        if name in ("get_local_size", "get_enqueued_local_size"):
            return ir.Const(_SIZE, size)
        if name == "get_local_id":
            return self._local_id(axis)
        if name in ("get_num_groups", "get_global_size"):
            groups = self._groups_along_x() if axis == 0 else self._groups_along_y()
            return groups if name == "get_num_groups" else self._times(groups, size)
        if axis == 1:
            return ir.Const(_SIZE, 0) if self._grid.plane else self._call(name, 2)
        number = self._number(GroupNumber()) if self._grid.row else self._column()
        return number if name == "get_group_id" else self._sum(self._times(number, size), self._local_id(0))

    def _groups_along_x(self) -> ir.Value:
        if self._grid.plane:
            return self._times(self._call("get_global_size", 1), self._grid.plane)
        if self._grid.row:
            return self._times(self._call("get_num_groups", 1), self._grid.row)
        return self._call("get_global_size", 0)

    def _groups_along_y(self) -> ir.Value:
        return ir.Const(_SIZE, 1) if self._grid.plane else self._call("get_num_groups", 2)
