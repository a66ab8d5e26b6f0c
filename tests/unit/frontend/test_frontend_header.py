"""The base header: values of its constants against NumPy and the specification, and every type of every version."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir

PRAGMA = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
FULL = FrontEndTarget(300, fp64=True)

CONSTANTS = {
    "E": math.e, "LOG2E": math.log2(math.e), "LOG10E": math.log10(math.e), "LN2": math.log(2), "LN10": math.log(10),
    "PI": math.pi,
    "PI_2": math.pi / 2, "PI_4": math.pi / 4, "1_PI": 1 / math.pi, "2_PI": 2 / math.pi, "2_SQRTPI": 2 / math.sqrt(math.pi),
    "SQRT2": math.sqrt(2), "SQRT1_2": math.sqrt(0.5),
}  # fmt: skip

INTEGERS = {
    "CHAR_BIT": 8, "CHAR_MAX": 127, "CHAR_MIN": -128, "SCHAR_MAX": 127, "SCHAR_MIN": -128, "UCHAR_MAX": 255, "SHRT_MAX": 32767,
    "SHRT_MIN": -32768, "USHRT_MAX": 65535, "INT_MAX": 2**31 - 1, "INT_MIN": -(2**31), "UINT_MAX": 2**32 - 1,
    "LONG_MAX": 2**63 - 1, "LONG_MIN": -(2**63), "ULONG_MAX": 2**64 - 1,
    "FLT_DIG": 6, "FLT_MANT_DIG": 24, "FLT_MAX_10_EXP": 38, "FLT_MAX_EXP": 128, "FLT_MIN_10_EXP": -37, "FLT_MIN_EXP": -125,
    "FLT_RADIX": 2, "DBL_DIG": 15, "DBL_MANT_DIG": 53, "DBL_MAX_10_EXP": 308, "DBL_MAX_EXP": 1024, "DBL_MIN_10_EXP": -307,
    "DBL_MIN_EXP": -1021, "DBL_RADIX": 2, "HALF_DIG": 3, "HALF_MANT_DIG": 11, "HALF_MAX_10_EXP": 4, "HALF_MAX_EXP": 16,
    "HALF_MIN_10_EXP": -4, "HALF_MIN_EXP": -13, "HALF_RADIX": 2,
    "CLK_LOCAL_MEM_FENCE": 1, "CLK_GLOBAL_MEM_FENCE": 2, "CLK_IMAGE_MEM_FENCE": 4,
    "CL_VERSION_1_0": 100, "CL_VERSION_1_2": 120, "CL_VERSION_2_0": 200, "CL_VERSION_3_0": 300,
    # CL_SNORM_INT8 ... and CL_R ... of the host API
    "CLK_SNORM_INT8": 0x10D0, "CLK_SNORM_INT16": 0x10D1, "CLK_UNORM_INT8": 0x10D2, "CLK_UNORM_INT16": 0x10D3,
    "CLK_SIGNED_INT8": 0x10D7, "CLK_SIGNED_INT16": 0x10D8, "CLK_SIGNED_INT32": 0x10D9, "CLK_UNSIGNED_INT8": 0x10DA,
    "CLK_UNSIGNED_INT16": 0x10DB, "CLK_UNSIGNED_INT32": 0x10DC, "CLK_HALF_FLOAT": 0x10DD, "CLK_FLOAT": 0x10DE,
    "CLK_R": 0x10B0, "CLK_A": 0x10B1, "CLK_RG": 0x10B2, "CLK_RGBA": 0x10B5, "CLK_BGRA": 0x10B6, "CLK_DEPTH": 0x10BD,
    "CLK_sRGBA": 0x10C1,
    "memory_order_relaxed": 0, "memory_order_seq_cst": 5, "memory_scope_work_item": 0, "memory_scope_work_group": 1,
    "memory_scope_device": 2, "memory_scope_sub_group": 4,
}  # fmt: skip


def stored(body: str, target: FrontEndTarget = FULL) -> list[int]:
    """The constants that a kernel stores, as bit patterns, in order."""
    kernel = compile_source(f"{PRAGMA}__kernel void k(__global void *o) {{ {body} }}", "-cl-std=CL3.0", target=target).kernels[
        "k"
    ]
    values = [instr.operands[0] for instr in kernel.blocks[0].instrs if instr.op == "store"]
    assert all(isinstance(value, ir.Const) for value in values)
    return [value.value for value in values]  # type: ignore[union-attr,misc]


def store(type: str, values: list[str]) -> str:
    return " ".join(f"*(__global {type} *)o = {value};" for value in values)


def test_integers() -> None:
    found = stored(store("long", list(INTEGERS)))
    assert dict(zip(INTEGERS, found, strict=True)) == {name: value % 2**64 for name, value in INTEGERS.items()}


@pytest.mark.parametrize(
    "type, suffix, prefix, dtype",
    [("float", "_F", "FLT", np.float32), ("half", "_H", "HALF", np.float16), ("double", "", "DBL", np.float64)],
)
def test_floating_point(type: str, suffix: str, prefix: str, dtype: type[np.floating]) -> None:
    info = np.finfo(dtype)
    names = [f"M_{name}{suffix}" for name in CONSTANTS] + [f"{prefix}_{name}" for name in ("MAX", "MIN", "EPSILON")]
    expected = np.array([*CONSTANTS.values(), info.max, info.tiny, info.eps], dtype)
    found = np.array(stored(store(type, names)), f"u{expected.itemsize}").view(dtype)
    np.testing.assert_array_equal(found, expected)


def test_special_values() -> None:
    assert stored(store("float", ["MAXFLOAT", "HUGE_VALF", "INFINITY", "-INFINITY"])) == [
        0x7F7FFFFF,
        0x7F800000,
        0x7F800000,
        0xFF800000,
    ]
    assert stored(store("double", ["HUGE_VAL"])) == [0x7FF0000000000000]
    (nan,) = stored(store("float", ["NAN"]))
    assert np.isnan(np.uint32(nan).view(np.float32))


SIZES = {
    "char": 1,
    "uchar": 1,
    "short": 2,
    "ushort": 2,
    "half": 2,
    "int": 4,
    "uint": 4,
    "float": 4,
    "long": 8,
    "ulong": 8,
    "double": 8,
}


def test_every_type_has_its_size() -> None:
    names = [
        (f"{name}{count or ''}", size * {0: 1, 3: 4}.get(count, count))
        for name, size in SIZES.items()
        for count in (0, 2, 3, 4, 8, 16)
    ]
    assert stored(store("int", [f"sizeof({name})" for name, _ in names])) == [size for _, size in names]
    assert (
        stored(store("int", [f"sizeof({name})" for name in ("size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "void *")]))
        == [8] * 5
    )


def test_every_reinterpretation_exists() -> None:
    """as_<type><n> for all pairs of types of 16 bytes, and the scalars."""
    sixteen = [f"{name}{16 // size}" for name, size in SIZES.items()]
    text = " ".join(f"{{ {b} v = as_{b}(*(__global {a} *)o); }}" for a in sixteen for b in sixteen)
    text += " ".join(f"{{ {b} v = as_{b}(*(__global {a} *)o); }}" for a, x in SIZES.items() for b, y in SIZES.items() if x == y)
    assert stored(text) == []


@pytest.mark.parametrize("version", ["CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0"])
def test_the_common_functions_exist_in_every_version(version: str) -> None:
    source = """
    __kernel void k(__global float4 *f, __local int *l, __constant uchar *c, __read_only image2d_t image,
                    __write_only image2d_t out) {
      const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
      int i = get_global_id(0);
      f[i] = fma(sin(f[i]), vload4(i, (__global float *)f), read_imagef(image, s, (int2)(i, 0)) + convert_float4(vload4(0, c)));
      write_imagef(out, (int2)(i, 1), f[i]);
      atomic_add(l, mad24(i, 3, max(i, 4)));
      barrier(CLK_LOCAL_MEM_FENCE);
      float p[4]; vstore4(f[1], 0, p); f[2] = vload4(0, p) + dot(f[0], f[1]) + l[0]; float w; f[3].x = fract(f[3].y, &w) + w;
    }"""
    kernel = compile_source(source, f"-cl-std={version}", target=FrontEndTarget(300)).kernels["k"]
    names = [instr.callee.name for block in kernel.blocks for instr in block.instrs if instr.callee]
    assert {
        "fma",
        "sin",
        "vload4",
        "vstore4",
        "read_imagef",
        "write_imagef",
        "atomic_add",
        "mad24",
        "barrier",
        "dot",
        "fract",
    } <= {*names}


def test_pointers_keep_their_address_space_in_calls() -> None:
    """The address space decides the function: a generic one is only asked for where nothing else fits."""
    source = """__kernel void k(__global float *g, __local float *l, __constant float *c, __global half *h) {
      float p[4]; vstore4(vload4(0, g) + vload4(0, l) + vload4(0, c), 0, p); g[0] = p[1] + vload_half(0, h); }"""
    kernel = compile_source(source, target=FrontEndTarget(200)).kernels["k"]
    spaces = [instr.callee.args[-1].split()[0] for block in kernel.blocks for instr in block.instrs if instr.callee]
    assert spaces == ["__global", "__local", "__constant", "__private", "__global"]
