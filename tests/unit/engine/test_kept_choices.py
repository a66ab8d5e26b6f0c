"""A choice between two floats that are compared stays a choice of bits, unless what was chosen is flushed."""

from __future__ import annotations

import pytest

from adreno_sim.base.host.aarch64 import AARCH64
from adreno_sim.base.host.x86_64 import X86_64
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.llvm.cached_choices import keep_choices

BODY = "  %5 = fcmp {how} {type} %0, {other}\n  %6 = select {flags} %5, {type} {chosen}\n{rest}  ret {type} %6\n"


def module(how: str = "olt", type: str = "float", other: str = "%1", chosen: str = "%0, float %1", rest: str = "") -> str:
    flags = type.replace("float", "i1").replace("double", "i1")
    body = BODY.format(how=how, type=type, flags=flags, other=other, chosen=chosen, rest=rest)
    return f"define {type} @f({type} %0, {type} %1) {{\n{body}}}\n"


@pytest.mark.parametrize("how", ["olt", "ogt", "ule", "uge"])
@pytest.mark.parametrize("chosen", ["%0, float %1", "%1, float %0", "%0, float %1, !prof !3"])
def test_a_choice_of_what_was_compared_gets_a_fence(how, chosen):
    kept = keep_choices(module(how, chosen=chosen))
    assert "  %kept.6 = call float @llvm.arithmetic.fence.f32(float %" in kept
    assert "%kept.6" in kept.split("select")[1]
    assert kept.count("declare") == 1


def test_a_fence_that_is_there_already_is_not_declared_again():
    """Functions of two floats have one of four (`builtins.floats`)."""
    declared = "declare <4 x float> @llvm.arithmetic.fence.v4f32(<4 x float>) #3\n"
    kept = keep_choices(declared + module(type="<4 x float>", chosen="%0, <4 x float> %1"))
    assert "call <4 x float> @llvm.arithmetic.fence.v4f32(" in kept
    assert kept.count("declare") == 1
    assert keep_choices(declared + module()).count("declare") == 2


def test_vectors_doubles_and_constants():
    vectors = keep_choices(module(type="<8 x double>", chosen="%0, <8 x double> %1"))
    assert "call <8 x double> @llvm.arithmetic.fence.v8f64(<8 x double> %0)" in vectors
    constant = keep_choices(module("ogt", other="0.000000e+00", chosen="0.000000e+00, float %0"))
    assert "select i1 %5, float 0.000000e+00, float %kept.6" in constant


FLUSHED = "  %7 = call float @llvm.canonicalize.f32(float %6)\n"


@pytest.mark.parametrize(
    "text",
    [
        module("ole"),  # no instruction is that
        module("oeq"),
        module(chosen="%0, float %2"),
        module(chosen="%2, float 1.000000e+00"),
        module(rest=FLUSHED).replace("ret float %6", "ret float %7"),
    ],
)
def test_any_other_is_left_alone(text):
    assert keep_choices(text) is text


def test_a_choice_that_is_used_unflushed_too_gets_a_fence():
    assert "fence" in keep_choices(module(rest=FLUSHED))


def test_only_some_families_need_it():
    assert X86_64.choices_flush
    assert not AARCH64.choices_flush


@pytest.mark.parametrize("type", ["float", "<8 x float>", "<16 x float>", "<4 x double>", "<3 x float>"])
@pytest.mark.parametrize("cpu", [("x86-64", "+sse2"), ("x86-64-v3", "+avx2"), ("skylake-avx512", "+avx512vl,+avx512f")])
def test_llvm_makes_no_minimum_of_a_kept_choice(type, cpu):
    machine = objects.Machine(*cpu, X86_64)
    text = f"declare {type} @llvm.sqrt(){module(type=type, chosen=f'%0, {type} %1')}".partition("()")[2]
    asked = [objects.llvm.parse_assembly(source) for source in (text, keep_choices(text))]
    plain, kept = (machine._machine.emit_assembly(one) for one in asked)
    assert "min" in plain
    assert "min" not in kept
