"""Promotion of private variables to SSA values (mem2reg) that keeps every defect of the source visible.

A variable is promoted if all its accesses load or store it whole. A read before any write becomes ``UNDEF``, also as an
operand of a phi: nothing is assumed about it. So does a read behind a declaration that gives the variable no value, in every
iteration of a loop. Arrays and structs stay in memory, where each access can be checked. A value takes the name of the first
variable that it is assigned to. In a build for the debugger a `note` stays where a value is assigned.
"""

from __future__ import annotations

from ...ir.dominators import Dominators
from ...ir.ir import (
    UNDEF,
    UNKNOWN_LOC,
    Array,
    Block,
    Const,
    Float,
    Function,
    Instr,
    Int,
    Struct,
    Type,
    Value,
    Vector,
    Void,
    type_of,
)
from .phi_placement import place_phis


def promote_to_ssa(function: Function) -> bool:
    """Promotes all variables that can be. Returns whether any was."""
    variables = _promotable(function)
    if variables:
        _Promotion(function, variables).run()
    return bool(variables)


def _promotable(function: Function) -> set[Value]:
    found: set[Value] = {
        instr
        for instr in function.blocks[0].instrs
        if instr.op == "alloca" and not instr.operands and not isinstance(instr.elem, (Array, Struct))
    }
    for block in function.blocks:
        for instr in block.instrs:
            for index, operand in enumerate(instr.operands):
                if operand in found and not _is_whole_access(instr, index, operand):
                    found.discard(operand)
    return found


def _is_whole_access(instr: Instr, index: int, variable: Value) -> bool:
    assert isinstance(variable, Instr)
    assert variable.elem is not None
    if instr.volatile or (instr.op == "load" and index != 0) or (instr.op == "store" and index != 1):
        return False
    if instr.op == "undefine":
        return True
    if instr.op == "load":
        return _same_bits(instr.type, variable.elem)
    return instr.op == "store" and _same_bits(type_of(instr.operands[0]), variable.elem)


def _same_bits(a: Type, b: Type) -> bool:
    return a == b or _bits(a) == _bits(b) != 0


def _bits(type: Type) -> int:
    """Width of a type that `bitcast` can convert, else 0."""
    if isinstance(type, (Int, Float)):
        return type.bits if type.bits > 1 else 0
    if isinstance(type, Vector) and isinstance(type.elem, (Int, Float)):
        return _bits(type.elem) * type.count
    return 0


class _Promotion:
    """One run over one function.

    `exit_values[block][variable]` is the value of a variable at the end of a block that mentions it. A `livein` instruction
    stands for its value at the start of a block until the value is known. `replaced` maps loads, live-ins and trivial phis to
    their values.
    """

    def __init__(self, function: Function, variables: set[Value]):
        self.function = function
        self.variables = variables
        self.exit_values: dict[Block, dict[Value, Value]] = {}
        self.live_ins: dict[Block, dict[Value, Instr]] = {}
        self.phis: dict[Block, dict[Value, Instr]] = {}
        self.replaced: dict[Value, Value] = {}
        self.named: set[Value] = set()

    def run(self) -> None:
        for block in self.function.blocks:
            self._rewrite_block(block)
        tree = Dominators(self.function)
        self._place_phis(tree)
        self._assign_values(tree)
        self._drop_trivial_phis()
        for block in self.function.blocks:
            block.instrs[:0] = [phi for phi in self.phis.get(block, {}).values() if phi not in self.replaced]
            for instr in block.instrs:
                instr.operands = [self._resolve(operand) for operand in instr.operands]

    def _rewrite_block(self, block: Block) -> None:
        current: dict[Value, Value] = {}
        remaining: list[Instr] = []
        for instr in block.instrs:
            if instr.op == "load" and instr.operands[0] in self.variables:
                variable = instr.operands[0]
                if variable not in current:
                    current[variable] = self._live_in(block, variable)
                self.replaced[instr] = self._as_type(current[variable], instr.type, instr, remaining)
            elif instr.op == "store" and instr.operands[1] in self.variables:
                variable = instr.operands[1]
                assert isinstance(variable, Instr)
                assert variable.elem is not None
                current[variable] = self._as_type(instr.operands[0], variable.elem, instr, remaining)
                self._name_after(variable, instr.operands[0])
                if variable.indices:
                    remaining.append(Instr("note", Void(), [current[variable]], instr.loc, indices=variable.indices))
            elif instr.op == "undefine" and instr.operands[0] in self.variables:
                current[instr.operands[0]] = self._undefined(instr.operands[0])
            elif instr not in self.variables:
                remaining.append(instr)
        block.instrs = remaining
        self.exit_values[block] = current

    def _name_after(self, variable: Instr, value: Value) -> None:
        """Gives a value that has no name in the source yet that of the variable. A private array keeps its own."""
        if isinstance(value, Instr) and value.op not in ("phi", "livein", "alloca") and value not in self.named:
            self.named.add(value)
            value.name = variable.name

    def _live_in(self, block: Block, variable: Value) -> Instr:
        assert isinstance(variable, Instr)
        assert variable.elem is not None
        live_in = self.live_ins.setdefault(block, {})[variable] = Instr("livein", variable.elem)
        return live_in

    @staticmethod
    def _as_type(value: Value, type: Type, at: Instr, remaining: list[Instr]) -> Value:
        if type_of(value) == type:
            return value
        cast = Instr("bitcast", type, [value], at.loc)
        remaining.append(cast)
        return cast

    def _place_phis(self, tree: Dominators) -> None:
        """Adds phis without operands wherever definitions of a variable meet and its value is read behind."""
        variables = list(dict.fromkeys(variable for found in self.live_ins.values() for variable in found))
        number = {variable: 1 << place for place, variable in enumerate(variables)}
        read = {block: sum(number[variable] for variable in found) for block, found in self.live_ins.items()}
        defined = {block: sum(number.get(variable, 0) for variable in self._definitions(block)) for block in tree.order}
        for block, numbers in place_phis(tree, defined, read).items():
            self.phis[block] = {variables[place]: self._new_phi(variables[place]) for place in numbers}

    def _definitions(self, block: Block) -> dict[Value, Value]:
        """Returns the variables that a block assigns, with their last values."""
        read = self.live_ins.get(block, {})
        return {variable: value for variable, value in self.exit_values[block].items() if value is not read.get(variable)}

    @staticmethod
    def _new_phi(variable: Value) -> Instr:
        assert isinstance(variable, Instr)
        assert variable.elem is not None
        return Instr("phi", variable.elem, loc=UNKNOWN_LOC, name=variable.name)

    def _assign_values(self, tree: Dominators) -> None:
        """Gives live-ins and phis their values, in a walk down the dominator tree that keeps the values at each block."""
        values: dict[Value, list[Value]] = {}
        arriving: dict[Instr, dict[Block, Value]] = {phi: {} for phis in self.phis.values() for phi in phis.values()}
        walk: list[tuple[Block, dict[Value, Value] | None]] = [(tree.order[0], None)]
        while walk:
            block, left = walk.pop()
            if left is not None:
                for variable in left:
                    values[variable].pop()
                continue
            entered: dict[Value, Value] = {**self.phis.get(block, {})}
            for variable, live_in in self.live_ins.get(block, {}).items():
                self.replaced[live_in] = entered.get(variable) or self._last(values, variable)
            entered.update(self._definitions(block))
            for variable, value in entered.items():
                values.setdefault(variable, []).append(value)
            for successor in block.successors:
                for variable, phi in self.phis.get(successor, {}).items():
                    arriving[phi][block] = self._last(values, variable)
            walk.append((block, entered))
            walk += [(child, None) for child in tree.children(block)]
        for block, phis in self.phis.items():
            for phi in phis.values():
                phi.blocks = list(tree.predecessors[id(block)])
                phi.operands = [arriving[phi][source] for source in phi.blocks]

    @staticmethod
    def _undefined(variable: Value) -> Const:
        assert isinstance(variable, Instr)
        assert variable.elem is not None
        return Const(variable.elem, UNDEF, variable.name)

    def _last(self, values: dict[Value, list[Value]], variable: Value) -> Value:
        return values[variable][-1] if values.get(variable) else self._undefined(variable)

    def _drop_trivial_phis(self) -> None:
        """Replaces phis whose operands are all one value (or the phi itself), until none is left."""
        pending = [phi for phis in self.phis.values() for phi in phis.values()][::-1]
        users: dict[Value, list[Instr]] = {}
        for phi in pending:
            for operand in phi.operands:
                users.setdefault(self._resolve(operand), []).append(phi)
        while pending:
            phi = pending.pop()
            if phi in self.replaced:
                continue
            arms = {self._resolve(operand) for operand in phi.operands} - {phi}
            if len(arms) == 1:
                value = self.replaced[phi] = arms.pop()
                following = [user for user in dict.fromkeys(users.pop(phi, ())) if user not in self.replaced]
                pending += following
                users.setdefault(value, []).extend(following)

    def _resolve(self, value: Value) -> Value:
        found = value
        while found in self.replaced:
            found = self.replaced[found]
        while value is not found:
            self.replaced[value], value = found, self.replaced[value]
        return found
