"""Mangled names: a table of built-ins, and random signatures as clang itself mangles them."""

from __future__ import annotations

import random
import re

import pytest

from adreno_sim.frontend.driver import FrontEndTarget, run_clang
from adreno_sim.frontend.mangling import demangle
from adreno_sim.frontend.options import parse_options

TABLE = {
    "_Z11read_imagef20ocl_image2d_array_ro11ocl_samplerDv4_i": ("read_imagef", "image2d_array_ro", "sampler", "int4"),
    "_Z12write_imageh14ocl_image2d_woDv2_iDv4_Dh": ("write_imageh", "image2d_wo", "int2", "half4"),
    "_Z13get_global_idj": ("get_global_id", "uint"),
    "_Z16get_sub_group_idv": ("get_sub_group_id",),
    "_Z6vload2mPU3AS1Kf": ("vload2", "ulong", "__global const float*"),
    "_Z6vload4mPKh": ("vload4", "ulong", "__private const uchar*"),
    "_Z5fractDv4_fPS_": ("fract", "float4", "__private float4*"),
    "_Z5fractDv4_fPU3AS1S_": ("fract", "float4", "__global float4*"),
    "_Z10atomic_addPU3AS3Vjj": ("atomic_add", "__local volatile uint*", "uint"),
    "_Z11atomic_loadPU3AS4VU7_Atomici": ("atomic_load", "__generic volatile atomic_int*"),
    "_Z20atomic_load_explicitPU3AS1VU7_Atomicj12memory_order12memory_scope": (
        "atomic_load_explicit", "__global volatile atomic_uint*", "memory_order", "memory_scope",
    ),
    "_Z21async_work_group_copyPU3AS3Dv4_fPU3AS1KS_m9ocl_event": (
        "async_work_group_copy", "__local float4*", "__global const float4*", "ulong", "event",
    ),
    "_Z17wait_group_eventsiP9ocl_event": ("wait_group_events", "int", "__private event*"),
    "_Z6selectDv3_sS_Dv3_t": ("select", "short3", "short3", "ushort3"),
    "_Z16convert_char_satj": ("convert_char_sat", "uint"),
}  # fmt: skip


@pytest.mark.parametrize("mangled", TABLE)
def test_built_in(mangled: str) -> None:
    name, *args = TABLE[mangled]
    callee = demangle(mangled)
    assert (callee.name, callee.mangled, callee.args) == (name, mangled, tuple(args))


@pytest.mark.parametrize(
    "name", ["printf", "llvm.fmuladd.f32", "__translate_sampler_initializer", "_Z", "_Z3fo", "_Z3fooQ", "_Z3fooS_", "_Z1fPU3FOOi"]
)
def test_what_is_not_mangled_comes_back(name: str) -> None:
    callee = demangle(name)
    assert (callee.name, callee.mangled, callee.args) == (name, name, ())


def _random_type(choose: random.Random) -> str:
    scalar = choose.choice(["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "half", "double"])
    value = scalar + choose.choice(["", "2", "3", "4", "8", "16"])
    if choose.random() < 0.5:
        return value
    space = choose.choice(["__global", "__local", "__private", "__constant"])
    words = [word for word in ("const", "volatile") if choose.random() < 0.4]
    return f"{' '.join([space, *words, value])}*"


def test_random_signatures_as_clang_mangles_them() -> None:
    """Many parameters of few types make clang use substitutions; what comes back is what was declared."""
    choose = random.Random(7)
    signatures = [[_random_type(choose) for _ in range(choose.randint(1, 8))] for _ in range(150)]
    pragma = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    declared = [f"void __attribute__((overloadable)) f{i}({', '.join(args)});" for i, args in enumerate(signatures)]
    called = [f"f{i}({', '.join(f'*({arg}*)0' for arg in args)});" for i, args in enumerate(signatures)]
    called = [re.sub(r"\*\((\w+)\*\)0", r"(\1)0", text) for text in called]
    called = [re.sub(r"\*\(([^()]+\*)\*\)0", r"(\1)0", text) for text in called]
    source = pragma + "\n".join(declared) + "\n__kernel void k() {\n" + "\n".join(called) + "\n}"
    text = run_clang(source, parse_options(""), FrontEndTarget(fp64=True), as_text=True).text
    names = re.findall(r"^declare .*@(_Z\d+f\d+\w*)\(", text, re.MULTILINE)
    assert len(names) == len(signatures)
    for callee in map(demangle, names):
        assert list(callee.args) == signatures[int(callee.name[1:])]
