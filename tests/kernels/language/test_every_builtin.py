"""Every function of the table of built-ins is compiled: for one work-item, and for vectors of work-items where its row lets it
into vector code."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import adreno_sim
from adreno_sim.backends.sim.info import front_end_target
from adreno_sim.base.specs import Sampler
from adreno_sim.engine.abi.specialization import BufferArg, ImageArg, LocalArg, SamplerArg, ScalarArg, Specialization
from adreno_sim.engine.codegen import emit_module
from adreno_sim.frontend.program import compile_source
from adreno_sim.ir import ir, llvm_types
from adreno_sim.ir.builtins import BUILTINS

WIDTHS = r"(?P<width>2|3|4|8|16)?"
SAME_SIZE = {
    "char": "char", "uchar": "char", "short": "short", "ushort": "short", "half": "short",
    "int": "int", "uint": "int", "float": "int", "long": "long", "ulong": "long", "double": "long",
}  # fmt: skip

FLOATS = {
    1: """floor ceil trunc rint sqrt round half_sqrt native_sqrt fabs isfinite isinf isnan isnormal signbit acos acospi asin
    asinpi atan atanpi degrees radians sign erf erfc exp exp10 exp2 expm1 half_exp half_exp10 half_exp2 native_exp native_exp10
    native_exp2 ilogb logb lgamma tgamma acosh asinh atanh cosh sinh tanh half_log half_log10 half_log2 log log10 log1p log2
    native_log native_log10 native_log2 cbrt half_recip half_rsqrt native_recip native_rsqrt rsqrt cos cospi half_cos half_sin
    half_tan native_cos native_sin native_tan sin sinpi tan tanpi length fast_length normalize fast_normalize""",
    2: """copysign fmin fmax min max isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered
    isunordered atan2 atan2pi fdim maxmag minmag step nextafter half_powr native_powr pow powr fmod remainder half_divide hypot
    native_divide dot distance fast_distance""",
    3: "fma mad clamp mix smoothstep",
}
INTEGERS = {
    1: "abs bit_reverse clz ctz popcount",
    2: "abs_diff add_sat sub_sat rotate mul_hi hadd rhadd mul24",
    3: "mad_hi mad_sat mad24 bitselect",
}
POINTERS = {"fract": "f", "modf": "f", "sincos": "f", "frexp": "n", "lgamma_r": "n"}
ATOMIC = "(volatile __global atomic_int*)g"
SPECIAL = {
    "nan": "f = nan(u);", "ldexp": "f = ldexp(f, n);", "pown": "f = pown(f, n);", "rootn": "f = rootn(f, n);",
    "select": "f = select(f, h, n);", "upsample": "n = upsample(convert_short4(n), convert_ushort4(u));",
    "remquo": "f = remquo(f, h, &m);", "any": "x = any(n);", "all": "x = all(n);", "cross": "f = cross(f, h);",
    "shuffle": "f = shuffle(f, u);", "shuffle2": "f = shuffle2(f, h, u);",
    "dot_acc_sat": "x = dot_acc_sat(convert_char4(n), convert_char4(n), x);",
    "qcom_dot8_acc": "x = qcom_dot8_acc(u.x, u.y, x);", "qcom_udot8_acc": "u.x = qcom_udot8_acc(u.x, u.y, u.z);",
    "prefetch": "prefetch(g, 4);", "printf": 'printf("%d", x);', "get_work_dim": "x = get_work_dim();",
    "__translate_sampler_initializer": "const sampler_t t = CLK_FILTER_NEAREST; f = read_imagef(img, t, (int2)(x, 0));",
    "barrier": "barrier(CLK_LOCAL_MEM_FENCE);", "work_group_barrier": "work_group_barrier(CLK_LOCAL_MEM_FENCE);",
    "sub_group_barrier": "sub_group_barrier(CLK_LOCAL_MEM_FENCE);",
    "mem_fence": "mem_fence(CLK_GLOBAL_MEM_FENCE);", "read_mem_fence": "read_mem_fence(CLK_GLOBAL_MEM_FENCE);",
    "write_mem_fence": "write_mem_fence(CLK_GLOBAL_MEM_FENCE);",
    "atomic_work_item_fence": "atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);",
    "async_work_group_copy": "event_t e = async_work_group_copy(l, g, 4, 0); wait_group_events(1, &e);",
    "wait_group_events": "event_t e = async_work_group_copy(l, g, 4, 0); wait_group_events(1, &e);",
    "async_work_group_strided_copy": "event_t e = async_work_group_strided_copy(l, g, 4, 2, 0); wait_group_events(1, &e);",
    "bitfield_insert": "n = bitfield_insert(n, m, 3u, 4u);", "bitfield_extract_signed": "n = bitfield_extract_signed(n, 3u, 4u);",
    "bitfield_extract_unsigned": "u = bitfield_extract_unsigned(n, 3u, 4u);",
    **{f"get_sub_group_{which}_mask": f"u = get_sub_group_{which}_mask();" for which in ("eq", "ge", "gt", "le", "lt")},
    "sub_group_inverse_ballot": "x = sub_group_inverse_ballot(u);",
    "sub_group_ballot_bit_extract": "x = sub_group_ballot_bit_extract(u, 3u);",
    **{
        f"sub_group_ballot_{what}": f"x = sub_group_ballot_{what}(u);"
        for what in ("bit_count", "inclusive_scan", "exclusive_scan", "find_lsb", "find_msb")
    },
    "sub_group_elect": "x = sub_group_elect();", "sub_group_ballot": "u = sub_group_ballot(x);",
    "atomic_init": f"atomic_init({ATOMIC}, 1);", "read_imageh": "k = read_imageh(img, s, (int2)(x, 0));",
    "read_imagef": "f = read_imagef(img, s, (int2)(x, 0));", "read_imagei": "n = read_imagei(imi, s, (int2)(x, 0));",
    "read_imageui": "u = read_imageui(imu, s, (int2)(x, 0));", "write_imageh": "write_imageh(out, (int2)(x, 0), k);",
    "write_imagef": "write_imagef(out, (int2)(x, 0), f);", "write_imagei": "write_imagei(outi, (int2)(x, 0), n);",
    "write_imageui": "write_imageui(outu, (int2)(x, 0), u);",
    "get_image_depth": "x = get_image_depth(deep);", "get_image_array_size": "x = get_image_array_size(many);",
}  # fmt: skip


def statement(name: str) -> str:
    """A statement that calls a function once at least; "" for one that this file knows no call of."""
    if name in SPECIAL:
        return SPECIAL[name]
    for operands, table in (("f, h, f", FLOATS), ("n, n, n", INTEGERS)):
        for count, names in table.items():
            if name in names.split():
                return f"use({name}({', '.join(operands.split(', ')[:count])}));"
    if name in POINTERS:
        return f"f = {name}(f, &{'h' if POINTERS[name] == 'f' else 'm'});"
    return patterned(name)


def patterned(name: str) -> str:
    if found := re.fullmatch(r"convert_(?P<type>[a-z]+)" + WIDTHS + r"(?P<sat>_sat)?(?P<round>_rt[ezpn])?", name):
        source = "x" if found["width"] is None else f"((int{found['width']})(x))"
        return "" if found["sat"] and found["type"] in ("half", "float", "double") else f"use({name}({source}));"
    if found := re.fullmatch(r"as_(?P<type>[a-z]+)" + WIDTHS, name):
        source = SAME_SIZE[found["type"]] + (found["width"] or "")
        return f"use({name}(({source})(x)));"
    if found := re.fullmatch(r"vload(a?_half)?" + WIDTHS, name):
        return f"use({name}(0, {'gh' if found[1] else 'g'}));"
    if found := re.fullmatch(r"vstore(?P<half>a?_half)?" + WIDTHS + r"(_rt[ezpn])?", name):
        type = ("float" if found["half"] else "int") + (found["width"] or "")
        return f"{name}(({type})(x), 0, {'gh' if found['half'] else 'g'});"
    if re.fullmatch(r"dot_(acc_sat_)?4x8packed_\w+", name):
        return f"x = {name}(u.x, u.y{', x' if 'acc' in name else ''});"
    if name.startswith("get_image"):
        return f"use({name}(img));"
    if name.startswith("get_"):
        takes = not re.search(r"linear_id|sub_group|work_dim", name)
        return f"x = {name}({'0' if takes else ''});"
    return met(name) or atomic(name)


def met(name: str) -> str:
    if found := re.fullmatch(r"(work|sub)_group_(?P<what>\w+)", name):
        more = {
            "broadcast": ", 0",
            "non_uniform_broadcast": ", 0u",
            "shuffle": ", 0",
            "shuffle_xor": ", 1",
            "shuffle_up": ", 1",
            "shuffle_down": ", 1",
        }
        return f"x = {name}(x{more.get(found['what'], '')});"
    if name.startswith("qcom_sub_group_shuffle"):
        return f"x = {name}(x, 1u, 0u, x);"
    return ""


def atomic(name: str) -> str:
    if re.fullmatch(r"atom(ic)?_(add|sub|xchg|min|max|and|or|xor)", name):
        return f"x = {name}(g, 1);"
    if re.fullmatch(r"atom(ic)?_(inc|dec)", name):
        return f"x = {name}(g);"
    if re.fullmatch(r"atom(ic)?_cmpxchg", name):
        return f"x = {name}(g, 1, 2);"
    order = ", memory_order_relaxed" if name.endswith("_explicit") else ""
    short = name.removesuffix("_explicit")
    if short.startswith("atomic_flag"):
        return f"{name}((volatile __global atomic_flag*)g{order});"
    if short == "atomic_load":
        return f"x = {name}({ATOMIC}{order});"
    if short.startswith("atomic_compare"):
        return f"{name}({ATOMIC}, &x, 2{order * 2});"
    return f"{name}({ATOMIC}, 1{order});" if short.startswith("atomic_") else ""


HEAD = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION all : enable
#define use(value) (void)(value)
__kernel void k(__global int* g, __global half* gh, __local int* l, sampler_t s, read_only image2d_t img, read_only image2d_t imi,
  read_only image2d_t imu, write_only image2d_t out, write_only image2d_t outi, write_only image2d_t outu,
  read_only image3d_t deep, read_only image2d_array_t many) {
  int x = (int)get_global_id(0);
  float4 f = (float4)(x), h = (float4)(x + 1);
  int4 n = (int4)(x), m = (int4)(x + 2);
  uint4 u = (uint4)(x);
  half4 k = (half4)(x);
"""
TAIL = "\n  use(f); use(h); use(n); use(m); use(u); use(k); use(x);\n}\n"
NO_CALL = re.compile(r"as_\w+|__translate_sampler_initializer")
"""What clang makes something else of: bits taken for another type, a sampler that is a constant."""
NONE_SUCH = re.compile(
    r"convert_(half|float|double)\d*_sat.*|vloada_half|vstorea_half(_rt[ezpn])?|get_image_num_(samples|mip_levels)"
)
"""Names that the table makes along with others, and OpenCL C as it is supported lacks: conversions to floats do not saturate, one
element is not aligned otherwise, there are no images of several samples or levels."""
EXTENSIONS = {"cl_khr_subgroup_shuffle_relative", "cl_khr_subgroup_non_uniform_vote"}
"""Those of the named functions that no device profile has together."""


def arguments(kernel: ir.Function) -> tuple:
    found = []
    for param in kernel.params:
        if isinstance(param.type, ir.Image):
            channel = (
                "SIGNED_INT32"
                if param.name in ("imi", "outi")
                else "UNSIGNED_INT32"
                if param.name in ("imu", "outu")
                else "FLOAT"
            )
            found.append(ImageArg(param.type.kind, "RGBA", "HALF_FLOAT" if param.name == "" else channel))
        elif isinstance(param.type, ir.Sampler):
            found.append(SamplerArg(Sampler()))
        elif isinstance(param.type, ir.Pointer):
            found.append(LocalArg(64) if param.type.space == ir.LOCAL else BufferArg())
        else:
            found.append(ScalarArg(llvm_types.size_of(param.type)))
    return tuple(found)


def batches() -> list[list[str]]:
    names = sorted(name for name in BUILTINS if not NONE_SUCH.fullmatch(name))
    return [names[at : at + 40] for at in range(0, len(names), 40)]


@pytest.mark.share()
@pytest.mark.parametrize("names", batches(), ids=lambda names: f"{names[0]}-{names[-1]}")
def test_every_function_is_compiled(names):
    """Those of a batch together in scalar code; in vector code, together too, if their rows let them in."""
    assert [name for name in names if not statement(name)] == []
    called = {name for name in names if not NO_CALL.fullmatch(name)}
    inside = {name for name in names if BUILTINS[name].in_vectors and name != "wait_group_events"}  # which needs a copy
    assert called - compile_calls(names, "scalar") == set()
    assert called & inside - compile_calls(sorted(inside), "spmd") == set()


def compile_calls(names: list[str], emitter: str) -> set[str]:
    """Compiles calls of `names`. Returns the functions that the kernel calls."""
    device = adreno_sim.open_device("sim:reference")
    known = front_end_target(device.profile, device.options)  # type: ignore[attr-defined]
    target = replace(known, extensions=known.extensions | EXTENSIONS)
    lines = "\n".join(f"  {{ {statement(name)} }}" for name in names)
    kernel = compile_source(HEAD + lines + TAIL, "-cl-std=CL3.0", target=target).kernels["k"]
    spec = Specialization(local_size=(16, 1, 1), args=arguments(kernel), emitter=emitter)  # type: ignore[arg-type]
    module = emit_module(kernel, replace(spec, deferred_checks=emitter == "spmd"))
    assert (module.lanes > 1) == (emitter == "spmd"), module.reason
    return {i.callee.name for block in kernel.blocks for i in block.instrs if i.callee is not None}
