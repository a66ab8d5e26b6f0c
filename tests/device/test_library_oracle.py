"""The library's functions beside PoCL's and Intel's: exceptional values, second results, vectors, halves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import oracle
import pytest
from native_library import DTYPES, native

from adreno_sim.frontend.builtin_library import _UNIT_OF

SPECIAL = np.array(
    [
        0,
        1,
        2,
        3,
        4,
        0.5,
        1.5,
        2.5,
        0.99999994,
        1.0000001,
        100,
        1e10,
        1e38,
        1e-38,
        1e-45,
        3.4028235e38,
        2**24,
        2**24 + 2,
        8388609,
        np.inf,
    ],
    np.float32,
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL, [np.float32(np.nan)]])
INTEGERS = np.array([0, 1, -1, 2, -2, 3, -3, 127, -126, 150, -150, 1000, -1000, 2**31 - 1, -(2**31)], np.int32)

ONE = [
    "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atanh", "atanpi", "cbrt", "cos", "cosh", "cospi",
    "degrees", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "lgamma", "log", "log10", "log1p", "log2", "logb",
    "radians", "rsqrt", "sign", "sin", "sinh", "sinpi", "sqrt", "tan", "tanh", "tanpi", "tgamma",
]  # fmt: skip
TWO = [
    "atan2", "atan2pi", "fdim", "fmod", "hypot", "maxmag", "minmag", "nextafter", "pow", "powr", "remainder",
]  # fmt: skip
WITH_INTEGER = ["ldexp", "pown", "rootn"]

POCL_DIFFERS = {
    "cospi": "-0 at whole numbers and a half",
    "sinpi": "the wrong sign of zero at odd numbers",
    "tanpi": "the wrong sign of zero at odd numbers",
    "log1p": "denormals lost",
    "maxmag": "the other operand at opposite zeros",
    "minmag": "the other operand at opposite zeros",
}


@dataclass(frozen=True)
class Case:
    """One call `name(args)` over arrays, and perhaps a second result of type `second`."""

    name: str
    result: str
    types: tuple[str, ...]
    arrays: tuple[np.ndarray, ...]
    second: str | None = None

    def run(self) -> oracle.Run:
        """The same call as a kernel; vectors of three components are avoided by the callers."""
        outputs = [self.result, *([self.second] if self.second else [])]
        params = [f"global {type} *out{i}" for i, type in enumerate(outputs)]
        params += [f"global const {type} *in{i}" for i, type in enumerate(self.types)]
        call = ", ".join([f"in{i}[k]" for i in range(len(self.types))] + (["out1 + k"] if self.second else []))
        source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" if "half" in " ".join([*outputs, *self.types]) else ""
        source += f"kernel void k({', '.join(params)}) {{ int k = get_global_id(0); out0[k] = {self.name}({call}); }}"
        count = len(self.arrays[0])
        stores = [oracle.Buffer(np.zeros((count, width_of(type)), dtype_of(type))) for type in outputs]
        inputs = [
            oracle.Buffer(np.ascontiguousarray(a, dtype_of(t)), output=False)
            for a, t in zip(self.arrays, self.types, strict=True)
        ]
        return oracle.Run(source, "k", (count,), [*stores, *inputs])

    def own(self) -> list[np.ndarray]:
        results = native(_UNIT_OF[self.name], self.name, self.result, *self.types, second=self.second)(*self.arrays)
        return list(results) if self.second else [results]


def width_of(spelled: str) -> int:
    return int("".join(c for c in spelled if c.isdigit()) or 1)


def dtype_of(spelled: str) -> type:
    return DTYPES[spelled.rstrip("0123456789")]


def grid(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(first, len(second)), np.tile(second, len(first))


def special_cases() -> list[Case]:
    cases = [Case(name, "float", ("float",), (SPECIAL,)) for name in ONE]
    cases += [Case(name, "float", ("float", "float"), grid(SPECIAL, SPECIAL)) for name in TWO]
    return cases + [Case(name, "float", ("float", "int"), grid(SPECIAL, INTEGERS)) for name in WITH_INTEGER]


def low_bits(quotient: np.ndarray) -> np.ndarray:
    """What remquo promises of a quotient: its sign and seven low bits."""
    return np.sign(quotient) * (np.abs(quotient) & 0x7F)


def differences(own: np.ndarray, other: np.ndarray, relative: float) -> np.ndarray:
    """Where two results are not the same NaN, infinity or signed zero, nor close."""
    own, other = own.ravel(), other.ravel()
    if own.dtype.kind != "f":
        return np.flatnonzero(own != other)
    a, b = own.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        close = (
            np.isfinite(a)
            & np.isfinite(b)
            & (np.abs(a - b) <= np.maximum(np.abs(a) * relative, np.finfo(own.dtype).smallest_subnormal))
        )
        zeros = (a != 0) & (b != 0) | (np.signbit(a) == np.signbit(b))
        same = (a == b) & zeros | np.isnan(a) & np.isnan(b) | close & zeros
    return np.flatnonzero(~same)


def compare(judge: oracle.Oracle, cases: list[Case], relative: float) -> None:
    for case, answer in zip(cases, judge.run_many([case.run() for case in cases], 200), strict=True):
        assert not isinstance(answer, oracle.OracleError), (case.name, answer)
        for own, other in zip(case.own(), answer, strict=True):
            if case.name == "remquo" and other.dtype == np.int32:
                other = low_bits(other)
            bad = differences(own, other, relative)
            shown = [
                ([a.ravel()[i] for a in case.arrays], own.ravel()[i], other.ravel()[i]) for i in bad[:4] if len(own.shape) == 1
            ]
            assert not len(bad), f"{case.name}{case.types}: {len(bad)} differ from {judge.name}: {shown}"


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_exceptional_values_equal_intels(intel, step):
    compare(intel, special_cases()[::step], 2e-6)


def test_exceptional_values_equal_pocls(pocl):
    compare(pocl, [case for case in special_cases() if case.name not in POCL_DIFFERS], 2e-6)


def pointer_cases(kind: str, random: np.random.Generator) -> list[Case]:
    x = random.uniform(-50, 50, 400).astype(DTYPES[kind])
    y = random.uniform(-9, 9, 400).astype(DTYPES[kind])
    wide = kind + "4"
    rows, other_rows = x.reshape(-1, 4), y.reshape(-1, 4)
    cases = [Case(name, kind, (kind,), (x,), kind) for name in ("fract", "modf", "sincos")]
    cases += [Case(name, wide, (wide,), (rows,), wide) for name in ("fract", "modf", "sincos")]
    cases += [Case("frexp", kind, (kind,), (x,), "int"), Case("frexp", wide, (wide,), (rows,), "int4")]
    cases += [Case("remquo", kind, (kind, kind), (x, y), "int"), Case("remquo", wide, (wide, wide), (rows, other_rows), "int4")]
    return [
        *cases,
        Case("lgamma_r", kind, (kind,), (np.abs(x),), "int"),
        Case("lgamma_r", wide, (wide,), (np.abs(rows),), "int4"),
    ]


@pytest.mark.parametrize("kind, relative", [("float", 1e-5), ("half", 2e-3)])
def test_second_results_equal_intels(intel, kind, relative):
    compare(intel, pointer_cases(kind, np.random.default_rng(1)), relative)


def test_second_results_of_exceptional_values_equal_intels(intel):
    cases = [Case(name, "float", ("float",), (SPECIAL,), "float") for name in ("fract", "modf")]
    x, y = grid(SPECIAL, SPECIAL)
    exact = np.isfinite(x) & np.isfinite(y) & (y != 0)  # elsewhere the quotient is not specified
    finite = SPECIAL[np.isfinite(SPECIAL)]
    cases += [
        Case("frexp", "float", ("float",), (finite,), "int"),
        Case("remquo", "float", ("float", "float"), (x[exact], y[exact]), "int"),
    ]
    compare(intel, cases, 0)


def test_vectors_and_common_functions_equal_intels(intel):
    random = np.random.default_rng(2)
    a, b = (random.uniform(0.1, 3, (200, 4)).astype(np.float32) for _ in range(2))
    cases = []
    for width in (1, 2, 4):
        type = "float" + (str(width) if width > 1 else "")
        x, y = a[:, :width], b[:, :width]
        cases += [Case(name, "float", (type, type), (x, y)) for name in ("dot", "distance")]
        cases += [Case("length", "float", (type,), (x,)), Case("normalize", type, (type,), (x,))]
    x, y, t = a[:, 0], b[:, 0], b[:, 1] / 3
    cases += [Case("smoothstep", "float", ("float",) * 3, (x * 0, y, x)), Case("step", "float", ("float",) * 2, (x, y))]
    compare(intel, [*cases, Case("mix", "float", ("float",) * 3, (x, y, t))], 1e-5)


def test_fast_geometry_is_near_intels(intel):
    a, b = (np.random.default_rng(4).uniform(0.1, 3, (200, 2)).astype(np.float32) for _ in range(2))
    cases = [Case("fast_distance", "float", ("float2", "float2"), (a, b)), Case("fast_length", "float", ("float2",), (a,))]
    compare(intel, [*cases, Case("fast_normalize", "float2", ("float2",), (a,))], 2e-3)  # 8192 ulp are allowed


def test_cross_products_equal_intels(intel):
    random = np.random.default_rng(3)
    a, b = (random.uniform(-3, 3, (200, 4)).astype(np.float32) for _ in range(2))
    case = Case("cross", "float4", ("float4", "float4"), (a, b))
    own, other = case.own()[0], intel.run_many([case.run()])[0][0]
    np.testing.assert_allclose(own, other, atol=2e-6)
    np.testing.assert_array_equal(own[:, 3], 0)


def normalized(vectors: np.ndarray) -> np.ndarray:
    """As OpenCL C 3.0, 7.5.1 has it: zeros stay, NaN is everywhere, infinities count as one beside which others are nothing."""
    v = vectors.astype(np.float64)
    endless = np.isinf(v).any(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        v = np.where(endless, np.where(np.isinf(v), np.copysign(1, v), 0 * v), v)
    length = np.sqrt((v * v).sum(axis=1, keepdims=True))
    return np.where(np.isnan(vectors).any(axis=1, keepdims=True), np.nan, v / np.where(length == 0, 1, length)).astype(np.float32)


@pytest.mark.parametrize("width", [2, 4])
def test_normalize_of_exceptional_vectors_is_as_specified(width):
    type = f"float{width}"
    values = (
        np.array(np.meshgrid(*[np.array([0, -1, np.inf, -np.inf, np.nan, 3e38, 1e-38], np.float32)] * width)).reshape(width, -1).T
    )
    (own,) = Case("normalize", type, (type,), (values,)).own()
    bad = differences(own, normalized(values), 1e-6)
    assert not len(bad), [(values[i // width], own.ravel()[i]) for i in bad[:4]]


def test_halves_equal_intels(intel):
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    cases = [
        Case(name, "half", ("half",), (every,))
        for name in ("exp", "log", "tanh", "erf", "sin", "sqrt", "rsqrt", "tgamma", "sinpi", "sign")
    ]
    compare(intel, cases, 4e-3)  # 4 ulp, which the specification allows erf and others
