"""Kernel IR means what the source means: an interpreter of it against LLVM running clang's bitcode as it came.

The interpreter is the plainest possible reading of `ir.py`; the native side shares nothing with the front end but clang.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

from adreno_sim.frontend.driver import FrontEndTarget, run_clang
from adreno_sim.frontend.options import parse_options
from adreno_sim.frontend.program import compile_functions
from adreno_sim.ir import ir
from adreno_sim.ir.layout import field_offset, size_of

TARGET = FrontEndTarget()


@dataclass(frozen=True)
class Address:
    memory: bytearray
    offset: int

    def __hash__(self) -> int:
        return id(self.memory) + self.offset


class Interpreter:
    """Runs one function on integers; floats are kept as bit patterns, as constants are."""

    def __init__(self, function: ir.Function, globals: dict[str, ir.Global]):
        self.function = function
        self.values: dict[ir.Value, Any] = {}
        self.globals = {variable: self.store_constant(variable.initializer) for variable in globals.values()}

    def store_constant(self, constant: ir.Const | None) -> bytearray:
        assert constant is not None
        memory = bytearray(size_of(constant.type))
        self.write(Address(memory, 0), constant.type, self.value(constant))
        return memory

    def run(self, *arguments: int) -> int:
        self.values.update(zip(self.function.params, (argument & 0xFFFFFFFF for argument in arguments), strict=True))
        block, previous = self.function.blocks[0], None
        for _ in range(20_000):
            phis = [instr for instr in block.instrs if instr.op == "phi"]
            incoming = [self.value(phi.operands[phi.blocks.index(previous)]) for phi in phis]
            self.values.update(zip(phis, incoming, strict=True))
            for instr in block.instrs[len(phis) : -1]:
                self.values[instr] = self.step(instr)
            last = block.terminator
            if last.op == "ret":
                return int(self.value(last.operands[0]))
            previous, block = block, self.target(last)
        raise AssertionError("no end")

    def target(self, last: ir.Instr) -> ir.Block:
        if last.op == "br":
            return last.blocks[0]
        chosen = self.value(last.operands[0])
        if last.op == "condbr":
            return last.blocks[0 if chosen else 1]
        return last.blocks[last.cases.index(chosen) + 1 if chosen in last.cases else 0]

    def value(self, operand: ir.Value) -> Any:
        if isinstance(operand, ir.Global):
            return Address(self.globals[operand], 0)
        if not isinstance(operand, ir.Const):
            return self.values[operand]
        if isinstance(operand.value, ir.GlobalOffset):
            return Address(self.globals[operand.value.target], operand.value.offset)
        if isinstance(operand.value, tuple):
            return [self.value(item) for item in operand.value]
        if isinstance(operand.value, int):
            return operand.value
        return self.zero(operand.type)

    def zero(self, type: ir.Type) -> Any:
        if isinstance(type, (ir.Vector, ir.Array)):
            return [self.zero(type.elem)] * type.count
        return [self.zero(field) for field in type.fields] if isinstance(type, ir.Struct) else 0

    def parts(self, type: ir.Type) -> list[tuple[ir.Type, int]]:
        if isinstance(type, ir.Struct):
            return [(field, field_offset(type, index)) for index, field in enumerate(type.fields)]
        assert isinstance(type, (ir.Vector, ir.Array))
        return [(type.elem, index * size_of(type.elem)) for index in range(type.count)]

    def write(self, address: Address, type: ir.Type, value: Any) -> None:
        if isinstance(type, (ir.Int, ir.Float)):
            assert isinstance(value, int)
            size = size_of(type)
            address.memory[address.offset : address.offset + size] = value.to_bytes(size, "little")
        else:
            for (part, offset), item in zip(self.parts(type), value, strict=True):
                self.write(Address(address.memory, address.offset + offset), part, item)

    def read(self, address: Address, type: ir.Type) -> Any:
        if isinstance(type, (ir.Int, ir.Float)):
            return int.from_bytes(address.memory[address.offset : address.offset + size_of(type)], "little")
        return [self.read(Address(address.memory, address.offset + offset), part) for part, offset in self.parts(type)]

    def step(self, instr: ir.Instr) -> Any:
        values = [self.value(operand) for operand in instr.operands]
        match instr.op:
            case "alloca":
                assert instr.elem is not None
                return Address(bytearray(b"\xa5" * size_of(instr.elem)), 0)
            case "load":
                return self.read(values[0], instr.type)
            case "store":
                return self.write(values[1], ir.type_of(instr.operands[0]), values[0])
            case "gep":
                return self.gep(instr, values)
            case "memcpy" | "memmove":
                target, source, count = values
                target.memory[target.offset : target.offset + count] = source.memory[source.offset : source.offset + count]
                return None
            case "memset":
                target, byte, count = values
                target.memory[target.offset : target.offset + count] = bytes([byte]) * count
                return None
            case "bitcast":
                memory = Address(bytearray(size_of(instr.type)), 0)
                self.write(memory, ir.type_of(instr.operands[0]), values[0])
                return self.read(memory, instr.type)
            case "icmp" if isinstance(ir.type_of(instr.operands[0]), ir.Pointer):
                return int((values[0].offset == values[1].offset) == (instr.pred == "eq"))
            case "addrspacecast" | "freeze":
                return values[0]
            case "select":
                return values[1] if values[0] else values[2]
            case "extractelement":
                return values[0][values[1]]
            case "insertelement":
                return [values[1] if lane == values[2] else item for lane, item in enumerate(values[0])]
            case "shufflevector":
                lanes = [*values[0], *values[1]]
                return [lanes[lane] if lane >= 0 else 0 for lane in instr.mask]
        if isinstance(instr.type, ir.Vector):
            lane = ir.Instr(instr.op, instr.type.elem, instr.operands, pred=instr.pred)
            return [self.scalar(lane, list(items)) for items in zip(*values, strict=True)]
        return self.scalar(instr, values)

    def gep(self, instr: ir.Instr, values: list[Any]) -> Address:
        base, first, *inner = values
        signed = [value - 2**64 if value >= 2**63 else value for value in (first, *inner)]
        assert instr.elem is not None
        offset, type = base.offset + signed[0] * size_of(instr.elem), instr.elem
        for index in signed[1:]:
            type, more = self.parts(type)[index]
            offset += more
        return Address(base.memory, offset)

    def scalar(self, instr: ir.Instr, values: list[int]) -> int:
        source = ir.type_of(instr.operands[0])
        source = source.elem if isinstance(source, ir.Vector) else source
        if isinstance(source, ir.Float) or isinstance(instr.type, ir.Float):
            return self.float_scalar(instr, source, values)
        assert isinstance(source, ir.Int)
        assert isinstance(instr.type, ir.Int)
        bits, wrap = source.bits, 2**instr.type.bits - 1
        signed = [value - 2**bits if value >= 2 ** (bits - 1) else value for value in values]
        if instr.op == "icmp":
            left, right = signed if instr.pred[0] == "s" else values
            return int({"eq": left == right, "ne": left != right, "lt": left < right, "le": left <= right, "gt": left > right,
                        "ge": left >= right}[instr.pred[-2:]])  # fmt: skip
        a, b = values[0], values[1] if len(values) > 1 else 0
        quotient = abs(signed[0]) // abs(signed[1]) if len(values) > 1 and b else 0
        if len(values) > 1 and (signed[0] < 0) != (signed[1] < 0):
            quotient = -quotient
        results = {
            "add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "or": a | b, "xor": a ^ b,
            "udiv": a // b if b else 0, "urem": a % b if b else 0,
            "sdiv": quotient, "srem": signed[0] - quotient * signed[1] if len(values) > 1 else 0,
            "shl": a << (b % bits), "lshr": a >> (b % bits), "ashr": signed[0] >> (b % bits),
            "trunc": a, "zext": a, "sext": signed[0],
        }  # fmt: skip
        return results[instr.op] & wrap

    def float_scalar(self, instr: ir.Instr, source: ir.Type, values: list[int]) -> int:
        if instr.op in ("sitofp", "uitofp"):
            assert isinstance(source, ir.Int)
            value = values[0] - 2**source.bits if instr.op == "sitofp" and values[0] >= 2 ** (source.bits - 1) else values[0]
            return bits_of(float(value))
        a, *rest = (struct.unpack("<f", struct.pack("<I", value))[0] for value in values)
        if instr.op in ("fptosi", "fptoui"):
            assert isinstance(instr.type, ir.Int)
            return int(a) & (2**instr.type.bits - 1)
        if instr.op == "fcmp":
            return int({"lt": a < rest[0], "gt": a > rest[0], "eq": a == rest[0]}[instr.pred[1:]])
        return bits_of({"fadd": a + rest[0], "fsub": a - rest[0], "fmul": a * rest[0]}[instr.op] if rest else -a)


def bits_of(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def native(source: str, names: list[str]) -> dict[str, ctypes._CFuncPtr]:
    """Functions of `source`, unoptimised, for this machine; `engine` keeps them alive."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    bitcode = run_clang(source, parse_options(""), TARGET).bitcode
    text = str(llvm.parse_bitcode(bitcode, llvm.create_context())).replace("spir_func ", "")
    text = re.sub(r"^target (datalayout|triple).*$", "", text, flags=re.MULTILINE)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
    return {name: kind(engine.get_function_address(name)) for name in names}


_engines: list[llvm.ExecutionEngine] = []

INPUTS = [0, 1, -1, 3, 7, -13, 100, 2**31 - 1, -(2**31)]
PAIRS = list(itertools.product(INPUTS, INPUTS))


def check(source: str, pairs: list[tuple[int, int]]) -> None:
    functions, globals = compile_functions(source, target=TARGET)
    tested = [name for name in functions if name.startswith("test")]
    assert tested
    expected = native(source, tested)
    for name in tested:
        for a, b in pairs:
            got = Interpreter(functions[name], globals).run(a, b)
            assert got == expected[name](a, b) & 0xFFFFFFFF, (name, a, b)


SOURCES = Path(__file__).parent / "frontend_sources" / "functions"


@pytest.mark.parametrize("name", [path.stem for path in sorted(SOURCES.glob("*.cl"))])
def test_written_functions(name: str) -> None:
    check((SOURCES / f"{name}.cl").read_text(), PAIRS)


class Writer:
    """Random functions of two ints, defined for every input: loops are bounded, divisors odd and small."""

    def __init__(self, seed: int):
        self.choose = random.Random(seed)
        self.names = ["a", "b", "x", "y", "z"]
        self.depth = 0

    def function(self, name: str) -> str:
        start = "int x = 1, y = a, z = b; int m[4] = {a, b};"
        return f"int {name}(int a, int b) {{ {start} {self.block(5)} return x + y * 3 + z * 5 + m[a & 3]; }}"

    def block(self, count: int) -> str:
        self.depth += 1
        text = " ".join(self.statement() for _ in range(self.choose.randint(1, count)))
        self.depth -= 1
        return text

    def statement(self) -> str:
        kind = self.choose.randrange(10 if self.depth < 4 else 5)
        target = self.choose.choice([*self.names, f"m[{self.value()} & 3]"])
        match kind:
            case 5 | 6:
                return f"if ({self.expression(2)}) {{ {self.block(3)} }} else {{ {self.block(2)} }}"
            case 7:
                index = f"i{self.depth}"
                leave = self.choose.choice(["", f"if ({self.value()} == {index}) break;", f"if ({self.value()} & 1) continue;"])
                return f"for (int {index} = 0; {index} < {self.choose.randint(1, 4)}; ++{index}) {{ {leave} {self.block(2)} }}"
            case 8:
                cases = " ".join(f"case {n}: {self.block(1)} {self.choose.choice(['break;', ''])}" for n in range(3))
                return f"switch ({self.value()} & 3) {{ {cases} default: {self.block(1)} }}"
            case 9:
                return f"{target} = {self.value()} > {self.value()} ? {self.expression(2)} : {self.expression(1)};"
        return f"{target} {self.choose.choice(['=', '+=', '^=', '-='])} {self.expression(3)};"

    def value(self) -> str:
        return self.choose.choice([*self.names, "m[b & 3]", str(self.choose.randint(-9, 99))])

    def expression(self, depth: int) -> str:
        if not depth or self.choose.random() < 0.2:
            return self.value()
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        forms = ["({} + {})", "({} - {})", "({} * {})", "({} & {})", "({} | {})", "({} ^ {})", "({} < {})", "({} << ({} & 7))",
                 "({} >> ({} & 15))", "((char){} + (uchar){})", "({} / (({} & 14) + 1))", "(int)((uint){} % (({} & 6u) | 1u))",
                 "({} && {})", "({} || {})"]  # fmt: skip
        return self.choose.choice(forms).format(left, right)


@pytest.mark.parametrize("seed", range(4))
def test_random_functions(seed: int) -> None:
    writer = Writer(seed)
    check("\n".join(writer.function(f"test{index}") for index in range(8)), PAIRS[seed % 5 :: 9])
