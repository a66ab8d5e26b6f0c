"""golden.compare: tolerance, special values, ulp distance, uninformative agreement."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from adreno_sim.results.comparison import STEP, TOLERANCE, compare, ulp_distance, why_uninformative
from adreno_sim.results.expected import Expected

NORMAL = np.random.default_rng(0).standard_normal((4, 5, 6)).astype("float32")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("factor, ok", [(0.9, True), (1.1, False)])
def test_tolerance_is_relative_to_the_larger_of_value_and_rms(dtype, factor, ok):
    golden = NORMAL.astype(dtype)
    rms = math.sqrt(np.square(golden.astype("float64")).mean())
    small, large = np.abs(golden).argmin(), np.abs(golden).argmax()
    for place in (small, large):
        got = golden.astype("float64").reshape(-1)
        step = TOLERANCE[dtype] * max(abs(got[place]), rms)
        got[place] += factor * step
        result = compare(got.astype(dtype).reshape(golden.shape), golden)
        assert result.ok is ok
        assert result.worst == tuple(np.unravel_index(place, golden.shape))
        assert result.max_abs == pytest.approx(factor * step, rel=0.1)
        assert not result.uninformative


def test_worst_is_judged_in_units_of_its_tolerance():
    golden = np.array([1000.0, 1.0, -2.0, 3.0], "float32").repeat(200) + np.arange(800, dtype="float32") / 1000
    got = golden.copy()
    got[5] += 2.0  # 0.2% of 1000
    got[205] += 1.9  # smaller, but 0.4% of the rms
    result = compare(got, golden)
    assert result.worst == (205,)
    assert result.wrong == 2
    assert result.max_abs == pytest.approx(2.0, abs=1e-3)


def test_nan_and_infinity_agree_only_with_themselves():
    golden = np.array([np.nan, np.inf, -np.inf, 1.0, 2.0], "float32")
    assert compare(golden.copy(), golden).ok
    for place, value in [(0, 1.0), (1, -np.inf), (1, np.nan), (2, 0.0), (3, np.nan), (4, np.inf)]:
        got = golden.copy()
        got[place] = value
        result = compare(got, golden)
        assert not result.ok
        assert result.wrong == 1
        assert result.worst == (place,)
        assert result.max_abs == math.inf


def test_integers_and_booleans_are_exact():
    golden = np.arange(-5, 5, dtype="int32")
    found = compare(golden.copy(), golden)
    assert found.ok
    assert not found.uninformative
    got = golden.copy()
    got[3] += 1
    result = compare(got, golden)
    assert not result.ok
    assert result.worst == (3,)
    assert result.max_abs == 1
    assert result.max_ulp == 0
    flags = np.array([True, False, True])
    found = compare(flags, flags)
    assert found.ok
    assert not found.uninformative
    assert not compare(~flags, flags).ok


def test_errors_beyond_the_first_chunk_are_found():
    golden = np.random.default_rng(1).standard_normal(STEP + 10).astype("float32")
    got = golden.copy()
    got[STEP + 7] += 1
    result = compare(got, golden)
    assert result.worst == (STEP + 7,)
    assert result.wrong == 1


def test_shape_and_type_must_agree():
    with pytest.raises(ValueError, match=r"expected float32\[4, 5, 6\], got float32\[120\]"):
        compare(NORMAL.reshape(-1), NORMAL)
    with pytest.raises(ValueError, match="got float64"):
        compare(NORMAL.astype("float64"), NORMAL)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(0, 1000))
def test_ulp_distance_counts_representable_values(start, steps):
    value = np.float32(start)
    other = value
    for _ in range(steps % 7):
        with np.errstate(over="ignore"):
            other = np.nextafter(other, np.float32(np.inf))
    if np.isfinite(other):
        assert ulp_distance(np.array([value]), np.array([other]))[0] == steps % 7


def test_ulp_distance_of_known_pairs():
    def distance(a, b, dtype):
        return int(ulp_distance(np.array([a], dtype), np.array([b], dtype))[0])

    assert distance(0.0, -0.0, "float32") == 0
    assert distance(1.0, 1.0 + 2**-23, "float32") == 1
    assert distance(1.0, 1.0 + 2**-10, "float16") == 1
    smallest = struct.unpack("<f", b"\x01\0\0\0")[0]
    assert distance(smallest, -smallest, "float32") == 2
    assert distance(1.0, 1.0 + 2**-52, "float64") == 1


@pytest.mark.parametrize(
    "golden, reason",
    [
        (np.full(10, 3, "float32"), "every element is 3"),
        (np.zeros((2, 2), "float32"), "every element is 0"),
        (np.zeros(0, "float32"), "no elements"),
        (NORMAL * 1e-7, "near zero"),
        (0.005 + NORMAL * 1e-5, "nearly constant"),
        (np.tanh(NORMAL * 20), "equal the largest magnitude"),
        (np.clip(NORMAL, -0.9, 0.9), "equal the largest magnitude"),
        (np.where(NORMAL > 1.2, 2, NORMAL * 1e-3).astype("float32"), "equal the largest magnitude"),
        (np.where(NORMAL > 1, np.inf, NORMAL), "infinite or NaN"),
        (np.where(NORMAL > 1, np.nan, NORMAL), "infinite or NaN"),
        (np.array([127, -128, 3, 127], "int8"), "saturated"),
    ],
)
def test_comparisons_that_say_nothing(golden, reason):
    result = compare(golden.copy(), golden)
    assert reason in result.uninformative
    assert result.ok


def test_comparisons_that_say_something():
    softmax = np.exp(NORMAL.reshape(-1)) / np.exp(NORMAL).sum() / 10
    gate = np.clip(0.5 + NORMAL / 2, 0, 1)  # a sixth at its upper end
    for golden in (NORMAL, np.maximum(NORMAL, 0), softmax, gate, np.array([2.5], "float32"), np.arange(100, dtype="uint8")):
        assert why_uninformative(golden) == ""


@given(hnp.arrays("float32", hnp.array_shapes(max_dims=3, max_side=6), elements=st.floats(width=32)))
def test_every_array_agrees_with_itself(golden):
    result = compare(golden.copy(), golden)
    assert result.ok
    assert result.max_abs == 0
    assert result.max_ulp == 0


MASKS = [float("-inf"), float(np.finfo("float32").min), -1e9, -65504.0, -1e4]


def masked_scores(mask, dtype="float32"):
    """Scores of 16 places, those after each place masked."""
    scores = np.random.default_rng(3).standard_normal((4, 16, 16)).astype(dtype)
    return np.where(np.tril(np.ones((16, 16), bool)), scores, np.array(mask, dtype))


@pytest.mark.parametrize(
    ("mask", "dtype"), [*((mask, "float32") for mask in MASKS), (float("-inf"), "float16"), (-1e4, "float16")]
)
def test_masked_scores_say_something_and_are_judged_by_what_is_left(mask, dtype):
    golden = masked_scores(mask, dtype)
    found = compare(golden.copy(), golden)
    assert found.ok
    assert not found.uninformative
    wrong = golden.copy()
    wrong[2, 5, 3] += np.array(0.1, dtype)
    assert compare(wrong, golden).wrong == 1
    unmasked = golden.copy()
    unmasked[0, 3, 9] = 0
    assert compare(unmasked, golden).wrong == 1


def test_what_overflows_or_is_all_masked_says_nothing_as_before():
    with np.errstate(over="ignore"):
        wide = (np.random.default_rng(0).standard_normal(1000) * 60000).astype("float16")
    assert "infinite" in compare(wide, wide).uninformative
    assert np.isneginf(wide).any()
    few = np.full(1000, -1e9, "float32")
    few[:3] = 1, 2, 3
    assert compare(few, few).uninformative
    same = np.where(np.arange(1000) < 500, np.float32(2), np.float32(-np.inf))
    assert "every element is 2" in compare(same, same).uninformative


def test_values_that_range_widely_are_no_masks():
    wide = (np.random.default_rng(0).standard_normal(1000) * 1e6).astype("float32")
    wrong = wide.copy()
    wrong[0] += 100  # within 1e-3 of the rms of all
    assert compare(wrong, wide).ok


def test_a_tensor_of_no_dimensions_has_an_error_too():
    expected = Expected(np.float16(3).reshape(()), np.array(3.0), np.array(0.01))
    assert compare(np.float16(3.001).reshape(()), expected).ok
    assert not compare(np.float16(3.1).reshape(()), expected).ok
