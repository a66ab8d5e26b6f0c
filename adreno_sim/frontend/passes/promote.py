"""Promotion of private variables to SSA values (mem2reg) that keeps every defect of the source visible.

A variable is promoted if all its accesses load or store it whole. A read before any write becomes ``UNDEF``, also as an
operand of a phi: nothing is assumed about it. Arrays and structs stay in memory, where each access can be checked. A value
takes the name of the first variable that it is assigned to.
"""

from __future__ import annotations

from ...ir.cfg import predecessors
from ...ir.ir import UNDEF, UNKNOWN_LOC, Array, Block, Const, Float, Function, Instr, Int, Struct, Type, Value, Vector, type_of


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
    assert isinstance(variable, Instr) and variable.elem is not None
    if instr.volatile or (instr.op == "load" and index != 0) or (instr.op == "store" and index != 1):
        return False
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
    stands for its value at the start of a block until `entry_values` has it. `replaced` maps loads, live-ins and trivial phis
    to their values.
    """

    def __init__(self, function: Function, variables: set[Value]):
        self.function = function
        self.variables = variables
        self.incoming = predecessors(function.blocks)
        self.exit_values: dict[Block, dict[Value, Value]] = {}
        self.live_ins: list[tuple[Instr, Block, Value]] = []
        self.entry_values: dict[tuple[Block, Value], Value] = {}
        self.phis: dict[Block, list[Instr]] = {}
        self.incomplete_phis: list[tuple[Instr, Block, Value]] = []
        self.replaced: dict[Value, Value] = {}
        self.named: set[Value] = set()

    def run(self) -> None:
        for block in self.function.blocks:
            self._rewrite_block(block)
        for live_in, block, variable in self.live_ins:
            self.replaced[live_in] = self._at_entry(block, variable)
        while self.incomplete_phis:
            phi, block, variable = self.incomplete_phis.pop()
            phi.blocks = list(self.incoming[block])
            phi.operands = [self._at_exit(source, variable) for source in phi.blocks]
        self._drop_trivial_phis()
        for block in self.function.blocks:
            block.instrs[:0] = [phi for phi in self.phis.get(block, ()) if phi not in self.replaced]
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
                assert isinstance(variable, Instr) and variable.elem is not None
                current[variable] = self._as_type(instr.operands[0], variable.elem, instr, remaining)
                self._name_after(variable, instr.operands[0])
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
        assert isinstance(variable, Instr) and variable.elem is not None
        live_in = Instr("livein", variable.elem)
        self.live_ins.append((live_in, block, variable))
        return live_in

    @staticmethod
    def _as_type(value: Value, type: Type, at: Instr, remaining: list[Instr]) -> Value:
        if type_of(value) == type:
            return value
        cast = Instr("bitcast", type, [value], at.loc)
        remaining.append(cast)
        return cast

    def _at_exit(self, block: Block, variable: Value) -> Value:
        value = self.exit_values[block].get(variable)
        if value is None or (isinstance(value, Instr) and value.op == "livein"):
            return self._at_entry(block, variable)
        return value

    def _at_entry(self, block: Block, variable: Value) -> Value:
        """Returns the value at the start of `block`: that of a definition up single predecessors, or a new phi."""
        passed: list[tuple[Block, Value]] = []
        while True:
            key = (block, variable)
            value = self.entry_values.get(key)
            if value is not None:
                break
            passed.append(key)
            sources = self.incoming[block]
            if not sources:
                value = self._undefined(variable)
                break
            if any(source is not sources[0] for source in sources):
                value = self._new_phi(block, variable)
                break
            block = sources[0]
            value = self.exit_values[block].get(variable)
            if value is not None and not (isinstance(value, Instr) and value.op == "livein"):
                break
        self.entry_values.update(dict.fromkeys(passed, value))
        return value

    @staticmethod
    def _undefined(variable: Value) -> Const:
        assert isinstance(variable, Instr) and variable.elem is not None
        return Const(variable.elem, UNDEF, variable.name)

    def _new_phi(self, block: Block, variable: Value) -> Instr:
        assert isinstance(variable, Instr) and variable.elem is not None
        phi = Instr("phi", variable.elem, loc=UNKNOWN_LOC, name=variable.name)
        self.phis.setdefault(block, []).append(phi)
        self.incomplete_phis.append((phi, block, variable))
        return phi

    def _drop_trivial_phis(self) -> None:
        """Replaces phis whose operands are all one value (or the phi itself), until none is left."""
        pending = [phi for phis in self.phis.values() for phi in phis][::-1]
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
