"""Whole numbers that rounding chooses, as the floor of a coordinate: either side is right, and nothing else is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.script import relax as R
from tvm.script import tirx as T

from adreno_sim import check
from adreno_sim.compiler.check import prepare
from adreno_sim.findings import Kind
from adreno_sim.golden.kernel_reference import KernelReference
from adreno_sim.golden.truth.bound import expect
from adreno_sim.golden.truth.kernels import KernelTruth
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.comparison import compare

UNITS = Units(flushes=False)
SIZES = {"3": ((4, 5), (12, 15)), "5": ((3, 4), (15, 20)), "3/5": ((10, 15), (6, 9)), "1/2": ((8, 6), (4, 3))}
COORDINATES = ("half_pixel", "align_corners", "asymmetric")


def resize(method, coordinates, sizes, dtype, rounding="round"):
    """A module of one Resize of two channels."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 2, *sizes[0]), dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            modes = {"method": method, "coordinate_transformation_mode": coordinates, "rounding_method": rounding}
            result = builder.emit_output(relax.op.image.resize2d(x, sizes[1], layout="NCHW", **modes))
        builder.emit_func_output(result)
    return builder.get()


def judge(function, x, shape):
    """The truth of a PrimFunc of one input, and what TVM's llvm target makes of it."""
    module = IRModule({"f": function.with_attr("global_symbol", "f")})
    args = [x, np.zeros(shape, x.dtype)]
    truth = KernelTruth(module).run("f", args, UNITS)[-1]
    return truth, KernelReference(module).run("f", args)[-1]


def judge_resize(method, coordinates, sizes, dtype, rounding="round"):
    module = relax.transform.LegalizeOps()(resize(method, coordinates, sizes, dtype, rounding))
    x = np.random.default_rng(1).standard_normal((1, 2, *sizes[0])).astype(dtype)
    return x, *judge(module["resize2d"], x, (1, 2, *sizes[1]))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("scale", SIZES)
@pytest.mark.parametrize("method", ["linear", pytest.param("cubic", marks=pytest.mark.slow)])
def test_every_element_of_a_resize_is_known_and_a_neighbour_is_wrong(method, scale, dtype):
    for coordinates in COORDINATES if method == "cubic" else COORDINATES[:1]:
        _, truth, native = judge_resize(method, coordinates, SIZES[scale], dtype)
        expected = expect(truth, dtype, UNITS)
        result = compare(native, expected)
        assert result.ok, (coordinates, result)
        assert not result.uninformative, (coordinates, result)
        assert truth.sigma.max() < (3e-5 if dtype == "float32" else 2e-3)
        for defect in (np.roll(native, 1, -1), np.roll(native, 1, -2), native * native.dtype.type(1.01)):
            assert compare(defect, expected).wrong > 0.9 * np.count_nonzero(defect != native)


def test_a_cubic_resize_by_three_is_known():
    _, truth, native = judge_resize("cubic", "half_pixel", SIZES["3"], "float32")
    result = compare(native, expect(truth, "float32", UNITS))
    assert result.ok
    assert not result.uninformative
    assert truth.sigma.max() < 3e-5


def test_either_neighbour_is_right_where_rounding_decides_and_a_third_is_not():
    """Nearest of 2 to 3: the middle lies between both."""
    x, truth, native = judge_resize("nearest_neighbor", "half_pixel", ((2, 2), (3, 3)), "float32")
    assert compare(native, expect(truth, "float32", UNITS)).ok
    either = native.copy()
    either[..., 1, 1] = x[..., 0, 0] + x[..., 1, 1] - native[..., 1, 1]
    assert np.isfinite(truth.sigma).all()
    assert compare(either, expect(truth, "float32", UNITS)).ok
    other = native.copy()
    other[..., 0, 0] = x[..., 0, 1]
    assert compare(other, expect(truth, "float32", UNITS)).wrong == 2


def test_coordinates_that_are_exact_are_decided():
    """Every second element, and a half that is rounded to even: as TVM's targets do."""
    for coordinates, sizes in (("asymmetric", ((4, 4), (8, 8))), ("half_pixel", ((8, 8), (4, 4)))):
        _, truth, native = judge_resize("nearest_neighbor", coordinates, sizes, "float32")
        assert truth.sigma.max() == 0
        assert np.array_equal(truth.value, native)


@T.prim_func(private=True, s_tir=True)
def outside(x: T.Buffer((3,), "float32"), y: T.Buffer((9,), "float32")):
    """A third of the index itself, which rounding may take below the first element."""
    for i in T.serial(9):
        with T.sblock("y"):
            v = T.axis.spatial(9, i)
            y[v] = x[T.Cast("int32", T.floor(T.Cast("float32", v) * T.float32(0.33333334)))]


@T.prim_func(private=True, s_tir=True)
def wide(x: T.Buffer((32,), "float16"), y: T.Buffer((32,), "float16")):
    """Coordinates in halves that are off by several places."""
    for i in T.serial(32):
        with T.sblock("y"):
            v = T.axis.spatial(32, i)
            y[v] = x[
                T.max(
                    T.min(
                        T.Cast("int32", T.floor((T.Cast("float16", v) * T.float16(0.3333) + T.float16(2000)) - T.float16(2000))),
                        31,
                    ),
                    0,
                )
            ]


@T.prim_func(private=True, s_tir=True)
def gathered(x: T.Buffer((32,), "float32"), y: T.Buffer((32,), "float32")):
    """The place of an element is computed from a tensor."""
    for i in T.serial(32):
        with T.sblock("y"):
            v = T.axis.spatial(32, i)
            y[v] = x[T.max(T.min(T.Cast("int32", x[v] * T.float32(0.1)), 31), 0)]


def test_a_choice_that_leaves_the_tensor_is_none():
    truth, native = judge(outside, np.arange(3, dtype=np.float32) ** 2, (9,))
    assert compare(native, expect(truth, "float32", UNITS)).ok
    assert np.isfinite(truth.sigma).all()


def test_of_more_than_two_places_nothing_is_known():
    x = np.random.default_rng(2).standard_normal(32).astype(np.float16)
    truth, _ = judge(wide, x, (32,))
    assert np.isinf(truth.sigma[1:]).all()


def test_places_that_tensors_hold_are_chosen_too():
    x = np.arange(32, dtype=np.float32) * 10
    truth, native = judge(gathered, x, (32,))
    assert np.isfinite(truth.sigma).all()
    assert compare(native, expect(truth, "float32", UNITS)).ok


DEFECTS = {
    "clean": ("", ""),
    "a weight": ("(1.000000e+00f - ", "(1.010000e+00f - "),
    "a cell": ("convert_long(floor(", "1 + convert_long(floor("),
}


QUICK = {("clean", "texture", "float16"), ("a cell", "buffer", "float32")}


@pytest.mark.share()
@pytest.mark.parametrize(
    ("defect", "target", "dtype"),
    [
        pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow)
        for case in itertools.product(DEFECTS, ("texture", "buffer"), ("float32", "float16"))
    ],
)
def test_a_resize_by_three_is_judged(defect, dtype, target, monkeypatch):
    extract = prepare.extract_model

    def spoil(lowered, model):
        compiled = extract(lowered, model)
        for name, code in compiled.kernels.items():
            assert DEFECTS[defect][0] in code.source
            compiled.kernels[name] = type(code)(**vars(code) | {"source": code.source.replace(*DEFECTS[defect], 1)})
        return compiled

    if defect != "clean":
        monkeypatch.setattr(prepare, "extract_model", spoil)
    report = check(resize("linear", "half_pixel", ((6, 6), (10, 18)), dtype), target=target)
    found = {finding.kind for finding in report.findings}
    assert found == (set() if defect == "clean" else {Kind.WRONG_VALUE})
    assert report.checked == report.kernels_in_model
