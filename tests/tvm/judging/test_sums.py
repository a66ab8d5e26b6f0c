"""References of sums tile by tile, and of chains of elements: they say what the same loops say one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import te, topi

from adreno_sim.golden.truth import program
from adreno_sim.golden.truth.compiled import CompiledTruths
from adreno_sim.golden.truth.given import as_device_takes
from adreno_sim.golden.truth.nests import groups
from adreno_sim.golden.truth.program import write_program
from adreno_sim.golden.truth.run import Truth, run_program
from adreno_sim.golden.truth.truth_program import TruthProgram
from adreno_sim.golden.truth.units import WIDE, Units

pytestmark = pytest.mark.tvm

Tensors = list[Any]


def placeholders(*shapes: tuple[int, ...], dtype: str = "float32") -> Tensors:
    return [te.placeholder(shape, dtype, f"p{number}") for number, shape in enumerate(shapes)]


def product(rows: int, columns: int, terms: int, transposed: bool = False) -> Tensors:
    x, w = placeholders((rows, terms), (columns, terms) if transposed else (terms, columns))
    k = te.reduce_axis((0, terms), "k")
    return [x, w, te.compute((rows, columns), lambda i, j: te.sum(x[i, k] * (w[j, k] if transposed else w[k, j]), axis=k), "y")]


def convolution(stride: int) -> Tensors:
    x, w = placeholders((1, 3, 19, 19), (6, 3, 3, 3))
    return [x, w, topi.nn.conv2d_nchw(x, w, stride, 1, 1, "float32")]


def depthwise() -> Tensors:
    x, w = placeholders((1, 5, 12, 12), (5, 1, 3, 3))
    return [x, w, topi.nn.depthwise_conv2d_nchw(x, w, 1, 1, 1, "float32")]


def blocked() -> Tensors:
    """A convolution over images of four channels a texel."""
    x, w = placeholders((1, 2, 9, 9, 4), (3, 8, 3, 3, 4))
    c, ky, kx = te.reduce_axis((0, 8), "c"), te.reduce_axis((0, 3), "ky"), te.reduce_axis((0, 3), "kx")

    def element(n: Any, o: Any, y: Any, z: Any, b: Any) -> Any:
        return te.sum(x[n, c // 4, y + ky, z + kx, c % 4] * w[o, c, ky, kx, b], axis=[c, ky, kx])

    return [x, w, te.compute((1, 3, 7, 7, 4), element, "y")]


def total() -> Tensors:
    (x,) = placeholders((9, 5, 7))
    k, m = te.reduce_axis((0, 5), "k"), te.reduce_axis((0, 7), "m")
    return [x, te.compute((9,), lambda i: te.sum(x[i, k, m], axis=[k, m]), "y")]


def difference() -> Tensors:
    x, w = placeholders((6, 11), (11,))
    k = te.reduce_axis((0, 11), "k")
    return [x, w, te.compute((6,), lambda i: te.sum(x[i, k] - w[k], axis=k), "y")]


SUMS: dict[str, Callable[[], Tensors]] = {
    "product": lambda: product(9, 13, 17), "vector": lambda: product(1, 30, 8), "column": lambda: product(30, 1, 8),
    "transposed": lambda: product(5, 6, 40, transposed=True), "convolution": lambda: convolution(1),
    "strided": lambda: convolution(2), "depthwise": depthwise, "blocked": blocked, "total": total, "difference": difference,
}  # fmt: skip

NOT_TILED: dict[str, Callable[[], Tensors]] = {
    "small": lambda: product(3, 3, 8),
    "halves": lambda: [*(p := placeholders((8, 8), (8, 8), dtype="float16")), topi.nn.matmul(*p)],
    "three factors": lambda: cubes(),
    "rounded factors": lambda: [*(p := placeholders((8, 8), (8, 8))), topi.nn.matmul(topi.exp(p[0]), p[1])],
}


def cubes() -> Tensors:
    (x,) = placeholders((8, 8))
    k = te.reduce_axis((0, 8), "k")
    return [x, te.compute((8,), lambda i: te.sum(x[i, k] * x[i, k] * x[i, k], axis=k), "y")]


def write(tensors: Tensors, given: tuple[int, ...] = ()) -> TruthProgram:
    return write_program("truth", te.create_prim_func(tensors), given)


def is_tiled(written: TruthProgram) -> bool:
    return "lanes_t sum[" in written.text


def run(written: TruthProgram, args: list[np.ndarray], units: Units) -> list[Truth | None]:
    compiled = CompiledTruths([written])  # its code lives as long as it
    return run_program(written, compiled.functions["truth"], [as_device_takes(arg, units) for arg in args], units)


def assert_same(found: Truth | None, expected: Truth | None) -> None:
    """The same up to the order of sums of doubles."""
    assert found is not None
    assert expected is not None
    size = np.nanmax(np.abs(expected.value[np.isfinite(expected.value)]), initial=0)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-13, atol=1e-14 * size)
    assert (found.sigma is None) == (expected.sigma is None)
    if found.sigma is not None:
        assert expected.sigma is not None
        np.testing.assert_array_equal(found.sigma == 0, expected.sigma == 0)
        np.testing.assert_allclose(found.sigma, expected.sigma, rtol=3e-7, atol=0)


def draw(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal(shape).astype("float32")
    some = rng.random(shape)
    if kind == "zeros":
        values[some < 0.7] = 0
    elif kind == "nothing":
        values[:] = 0
    elif kind == "tiny":
        values *= np.float32(1e-19)
    elif kind == "apart":
        values *= (10.0 ** rng.integers(-18, 18, shape)).astype("float32")
    elif kind == "huge":
        values *= np.float32(1e19)
    elif kind == "special":
        values[some < 0.05] = np.nan
        values[some > 0.95] = np.inf
    return values


@pytest.fixture
def step_by_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[Tensors], TruthProgram]:
    def write_steps(tensors: Tensors) -> TruthProgram:
        with monkeypatch.context() as patched:
            patched.setattr(program, "find_sum", lambda *args: None)
            patched.setattr(groups, "find_chains", lambda *args: [])
            return write(tensors)

    return write_steps


@pytest.mark.parametrize("name", SUMS)
def test_a_tile_says_what_its_steps_say(name: str, step_by_step: Callable[[Tensors], TruthProgram]) -> None:
    tensors = SUMS[name]()
    tiled, steps = write(tensors), step_by_step(tensors)
    assert is_tiled(tiled)
    assert not is_tiled(steps)
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in tensors]
    for number, kind in enumerate(("normal", "zeros", "nothing", "tiny", "apart", "huge", "special")):
        rng = np.random.default_rng(number)
        args = [draw(kind, shape, rng) for shape in shapes[:-1]] + [np.zeros(shapes[-1], "float32")]
        for units in (Units(), Units(flushes=False), Units(WIDE, False, WIDE)):
            with np.errstate(all="ignore"):
                assert_same(run(tiled, args, units)[-1], run(steps, args, units)[-1])


@pytest.mark.parametrize("name", NOT_TILED)
def test_what_is_not_a_sum_of_exact_floats_is_added_up_step_by_step(name: str) -> None:
    assert not is_tiled(write(NOT_TILED[name]()))


def test_a_sum_whose_terms_are_not_exact_is_added_up_step_by_step() -> None:
    assert not is_tiled(write(product(8, 8, 8), given=(0,)))


def activation(dtype: str) -> Tensors:
    """A scale, a bias and an activation after a sum."""
    x, scale, bias = placeholders((4, 6, 5), (5,), (6, 1), dtype=dtype)
    k = te.reduce_axis((0, 6), "k")
    y = te.compute((4, 6, 5), lambda n, i, j: te.sum(x[n, k, j], axis=k), "s")
    y = topi.nn.relu(topi.add(topi.multiply(y, scale), bias))
    return [x, scale, bias, topi.divide(y, topi.add(topi.abs(scale), topi.full_like(scale, 1.0)))]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_chain_says_what_its_statements_say(dtype: str, step_by_step: Callable[[Tensors], TruthProgram]) -> None:
    tensors = activation(dtype)
    chained, steps = write(tensors), step_by_step(tensors)
    assert chained.text.count("calloc") < steps.text.count("calloc")
    rng = np.random.default_rng(3)
    args = [rng.standard_normal([int(extent) for extent in tensor.shape]).astype(dtype) for tensor in tensors]
    found, expected = run(chained, args, Units())[-1], run(steps, args, Units())[-1]
    assert_same(found, expected)
    if dtype == "float16":
        assert found is not None
        assert expected is not None
        assert found.native is not None
        np.testing.assert_array_equal(found.native, expected.native)


def test_a_tensor_that_is_read_elsewhere_is_in_memory() -> None:
    """Each element of a mirrored tensor needs another one of the tensor before it."""
    (x,) = placeholders((8,))
    double = te.compute((8,), lambda i: x[i] * 2, "double")
    mirrored = te.compute((8,), lambda i: double[7 - i] + x[i], "mirrored")
    written = write([x, mirrored])
    assert written.text.count("= calloc(8LL") == 2  # values and variances
    args = [np.arange(8, dtype="float32"), np.zeros(8, "float32")]
    found = run(written, args, Units())[-1]
    assert found is not None
    np.testing.assert_array_equal(found.value, 2.0 * args[0][::-1] + args[0])


def test_a_result_of_a_chain_that_others_read_is_in_memory() -> None:
    (x,) = placeholders((8,))
    double = te.compute((8,), lambda i: x[i] * 2, "double")
    more = te.compute((8,), lambda i: double[i] + 1, "more")
    written = write([x, double, more])
    found = run(written, [np.arange(8, dtype="float32") for _ in range(3)], Units())
    assert found[1] is not None
    assert found[2] is not None
    np.testing.assert_array_equal(found[1].value, 2.0 * np.arange(8))
    np.testing.assert_array_equal(found[2].value, 2.0 * np.arange(8) + 1)
