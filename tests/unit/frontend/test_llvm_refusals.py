"""Text that is not understood is refused: what LLVM prints is damaged in many ways, and no way may be read as something else."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_ir import HALF, TARGET

from adreno_sim.base.errors import UnsupportedError
from adreno_sim.frontend.driver import run_clang
from adreno_sim.frontend.llvm_reader.reader import ModuleReader
from adreno_sim.frontend.llvm_reader.words import SYMBOL, read_quoted
from adreno_sim.frontend.options import parse_options
from adreno_sim.ir import ir
from adreno_sim.ir.constant_data import data_bytes


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("[3 x i8]", r'c"\\\\"'), ("[3 x i8]", r'c"ab"'), ("[1 x i8]", r'c"ab"'), ("[2 x i16]", 'c"ab"'), ("i8", 'c"a"'),
        ("[2 x i8]", r'c"\qa"'), ("[2 x i8]", 'c"a\\"'), ("[2 x i8]", 'c"é"'),
        ("[2 x i8]", "[i8 1]"), ("[2 x i8]", "[i8 1, i8 2, i8 3]"), ("[2 x i8]", "[i8 1, i16 2]"), ("[2 x i8]", "<i8 1, i8 2>"),
        ("[99999999999999999999 x i8]", "[i8 1]"),
        ("<2 x i8>", "[i8 1, i8 2]"), ("<2 x i8>", "<i8 1>"), ("<2 x i8>", "splat (i16 1)"), ("[2 x i8]", "splat (i8 1)"),
        ("<{ i8, i32 }>", "{ i8 1, i32 2 }"), ("{ i8, i32 }", "<{ i8 1, i32 2 }>"), ("{ i8, i32 }", "{ i8 1 }"),
        ("{ i8, i32 }", "{ i8 1, i32 2, i32 3 }"), ("{ i8, i32 }", "{ i32 1, i8 2 }"), ("{ i8, i32 }", "{ i8 1, i32 2"),
        ("i8", "256"), ("i8", "-129"), ("i8", "1.0"), ("i8", "true"), ("i8", "null"), ("i8", "u0x5C"), ("i8", "1_0"), ("i1", "2"),
        ("float", "1"), ("float", "1.0e39"), ("float", "1.1"), ("float", "0xH3C00"), ("float", "0xK3FFF8000000000000000"),
        ("float", "0x7FF0000000000001"), ("float", "nan"), ("float", "inf"), ("half", "0xR3F80"), ("half", "65520.0"),
        ("double", "0xL00000000000000003FFF000000000000"), ("double", "0x1FFFFFFFFFFFFFFFFF"), ("half", "0xH3C000"),
        ("ptr", "0"), ("ptr", "none"), ("ptr", "blockaddress(@f, %b)"), ("ptr addrspace(2)", "addrspacecast (ptr null to ptr)"),
        ("ptr addrspace(1)", "@d"), ("ptr addrspace(1)", "getelementptr (i8, ptr addrspace(2) @d, i64 1)"),
        ("i32", "extractelement (<2 x i32> <i32 1, i32 2>, i32 0)"), ("i32", "add (i32 1"), ("i32", "add i32 1, 2"),
    ],
)  # fmt: skip
def test_a_constant_that_is_none_of_its_type_is_refused(type: str, text: str) -> None:
    data = "@d = addrspace(2) constant i32 0\n"
    with pytest.raises(UnsupportedError, match=r"^unsupported: .*, in the initial value of g$"):
        ModuleReader(f"{data}@g = addrspace(2) constant {type} {text}, align 1\n")


@pytest.mark.parametrize(
    "line",
    [
        "@g = thread_local global i32 0", "@g = alias i32, ptr @d", "@g = constant i32 0, partition \"p\"",
        "@g = constant i32 0 1",
        "@g = addrspace(7) constant ptr addrspace(7) null", '@g = constant i8 0, section "a", align 1, comdat', "$g = comdat any",
        'module asm "nop"', "@g = constant [2 x i8", "@g = constant { i8, i16", "@g = constant <{ i8 } zeroinitializer",
        "@g = constant i128 0", "@g = constant bfloat 0xR0000", "@g = constant <2 x ptr> zeroinitializer",
        '@g = constant target("spirv.Image", void, 6, 0, 0, 0, 0, 0, 0) zeroinitializer',
        '@g = constant target("spirv.Image", void, 1, 0, 0, 0, 2, 0, 0) zeroinitializer',
        '@g = constant target("spirv.Image", void, 1, 0, 0, 0, 0, 0, 7) zeroinitializer',
        '@g = constant target("spirv.Sampler", 1) zeroinitializer',
        "%t = type { i8 } i8\n@g = constant %t zeroinitializer", "%t = type opaque\n@g = constant %t zeroinitializer",
    ],
)  # fmt: skip
def test_a_line_of_a_module_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedError, match=r"^unsupported: "):
        ModuleReader(f"@d = constant i32 0\n{line}\n")


FUNCTION = """define spir_kernel void @k(ptr addrspace(1) noundef %p, i32 noundef %n, <4 x float> %v) {
entry:
  LINE
  ret void
}
"""
UNDERSTOOD = [
    "%x = add nsw i32 %n, -1, !dbg !3, !tbaa !4", "%x = load volatile i32, ptr addrspace(1) %p, align 4, !range !3, !noundef !4",
    "store <4 x float> %v, ptr addrspace(1) %p, align 16", "%x = icmp samesign ult i32 %n, 3",
    "%x = shufflevector <4 x float> %v, <4 x float> poison, <2 x i32> <i32 0, i32 3>", "%x = alloca [4 x i8], align 1",
    '%x = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") seq_cst, align 4', "%x = fneg fast <4 x float> %v",
    "%x = atomicrmw add ptr addrspace(1) %p, i32 %n monotonic, align 4", "%x = getelementptr i32, ptr addrspace(1) %p, i64 1",
    "call void @llvm.memset.p1.i64(ptr addrspace(1) align 4 %p, i8 0, i64 4, i1 false) #3",
    "%x = insertvalue { i32, [2 x float] } undef, float 1.000000e+00, 1, 0", "%x = call fast i32 @f(i32 noundef %n) #1",
    "%x = select i1 true, i32 %n, i32 0", "%x = zext nneg i32 %n to i64", "%x = extractelement <4 x float> %v, i32 0",
]  # fmt: skip
NOT_UNDERSTOOD = [
    "%x = add nsw i32 %n, -1 !dbg !3", "%x = add i32 %n, i32 1", "%x = add i32 %n, 1, 2", "%x = add i64 %n, 1",
    "%x = add new i32 %n, 1",
    "%x = load i32, ptr addrspace(1) %p, align 4, nontemporal", "%x = load i32, ptr %p", "%x = load i32, i32 %n",
    "store i32 %n, ptr addrspace(1) %p align 4", "%x = icmp near i32 %n, 3", "%x = icmp olt i32 %n, 3",
    "%x = fcmp slt <4 x float> %v, %v",
    "%x = shufflevector <4 x float> %v, <2 x float> poison, <2 x i32> <i32 0, i32 3>", "%x = alloca i8, align 1, addrspace(5)",
    '%x = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") careful, align 4', "%x = freeze i32 %n to i32",
    "%x = atomicrmw add ptr addrspace(1) %p, i32 %n, 3", "%x = getelementptr i32, ptr addrspace(1) %p, i64 1, float 1.0",
    'call void @f(i32 %n) [ "deopt"(i32 1) ]', "call void @f(i32 swift %n)", "call void @f(i32 %n", "%x = invoke i32 @f(i32 %n)",
    "%x = insertvalue { i32, [2 x float] } undef, float 1.000000e+00, 0", "%x = extractvalue { i32, float } undef, 2",
    "%x = select i1 true, i32 %n, i64 0", "%x = zext i32 %n", "%x = extractelement i32 %n, i32 0", "br label %a, label %b",
    "br i1 true, label %a", "switch i32 %n, label %a [ i64 1, label %b ]", "switch i32 %n, label %a [ i32 1 ]", "ret i32 %n, 1",
    "%x = phi i32 [ 0, %entry ] [ 1, %entry ]", "%x = phi i32 [ 0, entry ]", "unreachable 3", "entry2",
    "%x = add i32 %y, 1\n  %y = add i64 1, 2",
]  # fmt: skip


def read_line(line: str) -> ir.Function:
    return ModuleReader(FUNCTION.replace("  LINE", "  " + line if line != "entry2" else line)).read("k")


@pytest.mark.parametrize("line", UNDERSTOOD)
def test_an_instruction_is_read_to_its_end(line: str) -> None:
    first = read_line(line).blocks[0].instrs[0]
    assert first.name == ("x" if line[0] == "%" else "")


@pytest.mark.parametrize("line", NOT_UNDERSTOOD)
def test_an_instruction_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedError, match=r"^unsupported: .*\(in k\)$"):
        read_line(line)


def test_a_function_without_instructions_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"^unsupported: a function without instructions .*\(in k\)$"):
        ModuleReader("define spir_kernel void @k() {\n\n}\n").read("k")
    assert ModuleReader("define spir_kernel void @k() {\n  ret void\n}\n").read("k").blocks


@pytest.mark.parametrize("text", ["a\\", "a\\q", "\\4", "é"])
def test_text_in_quotes_that_llvm_never_writes(text: str) -> None:
    with pytest.raises(UnsupportedError, match="unsupported: LLVM text"):
        read_quoted(text)


def test_types_without_end_are_refused() -> None:
    types = "".join(f"%t{number} = type {{ {f'%t{number - 1}' if number else 'i8'} }}\n" for number in range(3000))
    with pytest.raises(UnsupportedError, match="nested too deeply"):
        ModuleReader(f"{types}@g = constant %t2999 zeroinitializer\n")


@pytest.fixture(scope="module")
def printed() -> str:
    source = f"""{HALF}
      typedef struct __attribute__((packed)) {{ uchar tag; float v; ushort h[3]; }} P;
      __constant P table[2] = {{{{7, -0.5f, {{1, 2}}}}, {{92}}}}; __constant char text[] = "a\\\\b\\"";
      int f(P p, int x) {{ switch (x) {{ case 1: return p.tag; case 3: return 5; default: return p.h[1]; }} }}
      __kernel void k(__global float4 *v, __read_only image2d_t i, __local int *l, P p, int n) {{
        P own = {{1, 2.5f, {{3}}}}; for (int j = 0; j < n; ++j) {{ v[j].xy += (float2)(table[j & 1].v, f(own, j)); }}
        v[0] = read_imagef(i, (int2)(1, 2)) * (half)2.5h; barrier(CLK_LOCAL_MEM_FENCE); atomic_add(l, text[n] + p.tag); }}"""
    return run_clang(source, parse_options("-cl-std=CL3.0"), TARGET, as_text=True).text


def damage_character(text: str, at: int, what: str) -> str:
    return text[:at] + what + text[at + 1 :]


def damage_by_loss(text: str, at: int, what: str) -> str:
    return text[:at] + text[at + len(what) * 3 :]


def damage_by_end(text: str, at: int, what: str) -> str:
    return text[:at]


@settings(deadline=None, max_examples=200)
@given(
    st.floats(0, 1),
    st.sampled_from([*'\\"()[]{}<>,%@! 019xi\né'] + [""]),
    st.sampled_from([damage_character, damage_by_loss, damage_by_end]),
)
def test_damaged_text_is_read_or_refused(printed: str, where: float, what: str, damage: Callable[[str, int, str], str]) -> None:
    """Damage that leaves text as LLVM takes it has a meaning: the one that LLVM's own printing of it has."""
    text = damage(printed, int(where * printed.rindex("\n}\n")), what)
    ours = describe(text)
    if ours is None:
        return
    if re.findall(SYMBOL, text) != re.findall(SYMBOL, printed):  # another function is called: it has a name, and no meaning here
        return
    theirs = print_again(text)
    if theirs:  # else LLVM does not take it either, and nobody knows what it means
        assert ours == describe(theirs)


def print_again(text: str) -> str:
    """LLVM's own printing of a text, "" where it takes it for none; in a child, since some damage ends LLVM's process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException), os.fdopen(writing, "w") as pipe:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            faulthandler.disable()
            pipe.write(str(llvm.parse_assembly(text)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        printed = pipe.read()
    return printed if os.waitpid(child, 0)[1] == 0 else ""


def describe(text: str) -> dict[str, object] | None:
    """Data and functions of a module, None for one that is refused."""
    try:
        reader = ModuleReader(text)
        functions = [reader.read(name) for name in (*reader.kernels, *reader.helpers)]
    except UnsupportedError:
        return None
    data: dict[str, object] = {name: (str(found.type), found.align, found.space) for name, found in reader.globals.items()}
    for name, found in reader.globals.items():
        if found.initializer is not None:
            data[f"value of {name}"] = data_bytes(found.initializer, found.type)
    for function in functions:
        for block in function.blocks:
            data[f"{function.name} {block.name}"] = [
                (i.op, str(i.type), i.pred, i.mask, i.indices, i.cases, i.volatile, [b.name for b in i.blocks])
                for i in block.instrs
            ]
    return data
