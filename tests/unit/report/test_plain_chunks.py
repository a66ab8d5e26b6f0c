"""Chunks of finite numbers have the figures that the comparison of any numbers gives them."""

import numpy as np
import pytest

from adreno_sim.results import comparison
from adreno_sim.results.comparison import STEP, compare, find_figures
from adreno_sim.results.elements.plain_chunks import compare_plain
from adreno_sim.results.expected import Expected

TYPES = ("float16", "float32", "float64")


def make_chunk(dtype: str, seed: int, error: float, allowed: float) -> tuple[np.ndarray, ...]:
    """A result, its reference, the value and the allowed errors: some are exceeded, some just met."""
    random = np.random.default_rng(seed)
    value = random.standard_normal(500) * 10.0 ** random.integers(-6, 4, 500)
    got = (value * (1 + error * random.standard_normal(500))).astype(dtype)
    limits = np.abs(value) * allowed + 1e-12
    met = random.integers(0, 4, 500) == 0
    limits[met] = np.abs(got[met].astype(np.float64) - value[met]) + 1e-30
    return got, value.astype(dtype), value, limits.astype("float32").astype(np.float64)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("error", [0.0, 1e-7, 1e-3, 0.2])
@pytest.mark.parametrize("rms", [0.0, 1e-3, 1.0, 6e4])
def test_plain_figures_are_those_of_any_numbers(dtype, error, rms):
    for seed in range(5):
        chunk = make_chunk(dtype, seed, error, 3e-4)
        plain = compare_plain(*chunk, rms)
        assert plain is not None
        assert plain == find_figures(*chunk, rms)


def test_an_error_that_only_just_exceeds_its_limit_is_counted():
    golden = np.array([1.0, 2.0, 3.0], "float32")
    value, allowed = golden.astype(np.float64), np.full(3, 0.1)
    got = np.array([1.0, 2.5, 3.0], "float32")
    for limit, wrong in ((0.5, 0), (np.nextafter(0.5, 0), 1), (np.nextafter(0.5, 1), 0)):
        allowed[1] = limit
        plain = compare_plain(got, golden, value, allowed, 1.0)
        assert plain is not None
        assert plain.wrong == wrong
        assert plain == find_figures(got, golden, value, allowed, 1.0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["got", "golden", "value", "allowed"])
def test_what_is_not_finite_is_left_to_the_comparison_of_any_numbers(dtype, special, where):
    got, golden, value, allowed = make_chunk(dtype, 1, 1e-3, 1e-2)
    {"got": got, "golden": golden, "value": value, "allowed": allowed}[where][7] = special
    assert compare_plain(got, golden, value, allowed, 1.0) is None


@pytest.mark.parametrize("allowed", [0.0, 5e-324, 1e-310])
def test_what_must_agree_exactly_is_counted_where_it_does_not(allowed):
    golden = np.array([1.0, -0.0, 3.0, -4.0], "float32")
    value, limits = golden.astype(np.float64), np.full(4, allowed)
    for got, wrong in ((golden, 0), (golden + np.float32(0.5), 4), (golden + np.array([0, 0, 1, 0], "float32"), 1)):
        plain = compare_plain(got, golden, value, limits, 1.0)
        assert plain is not None
        assert plain.wrong == wrong
        assert plain == find_figures(got, golden, value, limits, 1.0)


def test_a_limit_below_zero_is_left_to_the_comparison_of_any_numbers():
    got, golden, value, limits = make_chunk("float32", 1, 1e-3, 1e-2)
    limits[3] = -1.0
    assert compare_plain(got, golden, value, limits, 1.0) is None


@pytest.mark.parametrize("dtype", TYPES)
def test_signs_that_differ_are_left_to_the_comparison_of_any_numbers_where_they_count(dtype):
    got, golden, value, allowed = make_chunk(dtype, 1, 0.0, 10.0)
    place = int(np.abs(golden).argmax())
    got[place] = -golden[place]
    assert compare_plain(got, golden, value, allowed, 1.0) is None
    huge = 2 * float(np.abs(golden[place]))
    assert compare_plain(got, golden, value, allowed, huge) == find_figures(got, golden, value, allowed, huge)


@pytest.mark.parametrize("dtype", TYPES)
def test_results_of_several_chunks_compare_as_without_plain_ones(dtype, monkeypatch):
    random = np.random.default_rng(3)
    value = random.standard_normal(2 * STEP + 5)
    got = (value + 1e-4 * random.standard_normal(value.size)).astype(dtype)
    got[STEP + 3] = value[STEP + 3] + 0.5
    got[5] = np.nan
    expected = Expected(value.astype(dtype), value, np.full(value.size, 1e-2, "float32"))
    plain = compare(got, expected)
    monkeypatch.setattr(comparison, "compare_plain", lambda *_: None)
    assert repr(plain) == repr(compare(got, expected))
    assert plain.worst == (5,)
    assert plain.wrong == 2
