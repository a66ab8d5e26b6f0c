"""Build options: what reaches clang, and what is refused."""

from __future__ import annotations

import pytest

from adreno_sim.base.errors import BuildError, DeviceError
from adreno_sim.frontend.options import parse_options
from adreno_sim.frontend.program import FrontEndTarget, compile_source


def test_macros_and_folders_keep_their_order() -> None:
    parsed = parse_options('-DA=1 -D B -U A -I /some/where -I"with space" -DC="x y"')
    assert parsed.arguments == ("-DA=1", "-DB", "-UA", "-I/some/where", "-Iwith space", "-DC=x y")


@pytest.mark.parametrize("text, number", [("-cl-std=CL1.2", 120), ("-cl-std=CL2.0", 200), ("-cl-std=CL3.0", 300), ("", None)])
def test_language_version(text: str, number: int | None) -> None:
    assert parse_options(text).standard == number


def test_licences_to_be_inexact_leave_only_their_macro() -> None:
    text = "-cl-fast-relaxed-math -cl-mad-enable -cl-denorms-are-zero -cl-finite-math-only -qcom-accelerate-16-bit=true"
    assert parse_options(text).arguments == ("-D__FAST_RELAXED_MATH__=1",)


@pytest.mark.parametrize(
    "text", ["-fplugin=x.so", "kernel.cl", "-cl-std=CL9.9", "-D", "-D 3x", "-I", '-D"', "-Xclang -load", "-o out", "\0"]
)
def test_refused(text: str) -> None:
    with pytest.raises(DeviceError) as caught:
        parse_options(text)
    assert caught.value.code == "CL_INVALID_BUILD_OPTIONS"


def test_macros_change_the_program() -> None:
    source = "__kernel void k(__global int *a) {\n#if N == 3 && defined(__FAST_RELAXED_MATH__)\na[0] = 1;\n#endif\n}"
    target = FrontEndTarget()

    def stores(options: str) -> int:
        kernel = compile_source(source, options, target=target).kernels["k"]
        return sum(instr.op == "store" for instr in kernel.blocks[0].instrs)

    assert (stores(""), stores("-DN=3"), stores("-DN=3 -cl-fast-relaxed-math")) == (0, 0, 1)


def test_werror_makes_a_warning_an_error() -> None:
    source = "int f(int x) { if (x) return 1; }\n__kernel void k(__global int *a) { a[0] = f(a[1]); }"
    assert [warning.severity for warning in compile_source(source, target=FrontEndTarget()).warnings] == ["warning"]
    with pytest.raises(BuildError):
        compile_source(source, "-Werror", target=FrontEndTarget())


def test_device_version_is_not_the_language_version() -> None:
    source = """__kernel void k(__global int *a) {
      a[0] = __OPENCL_VERSION__; a[1] = __OPENCL_C_VERSION__; a[2] = CL_VERSION_3_0;
    }"""
    kernel = compile_source(source, "-cl-std=CL1.2", target=FrontEndTarget(300)).kernels["k"]
    stored = [instr.operands[0].value for instr in kernel.blocks[0].instrs if instr.op == "store"]
    assert stored == [300, 120, 300]
