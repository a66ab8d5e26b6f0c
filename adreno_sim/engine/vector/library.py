"""Functions of the built-in library in vectors: straight-line code runs for all lanes at once."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.builtins import is_intrinsic
from ...records import dataclass
from ..builtins.library_calls import LibraryEmitter
from ..emit.builtin_registry import find_emitter
from ..emit.emitter import INSTRUCTIONS, Emitter
from ..emit.unit import Unit
from ..llvm import constants
from ..llvm import vector_text as vt
from .placeholders import Placeholders

_VECTORIZABLE = {
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "fadd", "fsub", "fmul", "fdiv", "fneg", "icmp", "fcmp",
    "fpext", "fptrunc", "fptoui", "fptosi", "uitofp", "sitofp", "trunc", "zext", "sext", "select", "bitcast", "freeze",
    "extractelement", "insertelement", "shufflevector", "ret", "call",
}  # fmt: skip


@dataclass(frozen=True)
class VectorFunction:
    """A library function whose parameters and result are vectors over the lanes, one per component."""

    name: str
    params: tuple[str, ...]
    results: tuple[str, ...]

    def call(self, e: Emitter, parts: list[list[str]]) -> list[str]:
        """Emits a call. Returns the components of the result."""
        flat = [part for group in parts for part in group]
        operands = ", ".join(f"{type} {part}" for type, part in zip(self.params, flat, strict=True))
        result = _result_type(self.results)
        value = e.body.op(f"call {result} @{self.name}({operands})")
        if len(self.results) == 1:
            return [value]
        return [e.body.op(f"extractvalue {result} {value}, {at}") for at in range(len(self.results))]


def _result_type(types: tuple[str, ...]) -> str:
    return types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"


def find_vector_function(unit: Unit, function: ir.Function, lanes: int) -> VectorFunction | None:
    """Returns `function` for `lanes` lanes, defined in `unit` on first use; None if it is not straight-line elementwise code."""
    if (
        len(function.blocks) != 1
        or not all(map(_is_vectorizable, function.blocks[0].instrs))
        or isinstance(function.result, ir.Void)
    ):
        return None
    params = tuple(
        llvm_types.spell(vt.wide(llvm_types.elem_of(p.type), lanes))
        for p in function.params
        for _ in range(_component_count(p.type))
    )
    result = llvm_types.spell(vt.wide(llvm_types.elem_of(function.result), lanes))
    found = VectorFunction(f"{function.name}.lanes", params, (result,) * _component_count(function.result))
    unit.define_once(found.name, lambda: _VectorFunctionEmitter(unit, function, lanes).text(found))
    return found


def _component_count(type: ir.Type) -> int:
    return llvm_types.lanes_of(type)


def _is_vectorizable(instr: ir.Instr) -> bool:
    if instr.op not in _VECTORIZABLE or isinstance(instr.type, ir.Pointer):
        return False
    if instr.op in ("extractelement", "insertelement"):
        return isinstance(instr.operands[-1], ir.Const)
    if instr.op == "bitcast":
        return _component_count(instr.type) == _component_count(instr.operands[0].type)
    if instr.op == "call":
        assert instr.callee is not None
        return is_intrinsic(instr) and find_emitter(instr.callee.name) is not None
    return True


class _VectorFunctionEmitter(LibraryEmitter):
    """Emits the vector form of one library function."""

    def __init__(self, unit: Unit, function: ir.Function, lanes: int):
        super().__init__(unit, function)
        self.lanes = lanes
        self.vectors: dict[int, list[str]] = {}
        self._placeholders = Placeholders(self)

    def text(self, form: VectorFunction) -> str:
        names = [f"%p{at}" for at in range(len(form.params))]
        left = iter(names)
        for param in self.function.params:
            self.vectors[id(param)] = [next(left) for _ in range(_component_count(param.type))]
        for instr in self.function.blocks[0].instrs:
            self._one(form, instr)
        head = ", ".join(f"{type} {name}" for type, name in zip(form.params, names, strict=True))
        start = [f"define internal {_result_type(form.results)} @{form.name}({head}) #0 {{", "entry:"]
        return "\n".join([*start, *self.prologue.lines, *self.body.lines, "}"])

    def _one(self, form: VectorFunction, instr: ir.Instr) -> None:
        if instr.op == "ret":
            self._return(form, self._of(instr.operands[0]))
        elif instr.op == "shufflevector":
            both = self._of(instr.operands[0]) + self._of(instr.operands[1])
            self.vectors[id(instr)] = [both[max(lane, 0)] for lane in instr.mask]
        elif instr.op == "extractelement":
            self.vectors[id(instr)] = [self._of(instr.operands[0])[_lane_index(instr)]]
        elif instr.op == "insertelement":
            parts = list(self._of(instr.operands[0]))
            parts[_lane_index(instr)] = self._of(instr.operands[1])[0]
            self.vectors[id(instr)] = parts
        else:
            self.vectors[id(instr)] = [self._component(instr, at) for at in range(_component_count(instr.type))]

    def _return(self, form: VectorFunction, parts: list[str]) -> None:
        type, whole = _result_type(form.results), parts[0]
        if len(parts) > 1:
            whole = "zeroinitializer"
            for at, part in enumerate(parts):
                whole = self.body.op(f"insertvalue {type} {whole}, {form.results[at]} {part}, {at}")
        self.body.do(f"ret {type} {whole}")

    def _component(self, instr: ir.Instr, at: int) -> str:
        operands = [self._operand(v, at) for v in instr.operands]
        pseudo = ir.Instr(
            instr.op, vt.wide(llvm_types.elem_of(instr.type), self.lanes), operands, instr.loc, instr.pred, instr.callee
        )
        INSTRUCTIONS[instr.op](self, pseudo)
        return self.values.pop(id(pseudo))

    def _operand(self, value: ir.Value, at: int) -> ir.Value:
        type = vt.wide(llvm_types.elem_of(value.type), self.lanes)
        if isinstance(value, ir.Const):
            item = value.value[at] if isinstance(value.value, tuple) else value
            if not isinstance(item.value, int):
                return ir.Const(type, None)
            return ir.Const(type, (item,) * self.lanes)
        parts = self.vectors[id(value)]
        return self._placeholders.make(type, parts[at if len(parts) > 1 else 0])

    def _of(self, value: ir.Value) -> list[str]:
        if not isinstance(value, ir.Const):
            return self.vectors[id(value)]
        found = []
        for at in range(_component_count(value.type)):
            const = self._operand(value, at)
            assert isinstance(const, ir.Const)
            found.append(constants.text(const))
        return found


def _lane_index(instr: ir.Instr) -> int:
    last = instr.operands[-1]
    assert isinstance(last, ir.Const)
    return last.value % _component_count(instr.operands[0].type) if isinstance(last.value, int) else 0
