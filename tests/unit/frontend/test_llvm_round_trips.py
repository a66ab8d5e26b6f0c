"""What LLVM prints is read as what it means: constants against LLVM's own image of memory, names and data as in the source."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_ir import HALF, TARGET, instrs, module

from adreno_sim.frontend.llvm_reader.reader import ModuleReader
from adreno_sim.frontend.llvm_reader.words import read_marker_name
from adreno_sim.frontend.program import compile_source
from adreno_sim.frontend.units import compile_unit, link_units
from adreno_sim.ir import ir, layout
from adreno_sim.ir.constant_data import data_bytes
from adreno_sim.ir.ir import Array, Float, Int, Struct, Vector

# Constants: a type, and text that LLVM reads as a constant of it.

Drawn = tuple[ir.Type, str]
INTS = st.sampled_from([8, 16, 32, 64])
CLASSES = {  # exponent and mantissa of each class of floats, as shares of their fields
    "zero": (0, 0), "least": (0, 1), "subnormal": (0, -1), "normal": (1, 0), "largest": (-2, -1), "infinite": (-1, 0),
    "quiet": (-1, "half"), "signalling": (-1, 1), "payload": (-1, -1),
}  # fmt: skip
MANTISSA = {16: 10, 32: 23, 64: 52}


def float_pattern(bits: int, kind: str, sign: int) -> int:
    exponent, mantissa = CLASSES[kind]
    width = MANTISSA[bits]
    fraction = 1 << (width - 1) if mantissa == "half" else int(mantissa) % (1 << width)
    return sign << (bits - 1) | (exponent % (1 << (bits - 1 - width))) << width | fraction


def float_text(bits: int, pattern: int) -> str:
    if bits == 16:
        return f"0xH{pattern:04X}"
    return f"bitcast (i{bits} {pattern} to {Float(bits)})"


@st.composite
def integers(draw: st.DrawFn) -> Drawn:
    bits = draw(INTS)
    edges = st.sampled_from([0, 1, -1, 92, 34, -(1 << (bits - 1)), (1 << (bits - 1)) - 1])
    return Int(bits), str(draw(edges | st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)))


@st.composite
def floats(draw: st.DrawFn) -> Drawn:
    bits = draw(st.sampled_from([16, 32, 64]))
    special = st.builds(float_pattern, st.just(bits), st.sampled_from(sorted(CLASSES)), st.integers(0, 1))
    return Float(bits), float_text(bits, draw(special | st.integers(0, (1 << bits) - 1)))


@st.composite
def vectors(draw: st.DrawFn) -> Drawn:
    type, text = draw(scalars)
    count = draw(st.sampled_from([2, 3, 4, 8, 16]))
    if draw(st.booleans()):
        return Vector(type, count), f"splat ({type} {text})"
    texts = [text, *(draw(alike(type)) for _ in range(count - 1))]
    return Vector(type, count), f"<{', '.join(f'{type} {text}' for text in texts)}>"


def alike(type: ir.Type) -> st.SearchStrategy[str]:
    """Texts of a scalar type."""
    if isinstance(type, Int):
        return st.integers(-(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1).map(str)
    return st.integers(0, (1 << type.bits) - 1).map(lambda pattern: float_text(type.bits, pattern))


@st.composite
def strings(draw: st.DrawFn) -> Drawn:
    data = draw(st.binary(min_size=1, max_size=12) | st.text('\\"cx, align !', min_size=1, max_size=12).map(str.encode))
    return Array(Int(8), len(data)), 'c"' + "".join(f"\\{byte:02X}" for byte in data) + '"'


@st.composite
def nothing(draw: st.DrawFn) -> Drawn:
    type, _ = draw(st.one_of(scalars, vectors(), strings()))
    return type, draw(st.sampled_from(["zeroinitializer", "undef", "poison"]))


def arrays(elements: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    def make(drawn: Drawn, count: int) -> Drawn:
        type, text = drawn
        return Array(type, count), f"[{', '.join([f'{type} {text}'] * count)}]" if count else "zeroinitializer"

    return st.builds(make, elements, st.integers(0, 4))


def structs(elements: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    def make(drawn: list[Drawn], packed: bool) -> Drawn:
        body = "{ " + ", ".join(f"{type} {text}" for type, text in drawn) + " }" if drawn else "{}"
        return Struct(tuple(type for type, _ in drawn), packed), f"<{body}>" if packed else body

    return st.builds(make, st.lists(elements, max_size=5), st.booleans())


scalars = st.one_of(integers(), floats())
leaves = st.one_of(scalars, vectors(), strings(), nothing())
constants = st.recursive(leaves, lambda inner: st.one_of(arrays(inner), structs(inner)), max_leaves=10)


def make_machine() -> llvm.TargetMachine:
    """A machine of its own for each engine, which takes it over."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine()


def check_images(drawn: list[Drawn]) -> None:
    """Prints the constants by LLVM, and compares the bytes that are read with those that LLVM lays out in memory."""
    machine = make_machine()
    lines = [f"@g{number} = constant {type} {text}, align 16" for number, (type, text) in enumerate(drawn)]
    parsed = llvm.parse_assembly("\n".join([f'target datalayout = "{machine.target_data}"', *lines]))
    found = ModuleReader(str(parsed)).globals
    assert len(found) == len(drawn)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    for number, (type, _) in enumerate(drawn):
        variable = found[f"g{number}"]
        assert (variable.type, variable.align) == (type, 16)
        image = ctypes.string_at(engine.get_global_value_address(f"g{number}"), layout.size_of(type))
        read, filled = data_bytes(variable.initializer, type), find_filled(type)
        assert len(read) == len(image)
        assert [read[at] for at in filled] == [image[at] for at in filled], str(parsed)


def find_filled(type: ir.Type) -> list[int]:
    """The offsets of the bytes of a type that are no padding."""
    if isinstance(type, (Array, Vector, Struct)):
        count = len(type.fields) if isinstance(type, Struct) else type.count
        parts = [layout.step(type, index) for index in range(count)]
        return [start + at for part, start in parts for at in find_filled(part)]
    return list(range(layout.size_of(type)))


@settings(deadline=None, max_examples=60)
@given(st.lists(constants, min_size=1, max_size=8))
def test_constants_are_what_llvm_puts_into_memory(drawn: list[Drawn]) -> None:
    check_images(drawn)


def test_every_byte_in_every_neighbourhood() -> None:
    """Each byte beside each of those that mean something in quotes."""
    special = b'\\"\0\n09Aaf, !%@c\x7f\x80\xff'
    rows = [bytes([byte, other, byte, byte, other]) for byte in range(256) for other in special]
    drawn = [(Array(Int(8), 5), "[" + ", ".join(f"i8 {value}" for value in row) + "]") for row in rows]
    check_images(drawn)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_floats_of_every_class(bits: int) -> None:
    patterns = [float_pattern(bits, kind, sign) for kind in CLASSES for sign in (0, 1)]
    powers = [struct.unpack("<Q", struct.pack("<d", 10.0**power))[0] for power in range(-30, 30)] if bits == 64 else []
    drawn = [(Float(bits), float_text(bits, pattern)) for pattern in (*patterns, *powers)]
    check_images(drawn)
    read = ModuleReader(str(llvm.parse_assembly("\n".join(f"@g{n} = constant {t} {x}" for n, (t, x) in enumerate(drawn)))))
    assert [read.globals[f"g{n}"].initializer.value for n in range(len(patterns))] == patterns


# Sources

RAW = "".join(f"\\x{byte:02x}" for byte in range(256))


def test_data_of_a_source_is_read_as_it_is_written() -> None:
    program = module(rf"""
      __constant uchar bytes[256] = {{ {", ".join(map(str, range(256)))} }};
      __constant char text[] = "{RAW}";
      __constant char tricky[] = "x, align 1024 \\ \" @f !dbg !3 c\"poison <4 x i32> <i32 poison> \x5c\x22\x5c" "5C";
      __constant uchar16 lanes = (uchar16)(92, 34, 92, 92, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255);
      __constant struct {{ char c; uchar s[3]; }} pair[2] = {{ {{92, {{92, 92, 1}}}}, {{'"', {{0, 92}}}} }};
      __kernel void k(__global uchar *o) {{
        int i = get_global_id(0); uchar own[4] = "\\\"\\";
        o[i] = bytes[i] + text[i] + tricky[i] + lanes.s0 + pair[i].s[i] + own[i]; }}""")
    data = {name: data_bytes(found.initializer, found.type) for name, found in program.globals.items()}
    assert data["bytes"] == bytes(range(256))
    assert data["text"] == bytes([*range(256), 0])
    assert data["tricky"] == b'x, align 1024 \\ " @f !dbg !3 c"poison <4 x i32> <i32 poison> \\"\\5C\0'
    assert program.globals["tricky"].align == 1
    assert data["lanes"] == bytes([92, 34, 92, 92, *range(11), 255])
    assert data["pair"] == b'\\\\\\\1"\0\\\0'
    assert data["__const.k.own"] == b'\\"\\\0'


def test_text_in_data_is_no_undefined_arithmetic() -> None:
    """A program that mentions `poison` and has a division by 0: the second compilation changes the operation alone."""
    program = module("""__constant char t[] = "<4 x i32> <i32 poison, i32 1>";
      __kernel void k(__global int *o) { o[0] = t[get_global_id(0)]; o[1] = 1 / 0; }""")
    assert data_bytes(program.globals["t"].initializer, program.globals["t"].type) == b"<4 x i32> <i32 poison, i32 1>\0"
    assert len(instrs(program.kernels["k"], "udiv")) == 1


def test_names_of_a_source() -> None:
    program = module(f"""{HALF}
      struct höhe {{ int größe; }};
      __constant int näher[2] = {{1, 2}};
      int hälfte(int x) {{ return x / 2; }}
      __kernel void über(__global struct höhe *ziel, __global int *été, __local half *$a) {{
        __local int lücke[4]; int präfix = get_global_id(0); int brüche[2] = {{näher[0], 3}};
        if (präfix > 3) goto schluß;
        lücke[präfix] = hälfte(brüche[präfix & 1]);
        ziel[0].größe = été[präfix] + lücke[0];
       schluß: ; }}""")
    function = program.kernels["über"]
    assert [(param.name, param.spelled) for param in function.params] == [
        ("ziel", "struct höhe*"), ("été", "int*"), ("$a", "half*"),
    ]  # fmt: skip
    assert {"näher", "über.lücke"} <= set(program.globals)
    assert {"brüche"} == {instr.name for instr in instrs(function, "alloca")}
    assert "schluß" in {block.name for block in function.blocks} or function.blocks[-1].terminator.op == "ret"


def test_a_mark_of_the_vendor_finds_a_parameter_of_any_name() -> None:
    source = """#pragma OPENCL EXTENSION cl_qcom_subgroup_uniform_load : enable
      __kernel void k(__global int *o, __attribute__((annotate("sub_group_uniform"))) int größe) { o[0] = größe; }"""
    function = compile_source(source, target=TARGET).kernels["k"]
    assert [param.qualifiers for param in function.params] == [(), ("sub_group_uniform",)]


@pytest.mark.parametrize("name", ['a"b.h', "a\\b.h", "é.h", "a 'b' !3, line.h", "a\tb.h"])
def test_names_of_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("int f(int x) { return x + 1; }\n")
    spelled = name.replace("\\", "\\\\").replace('"', '\\"')
    include = f"#include <{name}>" if '"' in name else f'#include "{name}"'
    program = compile_source(
        f"{include}\n__kernel void k(__global int *o) {{ o[0] = f(o[1]); }}", f"-I {str(tmp_path)!r}", target=TARGET
    )
    (added,) = instrs(program.kernels["k"], "add")
    assert (added.loc.file, added.loc.line) == (str(tmp_path / name), 1)
    assert read_marker_name(spelled) == name


def test_linked_programs_keep_their_texts() -> None:
    """Both have a function and data of one name: one of them is renamed, but not in what it prints or stores."""
    sources = [
        f"""static int f(int x) {{ return x + {number}; }} static __constant char t[] = "@f @t {number}";
        __kernel void k{number}(__global int *o) {{ o[0] = f(o[1]) + t[o[2]]; }}"""
        for number in (1, 2)
    ]
    program = link_units([compile_unit(source, target=TARGET) for source in sources])
    data = {data_bytes(found.initializer, found.type) for found in program.globals.values()}
    assert data == {b"@f @t 1\0", b"@f @t 2\0"}
    for number in (1, 2):
        (added,) = [i for i in instrs(program.kernels[f"k{number}"], "add") if isinstance(i.operands[1], ir.Const)]
        assert added.operands[1].value == number
