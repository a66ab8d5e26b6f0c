"""Host expressions: C integers and IEEE floats, judged by NumPy scalars and by definition."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.run.scalars import Scope, evaluate, fit

INTS = ["int8", "uint8", "int32", "uint32", "int64"]


def const(value, dtype="int64"):
    return h.Const(value, dtype)


def compute(op, a, b, dtype="int64"):
    return evaluate(h.Binary(op, const(a, dtype), const(b, dtype), dtype), Scope())


def in_range(dtype):
    info = np.iinfo(dtype)
    return st.integers(int(info.min), int(info.max))


@given(st.data(), st.sampled_from(INTS), st.sampled_from(["add", "sub", "mul", "bitand", "bitor", "bitxor", "min", "max"]))
def test_integers_wrap_like_numpy(data, dtype, op):
    a, b = data.draw(in_range(dtype)), data.draw(in_range(dtype))
    judge = {"sub": np.subtract, "mul": np.multiply, "add": np.add, "bitand": np.bitwise_and, "bitor": np.bitwise_or,
             "bitxor": np.bitwise_xor, "min": np.minimum, "max": np.maximum}[op]  # fmt: skip
    assert compute(op, a, b, dtype) == judge(np.array([a], dtype), np.array([b], dtype))[0]


@given(in_range("int32"), in_range("int32"))
def test_the_four_divisions_by_definition(a, b):
    assume(b != 0)
    floor, trunc = compute("floordiv", a, b), compute("truncdiv", a, b)
    assert floor == math.floor(a / b)
    assert trunc == math.trunc(a / b)
    assert compute("floormod", a, b) == a - b * floor
    assert compute("truncmod", a, b) == a - b * trunc


@given(st.floats(width=32), st.sampled_from(["float16", "float32"]))
def test_floats_round_to_their_type(value, dtype):
    with np.errstate(over="ignore"):
        expected = np.dtype(dtype).type(value)
    np.testing.assert_equal(fit(value, dtype), float(expected))


@given(st.integers(-(2**70), 2**70), st.sampled_from(INTS))
def test_fit_keeps_the_low_bits(value, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    assert (fit(value, dtype) - value) % 2**bits == 0
    assert np.iinfo(dtype).min <= fit(value, dtype) <= np.iinfo(dtype).max


def test_only_the_chosen_side_is_evaluated():
    unbound = h.Var("nowhere")
    assert evaluate(h.Select(const(True, "bool"), const(1), unbound), Scope()) == 1
    assert evaluate(h.Binary("or", const(True, "bool"), unbound, "bool"), Scope()) is True
    assert evaluate(h.Binary("and", const(False, "bool"), unbound, "bool"), Scope()) is False
    assert evaluate(h.Not(const(False, "bool")), Scope()) is True
    assert evaluate(h.Cast(const(3.9, "float32"), "int32"), Scope()) == 3


def test_comparisons_and_shifts():
    found = [compute(op, 3, 5) for op in ("eq", "ne", "lt", "le", "gt", "ge")]
    assert found == [0, 1, 1, 1, 0, 0]
    assert compute("shl", 1, 31, "int32") == -(2**31)
    assert compute("shr", -8, 1, "int32") == -4
    assert compute("div", 7.0, 2.0, "float32") == 3.5
    assert compute("div", -7, 2) == -3
    assert compute("div", 1.0, 0.0, "float32") == math.inf


BAD = {
    "unbound": (h.Var("n"), "variable 'n' is not bound"),
    "zero": (h.Binary("floordiv", const(1), const(0), "int64"), "floordiv of 1 and 0"),
    "shift": (h.Binary("shl", const(1), const(-1), "int64"), "shl of 1 and -1"),
    "index": (h.Load("H", const(2)), "element 2 of 'H', which has 2"),
    "negative index": (h.Load("H", const(-1)), "element -1 of 'H'"),
    "no buffer": (h.Load("K", const(0)), "'K' is not in host memory"),
    "not a number": (h.Cast(const(math.nan, "float32"), "int32"), "nan has no value of type int32"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_say_what_and_where(case):
    expression, message = BAD[case]
    with pytest.raises(AdrenoSimError, match=message):
        evaluate(expression, Scope(buffers={"H": np.zeros(2, np.int64)}))
