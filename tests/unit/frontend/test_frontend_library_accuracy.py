"""Every float function of the library against mpmath: random arguments of every exponent, and where it is hard.

`ULP` is the bound of OpenCL C 3.0's full profile (section 7.4); the library itself promises `OWN`.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from mpmath import mp, mpf
from native_library import native

from adreno_sim.frontend.builtin_library import _UNIT_OF

OWN = 0.51
ULP = {
    "acos": 4, "acosh": 4, "acospi": 5, "asin": 4, "asinh": 4, "asinpi": 5, "atan": 5, "atan2": 6, "atan2pi": 6, "atanh": 5,
    "atanpi": 5, "cbrt": 2, "cos": 4, "cosh": 4, "cospi": 4, "degrees": 2, "erf": 16, "erfc": 16, "exp": 3, "exp10": 3, "exp2": 3,
    "expm1": 3, "fdim": 0.5, "hypot": 4, "log": 3, "log10": 3, "log1p": 2, "log2": 3, "pow": 16, "pown": 16, "powr": 16,
    "radians": 2, "rootn": 16, "rsqrt": 2, "sin": 4, "sinh": 4, "sinpi": 4, "sqrt": 3, "tan": 5, "tanh": 5, "tanpi": 6,
    "tgamma": 16,
}  # fmt: skip

PI_TIMES = {"sinpi": mp.sinpi, "cospi": mp.cospi, "tanpi": lambda x: mp.sinpi(x) / mp.cospi(x)}
OVER_PI = {"acospi": mp.acos, "asinpi": mp.asin, "atanpi": mp.atan}


def over_pi(function):
    return lambda x: function(x) / mp.pi


REFERENCE = {
    **{name: getattr(mp, name) for name in ULP if hasattr(mp, name)},
    **PI_TIMES,
    **{name: over_pi(function) for name, function in OVER_PI.items()},
    "atan2pi": lambda y, x: mp.atan2(y, x) / mp.pi,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp2": lambda x: mpf(2) ** x,
    "exp10": lambda x: mpf(10) ** x,
    "fdim": lambda x, y: max(x - y, mpf(0)),
    "log2": lambda x: mp.log(x, 2),
    "log10": lambda x: mp.log(x, 10),
    "pow": mp.power,
    "pown": mp.power,
    "powr": mp.power,
    "rootn": lambda x, n: mp.nan if n == 0 or (x < 0 and n % 2 == 0) else mp.sign(x) * mp.root(abs(x), abs(n)) ** mp.sign(n),
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "tgamma": mp.gamma,
}
INTEGER_SECOND = {"pown", "rootn"}
TWO = {"atan2", "atan2pi", "fdim", "hypot", "pow", "powr", *INTEGER_SECOND}
NEAR = {  # where a function is steep, flat, or near a zero or a limit of its domain
    "acos": (-1, 1), "asin": (-1, 1), "acospi": (-1, 1), "asinpi": (-1, 1), "acosh": (1, 3), "atanh": (-1, 1),
    "erf": (-4, 4), "erfc": (-4, 10.1), "tgamma": (-20, 35), "exp": (-104, 89), "exp2": (-150, 128), "exp10": (-45, 39),
    "expm1": (-20, 89), "sinh": (-90, 90), "cosh": (-90, 90), "log": (0.5, 2), "log2": (0.5, 2), "log10": (0.5, 2),
    "log1p": (-1, 2), "tanh": (-10, 10), "sinpi": (-5, 5), "cospi": (-5, 5), "tanpi": (-5, 5),
}  # fmt: skip
HARD_ANGLES = np.concatenate(
    [
        np.arange(1, 60) * math.pi / 2,  # next to a zero of sine or cosine
        np.array([0.99999994, 1, 1.0000001]) * 2**30,  # where the reduction changes
        [16367173.0 * 2.0**72, 2.0**127],  # the former is the float closest to a multiple of pi/2
    ]
).astype(np.float32)


def random_floats(count: int, seed: str) -> np.ndarray:
    """Finite floats of every exponent and sign, the same for the same seed."""
    bits = np.random.default_rng(zlib.crc32(seed.encode())).integers(0, 2**32, count, dtype=np.uint32)
    values = bits.view(np.float32)
    return values[np.isfinite(values)]


def arguments(name: str, count: int) -> list[np.ndarray]:
    random = np.random.default_rng(zlib.crc32(name.encode()))
    x = np.concatenate(
        [
            random_floats(count, name),
            random.uniform(*NEAR.get(name, (-10, 10)), count).astype(np.float32),
            (1 + random.uniform(-1e-3, 1e-3, count // 4)).astype(np.float32),
            HARD_ANGLES,
        ]
    )
    if name not in TWO:
        return [x]
    if name in INTEGER_SECOND:
        return [x, random.integers(-40, 40, len(x)).astype(np.int32)]
    other = np.concatenate([random.permutation(x[:count]), x[: len(x) - count] * random.uniform(-3, 3, len(x) - count)])
    with np.errstate(over="ignore"):
        return [np.abs(x) if name == "powr" else x, other.astype(np.float32)]


def exact(name: str, values: tuple) -> mpf | None:
    """The exact result, None where it is not a finite real number."""
    try:
        result = REFERENCE[name](*values)
    except (ValueError, ZeroDivisionError):
        return None
    return result if isinstance(result, mpf) and mp.isfinite(result) else None


def ulps(got: float, true: mpf) -> float:
    """Error in units in the last place of a float at `true`; overflow to infinity of what rounds there is none."""
    if math.isinf(got) and abs(true) >= mpf(2) ** 128 - mpf(2) ** 103 and (got > 0) == (true > 0):
        return 0.0
    if not math.isfinite(got):
        return math.inf
    exponent = max(mp.frexp(true)[1] - 1, -126) if true else -126
    return float(abs(mpf(got) - true) / mpf(2) ** (exponent - 23))


@pytest.mark.share()
@pytest.mark.parametrize("name", sorted(ULP))
def test_within_the_promised_error(name):
    mp.prec = 160 if name in ("cos", "sin", "tan") else 100
    types = ["float", "int" if name in INTEGER_SECOND else "float"][: 2 if name in TWO else 1]
    args = arguments(name, 300)
    results = native(_UNIT_OF[name], name, "float", *types)(*args)
    columns = [column.tolist() for column in args]
    worst, where, judged = 0.0, None, 0
    for *values, got in zip(*columns, results.tolist(), strict=True):
        true = exact(name, tuple(mpf(v) if isinstance(v, float) else v for v in values))
        if true is None:
            continue
        judged += 1
        error = ulps(got, true)
        if error > worst:
            worst, where = error, (values, got, true)
    assert judged > 150, f"only {judged} arguments had a finite result"
    assert worst <= min(OWN, max(ULP[name], 0.5)), f"{name}: {worst:.3f} ulp at {where}"


def test_lgamma_is_close_absolutely_and_at_its_zeros():
    mp.prec = 100
    random = np.random.default_rng(3)
    x = np.concatenate(
        [
            random.uniform(-20, 40, 400),
            1 + random.uniform(-1e-3, 1e-3, 100),
            2 + random.uniform(-1e-3, 1e-3, 100),
            [1e-30, 1e10, 1e30],
        ]
    ).astype(np.float32)
    got = native("gamma", "lgamma", "float", "float")(x)
    for value, result in zip(x.tolist(), got.tolist(), strict=True):
        true = mp.log(abs(mp.gamma(mpf(value)))) if value < 1e9 else mp.loggamma(mpf(value))
        error = ulps(result, true)
        assert error <= OWN or (value < 0 and abs(mpf(result) - true) < 1e-7), (value, result, true)
