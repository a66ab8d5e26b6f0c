"""Results that are rounded up to the least normal, on a processor that flushes before it rounds, against exact arithmetic."""

from __future__ import annotations

import ctypes
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from adreno_sim.engine.llvm import objects
from adreno_sim.engine.llvm.flush_after_rounding import FLUSHING, flush_after_rounding

DIGITS, LEAST = {"float": 24, "double": 53}, {"float": -126, "double": -1022}
C_TYPE = {"float": ctypes.c_float, "double": ctypes.c_double}


def rounded(exact: Fraction, type: str, before: bool) -> float:
    """`exact` as a number of `type`; below the least normal it is flushed, as it is (`before`) or after it is rounded."""
    least = Fraction(2) ** LEAST[type]
    if not exact or (before and abs(exact) < least):
        return math.copysign(0.0, exact)
    exponent = math.floor(math.log2(abs(exact.numerator)) - math.log2(exact.denominator))
    while abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - DIGITS[type] + 1)
    near = round(exact / step) * step  # to even, and the exponent is unbounded
    return float(near) if abs(near) >= least else math.copysign(0.0, exact)


def replaced(type: str, operation: str) -> str:
    """A module that flushes and has one operation, for a processor that flushes before it rounds."""
    head = f"define {type} @run({type} %a, {type} %b, {type} %c) {FLUSHING} {{"
    text = f"declare {type} @llvm.fma.{'f32' if type == 'float' else 'f64'}({type}, {type}, {type})\n{head}\n{operation}\n}}\n"
    return flush_after_rounding(text)


def load(type: str, kind: str):
    """The function for an operation, which is given what such a processor computes as its last argument."""
    suffix = "f32" if type == "float" else "f64"
    operands = f"{type} %a, {type} %b" + (f", {type} %c" if kind == "multiply_add" else "")
    operation = f"fmul {type} %a, %b" if kind == "multiply" else f"call {type} @llvm.fma.{suffix}({operands})"
    text = replaced(type, f"  %r = {operation}\n  ret {type} %r")
    text, count = re.subn(r"^  %plain = .*\n", "", text, flags=re.M)
    assert count == 1
    assert f"@{kind}.{suffix}({operands})" in text
    text = text.replace(
        f"define internal {type} @{kind}.{suffix}({operands})", f"define {type} @alone({operands}, {type} %plain)"
    )
    text = re.sub(r"^define \w+ @run.*?^}\n", "", text, flags=re.M | re.S).replace(FLUSHING, "").replace("alwaysinline", "")
    loaded = objects.machine().load(objects.machine().compile(text), "alone")
    function = ctypes.CFUNCTYPE(C_TYPE[type], *[C_TYPE[type]] * (operands.count("%") + 1))(loaded.address)
    function.keep = loaded
    return function


def near_products(type: str, count: int) -> list[tuple[float, float, float]]:
    """Factors of which the exact product lies around the least normal, within some of its last digits."""
    rng, digits, least = np.random.default_rng(3), DIGITS[type], LEAST[type]
    found = []
    for _ in range(count):
        one = int(rng.integers(1 << (digits - 1), 1 << digits))
        other = ((1 << (2 * digits - 1)) + int(rng.integers(-3, 4)) * one // 2) // one
        split = int(rng.integers(least // 2 - 20, least // 2 + 20))
        a, b = math.ldexp(one, split), math.ldexp(other, least - 2 * digits + 1 - split)
        found.append((a * int(rng.choice((-1, 1))), b, 0.0))
    return found


def near_sums(type: str, count: int) -> list[tuple[float, float, float]]:
    """The same of a product and a sum: the least normal less half, a quarter or less of the distance to the number below."""
    rng, digits, least = np.random.default_rng(4), DIGITS[type], LEAST[type]
    found = []
    for _ in range(count):
        sign, below = int(rng.choice((-1, 1))), least - digits - int(rng.integers(-1, 5))
        at = int(rng.integers(least // 2 - 9, least // 2 + 9))
        digit = 1 + int(rng.integers(0, 3)) * 2.0 ** (1 - digits)
        found.append((-sign * math.ldexp(digit, at), math.ldexp(1, below - at), sign * math.ldexp(1, least)))
    return found


FAR = [(3.0, 5.0, 7.0), (1e30, 1e30, -1.0), (1e-30, 1e30, -1.0), (0.0, 5.0, -0.0), (-0.0, 5.0, -0.0), (2.0, -3.0, 6.0)]


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize(("kind", "cases"), [("multiply", near_products), ("multiply_add", near_sums)])
def test_the_result_is_flushed_as_it_is_after_rounding(type, kind, cases):
    function, differing = load(type, kind), 0
    for a, b, c in cases(type, 400) + FAR:
        exact = Fraction(a) * Fraction(b) + (Fraction(c) if kind == "multiply_add" else 0)
        if not exact or abs(exact) > Fraction(2) ** 120:
            before = after = a * b + c if kind == "multiply_add" else a * b
            if type == "float" and math.isfinite(before) and abs(before) > 3.4e38:
                before = after = math.copysign(math.inf, before)
        else:
            before, after = (rounded(exact, type, which) for which in (True, False))
        given = (a, b, c, before) if kind == "multiply_add" else (a, b, before)
        differing += before != after
        found = function(*given)
        assert (found, math.copysign(1, found)) == (after, math.copysign(1, after)), (a.hex(), b.hex(), c.hex())
    assert differing > 20  # what this is about is among the cases


def test_a_double_that_becomes_float_is_rounded_first():
    text = replaced("float", "  %w = fpext float %a to double\n  %n = fptrunc double %w to float\n  ret float %n")
    text = re.sub(r"^define \w+ @run.*?^}\n", "", text, flags=re.M | re.S).replace(FLUSHING, "").replace("alwaysinline", "")
    loaded = objects.machine().load(objects.machine().compile(text.replace("internal ", "")), "narrow.f32")
    narrow = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_double)(loaded.address)
    least = 2.0**-126
    for size in (least, least - 2.0**-152, least - 2.0**-151, math.nextafter(least - 2.0**-151, 0), least - 2.0**-150, 1.5, 0.0):
        for exact in (size, -size):
            found = narrow(exact)
            kept = found if abs(found) >= least and abs(exact) >= least - 2.0**-151 else math.copysign(0.0, found)
            assert kept == rounded(Fraction(exact), "float", before=False), exact.hex()
            assert abs(found) == least or abs(exact) >= least or abs(exact) < least - 2.0**-151


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("%r = fmul float %a, %b", "multiply.f32"),
        ("%r = fmul <8 x float> %a, %b", "multiply.v8f32"),
        ("%r = fmul float %a, 0x3FE3333340000000", "multiply.f32"),
        ("%r = fmul <2 x float> %a, <float 0x3FE0000000000000, float 1.5>", "multiply.v2f32"),
        ("%r = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %c)", "multiply_add.v16f32"),
        ("%r = fptrunc <8 x double> %a to <8 x float>", "narrow.v8f32"),
        ("%r = fmul double %a, %b", "multiply.f64"),
        ("%r = fmul float %a, 0x3FF8000000000000", ""),  # 1.5 makes nothing smaller
        ("%r = fmul <8 x float> splat (float 0x3FC0000000000000), %a", ""),  # a power of two rounds nothing
        ("%r = fmul half %a, %b", ""),
        ("%r = fadd float %a, %b", ""),
        ("%r = fdiv float %a, %b", ""),
        ("%r = fptrunc float %a to half", ""),
    ],
)
def test_only_what_may_be_rounded_up_is_replaced(line, kind):
    head = f"define void @run() {FLUSHING} {{\n"
    text = flush_after_rounding(f"{head}  {line}\n}}\n")
    assert (f"  {line}\n" in text) == (not kind)
    assert set(re.findall(r"define internal \S+(?: x \w+>)? @(\S+)\(", text)) == {kind} - {""}


def test_a_module_that_keeps_denormals_is_left_alone():
    text = "define float @run(float %a) {\n  %r = fmul float %a, %a\n  ret float %r\n}\n"
    assert flush_after_rounding(text) is text
