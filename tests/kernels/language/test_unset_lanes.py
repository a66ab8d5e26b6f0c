"""A vector with a lane that nothing sets: every elementwise function and operator may be applied to it as long as that lane of
the result is not used, and is reported, with variable and lane, as soon as it is.

Each call stands on a line of its own. Lane w of `f` and `n` is unset; every operand is the unset one in turn.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.ir.builtins import BUILTINS

ITEMS = 4

FLOATS = {
    1: """acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi degrees erf erfc exp exp10 exp2 expm1
    fabs floor lgamma log log10 log1p log2 logb radians rint round rsqrt sign sin sinh sinpi sqrt tan tanh tanpi tgamma trunc
    isfinite isinf isnan isnormal signbit ilogb native_cos native_exp native_exp2 native_exp10 native_log native_log2 native_log10
    native_recip native_rsqrt native_sin native_sqrt native_tan half_cos half_exp half_exp2 half_exp10 half_log half_log2
    half_log10 half_recip half_rsqrt half_sin half_sqrt half_tan""",
    2: """atan2 atan2pi copysign fdim fmax fmin fmod hypot max maxmag min minmag nextafter pow powr remainder step native_divide
    native_powr half_divide half_powr isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered
    isunordered""",
    3: "fma mad mix smoothstep clamp bitselect",
}
INTEGERS = {
    1: "abs bit_reverse clz ctz popcount",
    2: "abs_diff add_sat sub_sat hadd rhadd max min mul_hi mul24 rotate",
    3: "clamp mad_hi mad_sat mad24 bitselect",
}
OPERATORS = {
    "float": ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "-{a}"],
    "int": [
        "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}", "{a} & {b}", "{a} | {b}", "{a} ^ {b}",
        "{a} << {b}", "{a} >> {b}", "-{a}", "~{a}",
    ],
}  # fmt: skip
COMPARISONS = ["{a} < {b}", "{a} <= {b}", "{a} == {b}", "{a} != {b}", "!{a}", "{a} && {b}"]
MIXED = [
    "ldexp(f, m)", "ldexp(g, n)", "ldexp(f, 2)", "pown(f, m)", "pown(g, n)", "rootn(f, m)", "rootn(g, n)", "fmax(f, 0.5f)",
    "fmin(f, 0.5f)", "clamp(f, 0.0f, 1.0f)", "mix(f, g, 0.5f)", "mix(g, f, 0.5f)", "step(0.5f, f)", "smoothstep(0.0f, 1.0f, f)",
    "select(f, g, m)", "select(g, g + 1.0f, n)", "m > 0 ? f : g", "n < 0 ? g : h",
    "as_float4(n)", "convert_float4(n)", "convert_float4_rtz(n)",
]  # fmt: skip
MIXED_INTEGERS = [
    "as_int4(f)", "convert_int4(f)", "convert_int4_sat(f)", "convert_int4_rte(f)", "convert_int4(convert_char4_sat(n))",
    "convert_int4(convert_long4(n))", "convert_int4(convert_uchar4_sat(f))",
    "convert_int4(upsample(convert_short4(n), (ushort4)(1)))", "convert_int4(upsample((short4)(1), convert_ushort4(n)))",
    "select(m, n, m > 0)", "select(m, m + 1, n)", "bitfield_insert(n, m, 3u, 4u)", "bitfield_insert(m, n, 3u, 4u)",
    "bitfield_extract_signed(n, 3u, 4u)", "convert_int4(bitfield_extract_unsigned(n, 3u, 4u))",
]  # fmt: skip
OPEN = ["f || (g - g)", "(g - g) || f", "n || (m < 0)", "f && g", "m && n"]
NOT_TAKEN = [
    "f || g",
    "g || f",
    "f && (g - g)",
    "(m < 0) && n",
    "n & 0",
    "m < 0 ? f : g",
    "m > 0 ? g : f",
    "select(g, f, m)",
    "select(g, convert_float4(n), m)",
    "select(f, g, m < 8)",
]
"""What is unset does not decide the result, or is not chosen."""


def calls(table: dict[int, str], unset: str, rest: list[str]) -> list[str]:
    """Each function with `unset` at each position."""
    found = []
    for count, names in table.items():
        for name in names.split():
            for at in range(count):
                operands = rest[: count - 1]
                operands.insert(at, unset)
                found.append(f"{name}({', '.join(operands)})")
    return found


def operators(patterns: list[str], unset: str, other: str) -> list[str]:
    found = [pattern.format(a=unset, b=other) for pattern in patterns]
    return found + [pattern.format(a=other, b=unset) for pattern in patterns if "{b}" in pattern]


EXPRESSIONS = {
    "float4": [*calls(FLOATS, "f", ["g", "h"]), *operators(OPERATORS["float"], "f", "g"), *MIXED],
    "int4": [*calls(INTEGERS, "n", ["m", "m"]), *operators(OPERATORS["int"], "n", "m"), *MIXED_INTEGERS],
    "relations": [*operators(COMPARISONS, "f", "g"), *operators(COMPARISONS, "n", "m"), *OPEN],
}
HEAD = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global const float* a, __global const int* b, __global float* out) {
  int i = get_global_id(0);
  float4 f; f.x = a[i]; f.y = 0.25f; f.z = 0.5f;
  float4 g = (float4)(0.75f), h = (float4)(2.0f);
  int4 n; n.x = b[i]; n.y = 3; n.z = 4;
  int4 m = (int4)(5);
"""


def launch(expressions: list[str], lanes: str, checks: str = "full"):
    """Each on a line from FIRST on; `lanes` of it are used: a sum of them is stored."""
    lines = [f"  out[{n}] = {' + '.join(f'(float)({e}).{lane}' for lane in lanes)};" for n, e in enumerate(expressions)]
    device = adreno_sim.open_device("sim:adreno-750", checks=checks)
    kernel = device.build(HEAD + "\n".join(lines) + "\n}\n", "-cl-std=CL3.0")["k"]
    views = []
    for array in (np.full(ITEMS, 0.5, np.float32), np.full(ITEMS, 2, np.int32), np.zeros(len(expressions), np.float32)):
        view = device.view(device.allocate(array.nbytes), BufferSpec(array.nbytes, array.dtype.name))
        device.write(view, array)
        views.append(view)
    return device.launch(kernel, (1,), (1,), views).findings


FIRST = HEAD.count("\n") + 1


@pytest.mark.each_value
@pytest.mark.parametrize("kind", EXPRESSIONS)
@pytest.mark.parametrize("checks", ["bounds", "full"])
def test_an_unset_lane_that_is_not_used_is_no_finding(kind, checks):
    found = [f for f in launch(EXPRESSIONS[kind], "xyz", checks) if f.severity > 0]
    assert [(EXPRESSIONS[kind][f.line - FIRST], f.message) for f in found] == []


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_an_unset_lane_that_is_used_is_found(kind):
    expressions = EXPRESSIONS[kind]
    found = {f.line - FIRST: f.message for f in launch(expressions, "w") if f.kind.label == "uninitialized-read"}
    silent = [e for number, e in enumerate(expressions) if number not in found]
    assert silent == []
    for number, message in found.items():
        variable = next(v for v in re.findall(r"\b[fn]\b", expressions[number]))
        assert message == f"uses {variable}.w, to which nothing was assigned: it is stored in out", expressions[number]


def test_the_side_that_is_not_chosen_may_be_unset():
    assert [f.message for f in launch(NOT_TAKEN, "xyzw") if f.severity > 0] == []


def test_every_elementwise_function_is_here():
    tried = {name for table in EXPRESSIONS.values() for e in table for name in re.findall(r"(\w+)\(", e)}
    rows = {name for name, row in BUILTINS.items() if row.elementwise and not name.startswith(("as_", "convert_"))}
    assert rows - tried == {"nan"}  # of a bit pattern


def test_a_scalar_that_nothing_sets_is_a_use_anywhere():
    device = adreno_sim.open_device("sim:adreno-750", checks="full")
    source = "__kernel void k(__global float4* o) { float s; float4 v = (float4)(1.0f); o[0] = fmax(v, s); }"
    view = device.view(device.allocate(16), BufferSpec(16, "float32"))
    found = device.launch(device.build(source)["k"], (1,), (1,), [view]).findings
    assert [f.message for f in found] == ["uses s, to which nothing was assigned: it is stored in o"]


def test_lanes_keep_their_names_through_shuffles():
    device = adreno_sim.open_device("sim:adreno-750", checks="full")
    source = """__kernel void k(__global float* o) {
      float8 v; v.s0123 = (float4)(1.0f); v.s4 = 1.0f; v.s7 = 2.0f;
      float8 turned = fabs(v.s76543210);
      o[0] = turned.s1; o[1] = turned.s2;
    }"""
    view = device.view(device.allocate(8), BufferSpec(8, "float32"))
    found = device.launch(device.build(source)["k"], (1,), (1,), [view]).findings
    assert [f.message for f in found] == [
        "uses v.s6, to which nothing was assigned: it is stored in o",
        "uses v.s5, to which nothing was assigned: it is stored in o",
    ]
