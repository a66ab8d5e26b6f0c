"""Readings of what numbers come out."""

from __future__ import annotations

from ..frontend.options import parse_options
from ..frontend.passes.finite_math import tests_finiteness
from ..ir import ir, llvm_types
from ..ir.builtins import builtin_of
from .reading import Choice, Reading
from .subject import Subject

_SPECIFICATION = "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html"
_ARITHMETIC = ("fadd", "fsub", "fmul", "fdiv", "frem", "fptrunc", "fpext")
_LINEAR = 2
"""The filter in the bits of a sampler in a kernel's source."""


def _is_contractible(instr: ir.Instr) -> bool:
    """Returns whether an instruction is a*b+c that may be fused. Halves never are: Adreno has no such operation on them."""
    name = instr.callee.name if instr.callee is not None else ""
    single = llvm_types.elem_of(instr.type)
    return (name == "mad" or name.startswith("llvm.fmuladd.")) and isinstance(single, ir.Float) and single.bits != 16


CONTRACTION = Reading(
    "contraction",
    "whether a*b+c in one expression is rounded once or twice",
    f"{_SPECIFICATION} (FP_CONTRACT, and mad in the table of math functions)",
    lambda subject: f"contract={subject.options.contract}",
    lambda subject: [
        Choice(f"contract={other}", options={"contract": other})
        for other in [{"on": "off", "off": "on"}[subject.options.contract]]
    ],
    lambda subject: "" if any(map(_is_contractible, subject.instrs)) else "no multiply feeds an add",
)


def _why_finite(subject: Subject) -> str:
    if not parse_options(subject.build_options).finite_math:
        return "the build asks for neither -cl-finite-math-only nor -cl-fast-relaxed-math"
    if subject.options.finite_math == "folded":
        return "the device string sets finite_math"
    return "" if any(map(tests_finiteness, subject.instrs)) else "the kernel tests nothing for NaN or infinity"


FINITE_MATH = Reading(
    "finite-math",
    "whether tests for NaN and infinity are computed where the build promises that there is neither",
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html (5.8.6.3)",
    lambda subject: "finite_math=kept",
    lambda subject: [Choice("finite_math=folded", options={"finite_math": "folded"})],
    _why_finite,
)


def _flushes(subject: Subject) -> bool:
    chosen = subject.options.flush_denormals
    return subject.profile.flush_denormals if chosen is None else chosen


def _computes_floats(instr: ir.Instr) -> bool:
    if instr.op in _ARITHMETIC:
        return True
    row = builtin_of(instr)
    moves = row.vector is not None or row.image or row.reinterprets or row.picks_lanes
    return instr.op == "call" and not moves and isinstance(llvm_types.elem_of(instr.type), ir.Float)


def _why_no_denormals(subject: Subject) -> str:
    if subject.options.flush_denormals is not None or subject.is_given("SINGLE_FP_CONFIG"):
        return "the device string says what becomes of denormals"
    return "" if any(map(_computes_floats, subject.instrs)) else "the kernel computes with no floats"


DENORMALS = Reading(
    "denormals",
    "whether results too small for a normal float are kept or become zero",
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html (CL_DEVICE_SINGLE_FP_CONFIG, CL_FP_DENORM)",
    lambda subject: f"flush_denormals={str(_flushes(subject)).lower()}",
    lambda subject: [
        Choice(f"flush_denormals={str(not _flushes(subject)).lower()}", options={"flush_denormals": not _flushes(subject)})
    ],
    _why_no_denormals,
)


def _filters(subject: Subject) -> bool:
    """Returns whether an image may be read through a linear filter."""
    if not any(
        builtin_of(i).image == "read" and i.callee is not None and i.callee.name in ("read_imagef", "read_imageh")
        for i in subject.instrs
    ):
        return False
    literals = [
        i.operands[0] for i in subject.instrs if i.callee is not None and i.callee.name == "__translate_sampler_initializer"
    ]
    bits = [value.value for value in literals if isinstance(value, ir.Const)]
    return any(isinstance(one, int) and one >> 4 & 3 == _LINEAR for one in bits) or any(
        sampler.filter == "linear" for sampler in subject.samplers
    )


def _why_no_filter(subject: Subject) -> str:
    if subject.options.filter_bits:
        return "the device string sets filter_bits"
    return "" if _filters(subject) else "no image is read through a linear filter"


FILTER_BITS = Reading(
    "filter-bits",
    "with how many bits linear filtering weighs texels",
    f"{_SPECIFICATION} (8.2); "
    "https://gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/freedreno/vulkan/tu_device.cc (subTexelPrecisionBits)",
    lambda subject: "filter_bits=0",
    lambda subject: [Choice("filter_bits=8", options={"filter_bits": 8})],
    _why_no_filter,
)
