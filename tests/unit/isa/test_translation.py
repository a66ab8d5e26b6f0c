"""Kernel IR to NIR, without any library: what a program holds, and what is refused by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.isa.program import NirProgram
from adreno_sim.isa.translate.kernel import translate_kernel

FULL = "sim:reference"
HERE = Path(__file__).parent
FEATURES = {path.stem: path.read_text() for path in sorted((HERE / "features").rglob("*.cl"))}
"""A small kernel for each feature of OpenCL C that machine code is made of."""
REFUSED = {path.stem: path.read_text() for path in sorted((HERE / "refused").glob("*.cl"))}
"""What machine code is not made of. The first line is what the refusal says."""


def function_of(source: str, options: str = ""):
    return adreno_sim.open_device(FULL).build(source, f"-cl-std=CL3.0 {options}").module.kernels["k"]


OPERANDS = {
    "alu": lambda rest: rest[1], "intrinsic": lambda rest: rest[1], "part": lambda rest: rest[:1], "put": lambda rest: rest[2:],
    "go_if": lambda rest: rest[:1], "texture": lambda rest: [pair[1] for pair in rest[1]],
}  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_a_value_is_used_only_after_its_definition_and_each_block_ends_once(name):
    program = json.loads(translate_kernel(function_of(FEATURES[name])).program)
    open_block, filled = None, set()
    for number, (kind, *rest) in enumerate(program["instructions"]):
        assert all(0 <= value < number for value in OPERANDS.get(kind, lambda rest: [])(rest))
        assert (open_block is None) == (kind == "start")
        if kind == "start":
            open_block = rest[0]
            assert open_block not in filled
            filled.add(open_block)
        elif kind in ("go", "go_if"):
            open_block = None
    assert open_block is None
    assert filled == set(range(program["blocks"]))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_translated_is_refused_by_name(name):
    reason = re.escape(REFUSED[name].partition("\n")[0].removeprefix("// "))
    with pytest.raises(UnsupportedError, match=f"unsupported by isa: .*{reason}"):
        translate_kernel(function_of(REFUSED[name]))


def test_doubles_are_refused():
    with pytest.raises(UnsupportedError, match="double: these GPUs do not have it"):
        translate_kernel(function_of("kernel void k(global double *a) { a[0] *= 2; }"))


def test_an_index_of_int_gives_its_constant_to_the_access_and_an_unsigned_one_does_not():
    assert near_offsets("int") == [5, 0]
    assert near_offsets("uint") == [0, 0]


def near_offsets(type: str) -> list[int]:
    """The words that the read and the write add to their addresses themselves."""
    found = translate_kernel(function_of(f"kernel void k(global float *a, {type} i) {{ a[0] = a[i + 5]; }}"))
    instructions = json.loads(found.program)["instructions"]
    accesses = [part[2] for part in instructions if part[0] == "intrinsic" and part[1].endswith("global_ir3")]
    return [instructions[operands[-1]][1] for operands in accesses]


def test_constant_data_are_in_the_program_where_one_pointer_leads_to_them():
    source = """constant int T[4] = {1, 2, 3, 4};
      kernel void k(global int *a, int i) { a[0] = T[i & 3] + (i > 2 ? T : T + 1)[i & 1] + a[i]; }"""
    program = json.loads(translate_kernel(function_of(source)).program)
    assert program["constant_data"] == "01000000020000000300000004000000"
    loads = [part[1] for part in program["instructions"] if part[0] == "intrinsic" and part[1].startswith("load_")]
    assert [loads.count(name) for name in ("load_constant", "load_global_ir3")] == [1, 2]


def test_a_private_array_is_an_array_where_its_elements_are_accessed_whole():
    whole, mixed = (
        json.loads(translate_kernel(function_of(FEATURES[name])).program) for name in ("private-array", "private-struct")
    )
    assert whole["scratch_bytes"] == 0
    assert [32, 16] in whole["variables"]
    assert mixed["scratch_bytes"] == 36


def test_a_function_that_the_hardware_stands_for_is_named():
    found = translate_kernel(function_of("kernel void k(global float *a) { a[0] = log(a[1]) + native_sin(a[2]); }"))
    assert found.stand_ins == ("log",)
    assert found.omitted == ()


def test_build_options_decide_how_exact_floats_are():
    source = "kernel void k(global float *a) { a[0] = exp(a[1]) / a[2]; }"
    exact = translate_kernel(function_of(source))
    assert exact.stand_ins == ()
    assert json.loads(exact.program)["exact"]
    for options in ("-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"):
        relaxed = translate_kernel(function_of(source, options))
        assert relaxed.stand_ins == ("exp",)
        assert not json.loads(relaxed.program)["exact"]
        assert [part[1] for part in json.loads(relaxed.program)["instructions"] if part[0] == "alu" and part[1][0] == "f"] == [
            "fmul", "fexp2", "frcp", "fmul",
        ]  # fmt: skip


def test_a_global_id_is_computed_in_the_64_bits_of_its_type():
    instructions = json.loads(translate_kernel(function_of("kernel void k(global int *a) { a[get_global_id(0)] = 1; }")).program)[
        "instructions"
    ]
    (product,) = (part for part in instructions if part[:2] == ["alu", "imul"])
    assert [instructions[operand][1] for operand in product[2]] == ["u2u64", "u2u64"]


def test_bits_of_results():
    program = NirProgram()
    wide, narrow = program.constant(-1, 64), program.real(0.5, 16)
    assert program.bits(program.op("ieq", wide, wide)) == 1
    assert program.bits(program.op("f2f32", narrow)) == 32
    assert program.bits(program.op("fadd", narrow, narrow)) == 16
    assert program.bits(program.op("bcsel", program.constant(1, 1), wide, wide)) == 64
    assert program.instructions[wide] == ["const", 2**64 - 1, 64]
