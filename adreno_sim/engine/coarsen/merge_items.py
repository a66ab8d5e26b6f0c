"""Work-item coarsening: a kernel in which each work-item does what several did up to the steps of a tree reduction, and adds up
what they would have handed over.

What one work-item does up to there is written once more for each of the others, with a local id of its own. The copies follow one
another, so that all that is computed in them is known behind them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir import ir
from .tree_reduction import ReductionStep, TreeReduction

_SIZES = ("get_local_size", "get_enqueued_local_size")


def merge_items(kernel: ir.Function, tree: TreeReduction) -> ir.Function:
    """Returns the kernel that does the same with work-groups of `tree.items // tree.copies` work-items along x, without an
    offset."""
    return _Merging(kernel, tree).function()


class _Copy:
    """A copy of blocks: what replaces their values in it, and what replaces the blocks. number: counts the copies."""

    def __init__(self, number: int, blocks: Iterable[ir.Block]):
        self.number = number
        self.blocks = {id(block): ir.Block(f"{block.name}.{number}" if number else block.name) for block in blocks}
        self._values: dict[int, ir.Value] = {}
        self._made: list[ir.Instr] = []

    def value(self, value: ir.Value) -> ir.Value:
        return self._values.get(id(value), value)

    def block(self, block: ir.Block) -> ir.Block:
        return self.blocks.get(id(block), block)

    def add(self, instr: ir.Instr, into: list[ir.Instr]) -> ir.Instr:
        """Appends a copy of an instruction. Its operands are still those of the original: they may be copied later."""
        copy = replace(instr, operands=list(instr.operands), blocks=[self.block(b) for b in instr.blocks])
        self._values[id(instr)] = copy
        self._made.append(copy)
        into.append(copy)
        return copy

    def put(self, instr: ir.Instr, value: ir.Value) -> None:
        """Lets `value` stand for the result of an instruction."""
        self._values[id(instr)] = value

    def connect(self) -> None:
        """Gives the copies of instructions their operands."""
        for instr in self._made:
            instr.operands = list(map(self.value, instr.operands))


class _Merging:
    def __init__(self, kernel: ir.Function, tree: TreeReduction):
        self._kernel, self._tree = kernel, tree
        self._left = tree.items // tree.copies
        self._dropped = tree.needless | {id(instr) for step in tree.steps for instr in step.instrs}

    def function(self) -> ir.Function:
        """Returns the kernel with fewer work-items."""
        tree, whole = self._tree, _Copy(0, self._kernel.blocks)
        tail = ir.Block(f"{tree.last.name}.handed_over")
        blocks: list[ir.Block] = []
        for block in self._kernel.blocks:
            blocks.append(whole.block(block))
            for instr in block.instrs:
                if instr is tree.hand_over:
                    blocks.append(tail)
                self._copy(whole, instr, blocks[-1].instrs)
        whole.connect()
        for phi in (instr for after in tree.last.successors for instr in whole.block(after).phis):
            phi.blocks = [tail if block is whole.block(tree.last) else block for block in phi.blocks]
        copies = [whole, *(self._copy_of_first_part(number, blocks[0]) for number in range(1, tree.copies))]
        at = blocks.index(tail)
        blocks[at:at] = (block for copy in copies[1:] for block in copy.blocks.values())
        entries = [copy.block(self._kernel.blocks[0]) for copy in copies[1:]]
        for copy, following in zip(copies, [*entries, tail], strict=True):
            copy.block(tree.last).instrs.append(ir.Instr("br", ir.Void(), blocks=[following]))
        self._store_sum(whole.value(tree.hand_over), [copy.value(tree.hand_over.operands[0]) for copy in copies], tail)
        _shorten(blocks, tree.variable, self._left)
        return self._kernel.with_body(blocks)

    def _copy_of_first_part(self, number: int, entry: ir.Block) -> _Copy:
        """Returns a copy of what a work-item does up to the hand-over, of the one `number` times the work-items left further on.
        Its private variables are added to the entry of the kernel."""
        copy = _Copy(number, self._tree.before)
        variables: list[ir.Instr] = []
        for block in self._tree.before:
            for instr in block.instrs:
                if instr is self._tree.hand_over:
                    break
                self._copy(copy, instr, variables if instr.op == "alloca" else copy.block(block).instrs)
        copy.connect()
        entry.instrs[:0] = variables
        return copy

    def _copy(self, copy: _Copy, instr: ir.Instr, into: list[ir.Instr]) -> None:
        """Appends what stands for an instruction in a copy."""
        if id(instr) in self._dropped:
            return
        name = instr.callee.name if instr.callee is not None else ""
        if name != "get_local_linear_id" and (not name.startswith("get_") or _axis(instr) != 0):
            copy.add(instr, into)
        elif name in _SIZES:
            copy.put(instr, ir.Const(instr.type, self._tree.items))
        elif name in ("get_local_id", "get_local_linear_id"):
            copy.put(instr, self._further(copy, copy.add(instr, into), into))
        elif name == "get_global_size":
            copy.put(instr, self._times_items(copy.add(_asking("get_num_groups", instr), into), into))
        elif name == "get_global_id":
            before = self._times_items(copy.add(_asking("get_group_id", instr), into), into)
            item = self._further(copy, copy.add(_asking("get_local_id", instr), into), into)
            copy.put(instr, _op("add", before, item, into))
        else:
            copy.add(instr, into)

    def _further(self, copy: _Copy, item: ir.Instr, into: list[ir.Instr]) -> ir.Value:
        """Returns the id of the work-item for which a copy stands."""
        return _op("add", item, ir.Const(item.type, copy.number * self._left), into) if copy.number else item

    def _times_items(self, groups: ir.Instr, into: list[ir.Instr]) -> ir.Instr:
        return _op("mul", groups, ir.Const(groups.type, self._tree.items), into)

    def _store_sum(self, store: ir.Value, values: list[ir.Value], tail: ir.Block) -> None:
        """Lets the hand-over store what the steps make of the values of a work-item and of those for which it stands, in the
        order of their ids."""
        assert isinstance(store, ir.Instr)
        made: list[ir.Instr] = []
        for step in self._tree.steps:
            half = len(values) // 2
            pairs = zip(values[:half], values[half:], strict=True)
            made += (combined := [_combine(step, own, other) for own, other in pairs])
            values = list(combined)
        store.operands[0] = values[0]
        tail.instrs[:0] = made


def _combine(step: ReductionStep, own: ir.Value, other: ir.Value) -> ir.Instr:
    return replace(step.combine, operands=[own if operand is step.own else other for operand in step.combine.operands])


def _op(op: str, one: ir.Value, other: ir.Value, into: list[ir.Instr]) -> ir.Instr:
    into.append(ir.Instr(op, one.type, [one, other]))
    return into[-1]


def _asking(name: str, query: ir.Instr) -> ir.Instr:
    """Returns an instruction that asks `name` of the same dimension as `query`."""
    return replace(query, callee=ir.Callee(name, f"_Z{len(name)}{name}j", ("uint",)))


def _axis(query: ir.Instr) -> int | None:
    """Returns the dimension that a work-item function is asked for, None for those without a dimension."""
    axis = query.operands[0] if query.operands else None
    return axis.value if isinstance(axis, ir.Const) and isinstance(axis.value, int) else None


def _shorten(blocks: list[ir.Block], variable: ir.Global, count: int) -> None:
    """Gives an array as many elements as it still needs."""
    assert isinstance(variable.type, ir.Array)
    short = replace(variable, type=ir.Array(variable.type.elem, count))

    def changed(value: ir.Value) -> ir.Value:
        if isinstance(value, ir.Global):
            return short if value.name == variable.name else value
        if isinstance(value, ir.Const) and isinstance(value.value, ir.GlobalOffset) and value.value.target.name == variable.name:
            return replace(value, value=ir.GlobalOffset(short, value.value.offset))
        return value

    for instr in (i for block in blocks for i in block.instrs):
        instr.operands = list(map(changed, instr.operands))
