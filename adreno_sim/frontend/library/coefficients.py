"""Writes `shared/coefficients.h`: the polynomials of the maths built-ins. Run it after changing a fit (needs mpmath).

Each polynomial is the weighted least-squares fit over Chebyshev nodes of the interval in 60-digit arithmetic,
which is within a small factor of the minimax error; the coefficients are then rounded to double. The weight is
1/|function| (relative error) unless a fit gives another: how much an error there moves the final result. The
weighted error, fit and rounding together, is printed beside each. A float needs 2^-24; below 2^-32 the result is
nearly always the correctly rounded one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60

HEADER = "// Written by coefficients.py; polynomials in Horner form, evaluated in double.\n#pragma once\n"


@dataclass(frozen=True)
class Fit:
    """A polynomial of `degree` for `function` on [low, high]; `meaning` says it in a formula."""

    name: str
    meaning: str
    function: Callable[[mpf], mpf]
    low: mpf
    high: mpf
    degree: int
    weight: Callable[[mpf], mpf] | None = None

    def weigh(self, x: mpf) -> mpf:
        return self.weight(x) if self.weight else 1 / abs(self.function(x))


def solve(fit: Fit) -> list[float]:
    """Monomial coefficients, lowest first."""
    count = 6 * (fit.degree + 1)
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    weights = [fit.weigh(node) for node in nodes]
    powers = mp.matrix([[w * x**power for power in range(fit.degree + 1)] for x, w in zip(nodes, weights, strict=True)])
    values = mp.matrix([w * fit.function(x) for x, w in zip(nodes, weights, strict=True)])
    return [float(c) for c in mp.lu_solve(powers.T * powers, powers.T * values)]


def horner(coefficients: list[float], x: mpf) -> mpf:
    value = mpf(0)
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value


def weighted_error(fit: Fit, coefficients: list[float], samples: int = 400) -> mpf:
    """The largest weighted error of the rounded coefficients over evenly spaced points."""
    points = [fit.low + (fit.high - fit.low) * i / samples for i in range(samples + 1)]
    return max(abs(horner(coefficients, x) - fit.function(x)) * fit.weigh(x) for x in points)


def c_function(fit: Fit) -> str:
    coefficients = solve(fit)
    body = coefficients[-1].hex()
    for coefficient in coefficients[-2::-1]:
        body = f"FMA(x, {body},\n        {coefficient.hex()})"
    bits = mp.nstr(mp.log(weighted_error(fit, coefficients), 2), 4)
    interval = f"[{mp.nstr(fit.low, 6)}, {mp.nstr(fit.high, 6)}]"
    return f"// {fit.meaning} on {interval}, error 2^{bits}\nINLINE double {fit.name}(double x) {{\n    return {body};\n}}\n"


def ratio(function: Callable[[mpf], mpf], first: mpf) -> Callable[[mpf], mpf]:
    """x -> function(x) / x with the limit `first` at 0."""
    return lambda x: function(x) / x if x else mpf(first)


def odd(function: Callable[[mpf], mpf], first: mpf = mpf(1)) -> Callable[[mpf], mpf]:
    """z -> f(sqrt z) / sqrt z, the even factor of an odd function with derivative `first` at 0."""
    return lambda z: function(mp.sqrt(z)) / mp.sqrt(z) if z else mpf(first)


def scaled_erfc(t: mpf) -> mpf:
    """exp(y^2) erfc(y) (y + 3) with y from t = (y - 3) / (y + 3)."""
    y = 3 * (1 + t) / (1 - t)
    return mp.exp(y * y) * mp.erfc(y) * (y + 3)


def stirling_rest(w: mpf) -> mpf:
    """x (log gamma(x) - (x - 1/2) log x + x - log(2 pi)/2) with w = 1/x^2: what Stirling's formula leaves, times x."""
    if w < mpf(10) ** -12:
        return mpf(1) / 12 - w / 360
    x = 1 / mp.sqrt(w)
    return x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def lgamma_over_zero(x: mpf) -> mpf:
    return mp.loggamma(x) / (x - 2) if x != 2 else mp.digamma(2)


QUARTER_PI_SQUARED = (mp.pi / 4) ** 2 * mpf("1.0001")

FITS = [
    Fit("exp2m1_over", "(2^x - 1) / x", ratio(lambda x: mpf(2) ** x - 1, mp.log(2)), mpf("-0.5"), mpf("0.5"), 7),
    Fit("atanh_over", "atanh(sqrt x) / sqrt x", odd(mp.atanh), mpf(0), (3 - 2 * mp.sqrt(2)) ** 2 * mpf("1.0001"), 5),
    Fit("sin_over", "sin(sqrt x) / sqrt x", odd(mp.sin), mpf(0), QUARTER_PI_SQUARED, 4),
    Fit("cos_of", "cos(sqrt x)", lambda z: mp.cos(mp.sqrt(z)), mpf(0), QUARTER_PI_SQUARED, 5),
    Fit("asin_over", "asin(sqrt x) / sqrt x", odd(mp.asin), mpf(0), mpf("0.25"), 8),
    Fit("atan_over", "atan(sqrt x) / sqrt x", odd(mp.atan), mpf(0), (mp.sqrt(2) - 1) ** 2 * mpf("1.0001"), 7),
    Fit("erf_over", "erf(sqrt x) / sqrt x", odd(mp.erf, 2 / mp.sqrt(mp.pi)), mpf(0), mpf(1), 8),
    Fit("log2_erfc", "log2(erfc(x))", lambda x: mp.log(mp.erfc(x), 2), mpf(1), mpf(4), 8, lambda x: mp.erfc(x) / mp.erf(x)),
    Fit("scaled_erfc", "exp(y^2) erfc(y) (y + 3), y = 3 (1 + x) / (1 - x),", scaled_erfc, mpf("-0.5"), mpf("0.5455"), 11),
    Fit("stirling_over", "Stirling's rest y r(y) at y = 1 / sqrt x", stirling_rest, mpf(0), mpf(1) / 9, 7),
    Fit("lgamma_over", "log(gamma(x)) / (x - 2)", lgamma_over_zero, mpf("1.5"), mpf(3), 13),
]


def text() -> str:
    """The whole of `coefficients.h`."""
    return HEADER + "\n" + "\n".join(map(c_function, FITS))


if __name__ == "__main__":
    (Path(__file__).parent / "shared" / "coefficients.h").write_text(text())
