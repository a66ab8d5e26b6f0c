"""Inlining of helper functions: kernel IR has no calls but those of built-ins.

A call of a defined function is read as an instruction `helper`, which names the function in `pred`. The callee's blocks are
copied in its place, and the call's line is added to every copied location.
"""

from __future__ import annotations

from collections.abc import Callable

from ...base.errors import UnsupportedError
from ...ir import layout
from ...ir.ir import UNDEF, Block, Const, Function, Instr, Int, Param, SourceLoc, Struct, Value, Void

_INSTRUCTION_LIMIT = 200_000
"""Instructions of one function: helpers that call each other twice grow exponentially."""


def inline_helpers(function: Function, find: Callable[[str], Function]) -> None:
    """Replace every helper call in `function` by a copy of what `find` gives, which has none itself.

    Raises UnsupportedError for a program that grows past what can be compiled.
    """
    size = sum(len(block.instrs) for block in function.blocks)
    done: list[Block] = []
    replaced: dict[Value, Value] = {}
    allocas: list[Instr] = []
    for block in function.blocks:
        rest = block.instrs
        block.instrs = []
        done.append(block)
        for instr in rest:
            if instr.op != "helper":
                done[-1].instrs.append(instr)
                continue
            callee = find(instr.pred)
            size += sum(len(copied.instrs) for copied in callee.blocks)
            if size > _INSTRUCTION_LIMIT:
                raise UnsupportedError(f"unsupported: over {_INSTRUCTION_LIMIT} instructions in {function.name} once inlined")
            copy = _Copy(callee, instr)
            allocas += copy.allocas
            done[-1].instrs += copy.entry.instrs
            if copy.blocks:
                _redirect_phis(done[-1], copy.entry)
            done += copy.blocks
            replaced[instr] = copy.result
        if done[-1] is not block:
            _redirect_phis(done[-1], block)
    function.blocks = done
    function.blocks[0].instrs[:0] = allocas
    if replaced:
        _replace(function, replaced)


def _redirect_phis(block: Block, start: Block) -> None:
    """The edges that left from `start` now leave from `block`, where the code after the last call went."""
    for successor in block.successors:
        for phi in successor.instrs:
            if phi.op != "phi":
                break
            phi.blocks = [block if source is start else source for source in phi.blocks]


def _replace(function: Function, replaced: dict[Value, Value]) -> None:
    for block in function.blocks:
        for instr in block.instrs:
            for index, operand in enumerate(instr.operands):
                while operand in replaced:
                    operand = replaced[operand]
                instr.operands[index] = operand


class _Copy:
    """A copy of `callee` for one call: the code of `entry` continues the calling block, `blocks` follow it.

    The last of them, if any, is the block that the code after the call goes to. `result` is the value returned.
    """

    def __init__(self, callee: Function, call: Instr):
        self.call = call
        self.values: dict[Value, Value] = dict(zip(callee.params, call.operands, strict=True))
        self.blocks_of: dict[Block, Block] = {block: Block(block.name) for block in callee.blocks}
        self.locs: dict[SourceLoc, SourceLoc] = {}
        self.returns: list[tuple[Block, Instr]] = []
        self.allocas: list[Instr] = []
        for block in callee.blocks:
            for instr in block.instrs:
                self.values[instr] = Instr(instr.op, instr.type)
        for block in callee.blocks:
            self._copy_block(block)
        first = self.blocks_of[callee.blocks[0]]
        self.entry = first
        self.blocks = [copy for copy in self.blocks_of.values() if copy is not first]
        self.result = self._join(first)

    def _copy_block(self, block: Block) -> None:
        target = self.blocks_of[block]
        for instr in block.instrs:
            copy = self._copy_instr(instr)
            if copy.op == "ret":
                self.returns.append((target, copy))
            (self.allocas if copy.op == "alloca" else target.instrs).append(copy)

    def _copy_instr(self, instr: Instr) -> Instr:
        copy = self.values[instr]
        assert isinstance(copy, Instr)
        copy.operands = [self.values.get(operand, operand) for operand in instr.operands]
        copy.loc = self.locs.get(instr.loc) or self._extend_loc(instr.loc)
        copy.pred, copy.callee, copy.elem, copy.align = instr.pred, instr.callee, instr.elem, instr.align
        copy.volatile, copy.mask, copy.indices, copy.cases = instr.volatile, instr.mask, instr.indices, instr.cases
        copy.blocks = [self.blocks_of[target] for target in instr.blocks]
        copy.name = instr.name
        if instr.op == "store" and isinstance(instr.operands[0], Param) and isinstance(instr.operands[0].type, Struct):
            self._copy_struct(copy, instr.operands[0].type)
        return copy

    @staticmethod
    def _copy_struct(copy: Instr, type: Struct) -> None:
        """A struct passed by value: the caller gives its address, and the callee's store becomes a copy of the bytes."""
        copy.op, copy.operands = "memcpy", [copy.operands[1], copy.operands[0], Const(Int(64), layout.size_of(type))]

    def _extend_loc(self, loc: SourceLoc) -> SourceLoc:
        outer = self.call.loc
        made = SourceLoc(loc.line, loc.column, loc.file, (*loc.callers, outer.line, *outer.callers), loc.scope)
        self.locs[loc] = made
        return made

    def _join(self, first: Block) -> Value:
        """Lead every return to the code after the call."""
        if len(self.returns) == 1 and self.returns[0][0] is first and not self.blocks:
            ret = first.instrs.pop()
            return ret.operands[0] if ret.operands else Const(Void(), UNDEF)
        after = Block(self.blocks[-1].name + ".after" if self.blocks else first.name + ".after")
        self.blocks.append(after)
        values = []
        for _, ret in self.returns:
            values.append(ret.operands[0] if ret.operands else Const(Void(), UNDEF))
            ret.op, ret.operands, ret.blocks = "br", [], [after]
        if not values or isinstance(self.call.type, Void):
            return Const(self.call.type, UNDEF)
        phi = Instr("phi", self.call.type, values, self.call.loc, blocks=[source for source, _ in self.returns])
        after.instrs.append(phi)
        return phi
