"""A program that uses a function or a variable which nobody defines does not link, as on a driver."""

from __future__ import annotations

import pytest

from adreno_sim import open_device
from adreno_sim.base.errors import BuildError, UnsupportedError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.frontend.driver import FrontEndTarget
from adreno_sim.frontend.program import compile_source

TARGET = FrontEndTarget(300)
KERNEL = "\n__kernel void k(__global float *a) { a[0] = 1; }"

UNDEFINED = {
    "from a kernel": ("float f(float);\n__kernel void other(__global float *a) { a[1] = f(a[0]); }", "kernel:2:49: error: f()"),
    "a kernel": (
        "__kernel void f(__global float *a);\n__kernel void other(__global float *a) { f(a); }",
        "kernel:2:42: error: f()",
    ),
    "from a function that no kernel calls": ("float f(float); float g(float x) { return f(x); }", "kernel:1:43: error: f()"),
    "overloaded": ("float __attribute__((overloadable)) f(float); float g(float x) { return f(x); }", "kernel:1:73: error: f()"),
    "without parameters": ("int f(); int g(void) { return f(); }", "kernel:1:31: error: f()"),
    "static": ("static int f(int); int g(void) { return f(1); }", "kernel:1:41: error: f()"),
    "a built-in's name, not mangled": ("float sin(float); float g(float x) { return sin(x); }", "kernel:1:45: error: sin()"),
    "by another name": ('int f(int) __asm__("g"); int h(int x) { return f(x); }', "kernel:1:48: error: g()"),
    "in an included line": ('int f(int);\n#line 7 "part.h"\nint g(int x) { return f(x); }', "part.h:7:23: error: f()"),
}


@pytest.mark.parametrize("way", UNDEFINED)
def test_a_call_of_what_nobody_defines_is_refused(way: str) -> None:
    source, place = UNDEFINED[way]
    with pytest.raises(BuildError) as caught:
        compile_source(source + KERNEL, target=TARGET)
    assert f"{place} is called and declared, but never defined" in str(caught.value)
    assert [found.severity for found in caught.value.diagnostics] in (
        ["error"],
        ["warning", "note", "error"],
        ["warning", "error"],
    )


VARIABLES = {
    "in a kernel": (
        "extern __constant float c[4];\n__kernel void other(__global float *a) { a[1] = c[2]; }",
        "kernel:2:49: error: c",
    ),
    "in a function": ("extern __constant int c;\nint g(int x) { return x + c; }", "kernel:2:27: error: c"),
    "one name begins another": ("extern __constant int c, cd;\nint g(int x) { return x + cd; }", "kernel:2:27: error: cd"),
}


@pytest.mark.parametrize("way", VARIABLES)
def test_a_variable_that_nobody_defines_is_refused(way: str) -> None:
    source, place = VARIABLES[way]
    with pytest.raises(BuildError) as caught:
        compile_source(source + KERNEL, target=TARGET)
    assert str(caught.value) == f"{place} is used and declared, but never defined: expected its value in this program"


def test_every_missing_function_is_named_once() -> None:
    source = "int f(int); int g(int);\n__kernel void k(__global int *a) { a[0] = g(f(f(1))); a[1] = g(2); }"
    with pytest.raises(BuildError) as caught:
        compile_source(source, target=TARGET)
    assert sorted(str(caught.value).splitlines()) == [
        "kernel:2:43: error: g() is called and declared, but never defined: expected its body in this program",
        "kernel:2:47: error: f() is called and declared, but never defined: expected its body in this program",
    ]


@pytest.mark.parametrize("cached", ["true", "false"])
def test_the_device_refuses_it_each_time(cached: str) -> None:
    device = open_device(f"sim:adreno-740,cache={cached}")
    for _ in range(2):
        with pytest.raises(BuildError, match="never defined"):
            device.build("int f(int);\n__kernel void k(__global int *a) { a[0] = f(1); }")


LINKED = {
    "declared and not called": "float f(float);",
    "called where clang keeps nothing": "float f(float); static void g(void) { f(1); } void h(void) { if (0) f(1); }",
    "a variable that is declared and not used": "extern __constant float c[4];",
    "a variable defined later": "extern __constant int c; int g(int x) { return x + c; } __constant int c = 3;",
    "defined later": "float f(float); float g(float x) { return f(x); } float f(float x) { return x; }",
    "inline": "inline float f(float x) { return x; } float g(float x) { return f(x); }",
    "a built-in": "float g(float x) { return sin(x) + convert_float_rte(get_global_id(0)) + as_float(abs(1)); }",
    "a built-in declared again": "float __attribute__((overloadable)) sin(float); float g(float x) { return sin(x); }",
    "printf declared again": 'int printf(__constant const char *, ...); void g(void) { printf("x"); }',
    "a barrier and an atomic": "void g(volatile __global int *a) { barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(a); }",
    "a structure that is copied": "typedef struct { int a[40]; } S; S g(S x) { S y = x; return y; }",
}


@pytest.mark.parametrize("way", LINKED)
def test_a_program_that_links_builds(way: str) -> None:
    assert "k" in compile_source(LINKED[way] + KERNEL, target=TARGET).kernels


def test_a_built_in_that_is_not_supported_stays_so() -> None:
    """It is a function of OpenCL C, and the error says who lacks it."""
    device = open_device("sim:adreno-740")
    source = "__kernel void k(__global int *a) { a[0] = 0; qcom_sub_group_sync(7); }"
    storage = device.allocate(4)
    view = device.view(storage, BufferSpec(4, "int32"))
    with pytest.raises(UnsupportedError, match="qcom_sub_group_sync"):
        device.launch(device.build(source)["k"], (1,), (1,), [view])
