"""Half functions of the library: every one of the 65536 halves, against NumPy in double."""

from __future__ import annotations

import math

import numpy as np
import pytest
from native_library import native

from adreno_sim.frontend.builtin_library import _UNIT_OF

EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)
WIDE = EVERY.astype(np.float64)
FINITE = EVERY[np.isfinite(EVERY)]


def times_pi(x: np.ndarray) -> np.ndarray:
    return np.remainder(x, 2.0) * math.pi


REFERENCE = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
    "cbrt": np.cbrt, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees, "exp": np.exp, "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x), "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "radians": np.radians, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "acospi": lambda x: np.arccos(x) / math.pi, "asinpi": lambda x: np.arcsin(x) / math.pi,
    "atanpi": lambda x: np.arctan(x) / math.pi, "logb": lambda x: np.floor(np.log2(np.abs(x))),
    "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc),
}  # fmt: skip


def error(got: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Units in the last place of a half; 0 where both are NaN, or overflow alike."""
    exponent = np.clip(np.frexp(np.where(np.isfinite(true), true, 1.0))[1] - 1, -14, 15)
    distance = np.abs(got.astype(np.float64) - true) / np.ldexp(1.0, exponent - 10)
    rounded = true.astype(np.float16)
    alike = (got == rounded) | (np.isnan(got) & np.isnan(true))
    return np.where(alike & ~np.isfinite(rounded), 0.0, np.where(np.isfinite(got) & np.isfinite(rounded), distance, np.inf))


@pytest.mark.share()
@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_every_half_is_as_good_as_correctly_rounded(name):
    with np.errstate(all="ignore"):
        true = REFERENCE[name](WIDE)
        errors = error(native(_UNIT_OF[name], name, "half", "half")(EVERY), true)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 0.501, f"{name}({EVERY[worst]}): {errors[worst]:.3f} ulp from {true[worst]}"


@pytest.mark.parametrize("name, scale", [("sinpi", np.sin), ("cospi", np.cos), ("tanpi", np.tan)])
def test_pi_forms_of_every_small_half(name, scale):
    x = FINITE[np.abs(FINITE) < 64]
    got = native("trig", name, "half", "half")(x)
    fraction = np.remainder(x.astype(np.float64), 1.0)
    regular = (fraction != 0) & (fraction != 0.5)
    errors = error(got[regular], scale(times_pi(x[regular].astype(np.float64))))
    assert errors.max() <= 0.51


def test_binary_functions_of_random_halves():
    random = np.random.default_rng(5)
    x, y = random.choice(EVERY, 20000), random.choice(EVERY, 20000)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        for name, true in {
            "fmod": np.fmod(wide_x, wide_y), "hypot": np.hypot(wide_x, wide_y), "atan2": np.arctan2(wide_x, wide_y),
            "pow": np.power(wide_x, wide_y), "fdim": np.where(wide_x > wide_y, wide_x - wide_y, wide_x * 0 + wide_y * 0),
        }.items():  # fmt: skip
            finite = np.isfinite(true)
            got = native(_UNIT_OF[name], name, "half", "half", "half")(x, y)
            assert error(got[finite], true[finite]).max() <= 0.501, name


def test_nextafter_and_ldexp_equal_numpy():
    random = np.random.default_rng(6)
    x, y, n = random.choice(EVERY, 20000), random.choice(EVERY, 20000), random.integers(-60, 60, 20000).astype(np.int32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(native("exponent", "nextafter", "half", "half", "half")(x, y), np.nextafter(x, y))
        expected = np.ldexp(x.astype(np.float64), n).astype(np.float16)
    np.testing.assert_array_equal(native("exponent", "ldexp", "half", "half", "int")(x, n), expected)


@pytest.mark.parametrize("width", [2, 3, 4])
def test_geometry_of_half_vectors(width):
    random = np.random.default_rng(8)
    a, b = (random.uniform(-3, 3, (500, width)).astype(np.float16) for _ in range(2))
    x, y, type = a.astype(np.float64), b.astype(np.float64), f"half{width}"
    size = np.sqrt((x * x).sum(1))
    for name, args, true in (
        ("length", (a,), size),
        ("distance", (a, b), np.sqrt(((x - y) ** 2).sum(1))),
        ("normalize", (a,), x / size[:, None]),
    ):
        result = type if name == "normalize" else "half"
        assert error(native("geometric", name, result, *[type] * len(args))(*args), true).max() <= 0.51, name
    dots = native("geometric", "dot", "half", type, type)(a, b)
    assert np.all(np.abs(dots - (x * y).sum(1)) <= 2.0**-11 * np.abs(x * y).sum(1))


def test_cross_product_of_halves_equals_numpy():
    random = np.random.default_rng(9)
    a, b = (random.uniform(-3, 3, (500, 3)).astype(np.float16) for _ in range(2))
    got = native("geometric", "cross", "half3", "half3", "half3")(a, b)
    np.testing.assert_allclose(got, np.cross(a.astype(np.float64), b.astype(np.float64)), atol=2.0**-7)
