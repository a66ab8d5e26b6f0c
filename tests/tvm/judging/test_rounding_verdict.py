"""Results that are further off than expected: by rounding, which wider types mend, or by a defect, which they do not."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import relax_models
from tvm import relax
from tvm.script import relax as R

sys.path.insert(0, str(Path(__file__).parents[3] / "ci" / "bench"))

from power import linear, rows
from power.bench import Bench, Planted, make_model, make_references, open_devices
from power.campaign import choose_problems, run_campaign
from power.inputs import ALTERNATING
from power.problem import Defect
from power.tally import tally_runs

import adreno_sim
from adreno_sim.compiler.check.outputs import Circumstances, compare_outputs, judge_outputs
from adreno_sim.compiler.check.wide_functions import define_functions
from adreno_sim.compiler.check.wide_precision_rerun import WidePrecisionRerun
from adreno_sim.compiler.check.wide_text import BitsMatter, Width, widen_floats, widen_model
from adreno_sim.compiler.run.values import allocate_tensor
from adreno_sim.compiler.run.vm import VirtualMachine
from adreno_sim.compiler.tvm_bridge.versions import tvm_series
from adreno_sim.findings import Kind
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.expected import Expected

OPENED = []


def bench_of(problem):
    device, twin_device = open_devices()
    bench = Bench(problem, make_references([problem], Units.of_device(device.info)), device, twin_device)
    OPENED.append(bench)
    return bench


@pytest.fixture(autouse=True)
def close_benches():
    yield
    while OPENED:
        OPENED.pop().close()


def messages(bench, kind):
    return [finding.message for finding in bench._observer.found.findings.as_list() if finding.kind is kind]


def alternating(dtype, shape=(64, 1024), size=4.0):
    signs = np.where(np.arange(shape[-1]) % 2, -size, size)
    return (np.random.default_rng(0).standard_normal(shape) + signs).astype(dtype)


@pytest.mark.slow
def test_no_right_kernel_is_blamed_where_signs_take_turns():
    problems = [problem for problem in choose_problems(quick=False, only="") if problem.terms in (1024, 1026)]
    tally = tally_runs(run_campaign(problems, repeats=1, seed=0, say=lambda text: None, signs=(ALTERNATING,)))
    assert tally.runs > 50, tally.alarms
    assert not tally.alarms, tally.alarms
    assert tally.rounding > 10, "these inputs do what they are for"
    assert tally.total.detectable > 40, tally.misses
    assert not tally.misses, tally.misses


@pytest.mark.parametrize("order", ["split", "tree"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_an_order_that_rounds_more_is_a_warning_and_a_defect_in_it_an_error(dtype, order):
    bench = bench_of(rows.make_sum(1024, dtype, order))
    right = bench.judge([alternating(dtype)], Planted())
    assert right.rounding
    assert not right.found
    (message,) = messages(bench, Kind.LARGE_ROUNDING)
    assert "its order of operations rounds more than its PrimFunc's" in message
    assert " was expected" in message
    assert "Evaluated in float64 it is right" in message
    assert not messages(bench, Kind.WRONG_VALUE)
    (row,) = bench._observer.finish()
    assert row.status == "ok"
    assert row.warnings == 1
    wrong = bench.judge([alternating(dtype)], Planted(Defect.DROPPED_TERM, at=7))
    assert wrong.by_bound
    assert not wrong.rounding
    (message,) = messages(bench, Kind.WRONG_VALUE)
    assert "still wrong in float64: not a rounding error" in message


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_term_of_a_long_sum_of_positive_numbers_is_missed(dtype):
    """A small one of 16,384, in a kernel whose own error is far below that of its PrimFunc's order."""
    bench = bench_of(linear.make_gemv(16384, dtype, "tree"))
    rng = np.random.default_rng(0)
    x, w, bias = (np.abs(rng.standard_normal(shape)) for shape in ((1, 16384), (64, 16384), (64,)))
    x[0, 5] = 0.01
    given = [array.astype(dtype) for array in (x, w / 128, bias)]
    right, wrong = bench.judge(given, Planted()), bench.judge(given, Planted(Defect.DROPPED_TERM, at=5, where=3))
    assert not right.found
    assert not right.rounding
    assert not right.no_rerun
    assert wrong.by_rerun
    assert not wrong.by_bound


def test_halves_that_have_no_rerun_in_doubles_have_one_in_floats():
    """It drifts as the halves do; a term of 0.2, which halves hide, is seen."""
    problem = rows.make_sum(1024, "float16", "split")
    bench = bench_of(replace(problem, body=f"  int bits = as_int(at);\n{problem.body}"))
    x = alternating("float16", size=2.0)
    x[:, 9] = 0.2
    right, wrong = bench.judge([x], Planted()), bench.judge([x], Planted(Defect.DROPPED_TERM, at=9))
    assert not right.found
    assert not right.no_rerun
    assert wrong.by_rerun or wrong.by_bound
    widths = {message.partition("Evaluated in ")[2].partition(" it")[0] for message in messages(bench, Kind.LARGE_ROUNDING)}
    assert widths <= {"float32"}
    assert [str(width) for width in bench._rerun._widths[problem.name]] == ["float32"]


def test_what_a_driver_alone_computes_wrongly_is_no_rounding():
    """The device drops a term; the simulator, from the same text, does not."""
    problem = rows.make_sum(1024, "float32", "split")
    bench = bench_of(problem)
    right = problem.source.replace("(kind == defect &&", "(0 * kind == 1 &&")
    assert right != problem.source
    model = bench._rerun.model
    bench._rerun.model = replace(model, kernels={problem.name: replace(model.kernels[problem.name], source=right)})
    wrong = bench.judge([alternating("float32")], Planted(Defect.DROPPED_TERM, at=7))
    assert wrong.by_bound
    assert not wrong.rounding
    (message,) = messages(bench, Kind.WRONG_VALUE)
    assert "right in float64, but in its own types" in message
    assert bench.judge([alternating("float32")], Planted()).rounding


def test_floats_that_pass_through_halves_are_wrong_however_they_shrink():
    problem = rows.make_sum(1024, "float32", "split")
    bench = bench_of(replace(problem, body=problem.body.replace(": x[t])", ": (float)(half)x[t])")))
    assert bench.judge([alternating("float32")], Planted()).by_bound


def test_an_overflow_is_no_rounding():
    """Parts of 128 terms of 900 overflow in halves; the PrimFunc's sum stays near zero."""
    x = alternating("float16", size=900)
    assert bench_of(rows.make_sum(1024, "float16", "split")).judge([x], Planted()).by_bound
    sequential = bench_of(rows.make_sum(1024, "float16", "sequential")).judge([x], Planted())
    assert not sequential.found
    assert not sequential.rounding


@pytest.mark.parametrize(("printed", "right"), [("2.040816e-02f", True), ("0.020408163f", True), ("2.040836e-02f", False)])
def test_a_constant_may_lack_the_digits_that_were_not_printed(printed, right):
    """Means over 49 numbers by a product with 1/49; a wrong fifth digit is wrong."""
    problem = rows.make_mean(49, "float32", "sequential")
    bench = bench_of(replace(problem, body=problem.body.replace("s / (float)49", f"s * {printed}")))
    judged = bench.judge([np.random.default_rng(0).uniform(1, 2, (64, 49)).astype("float32")], Planted())
    assert judged.found != right
    assert not judged.rounding
    assert not judged.no_rerun


@pytest.mark.parametrize(
    "text",
    [
        "int bits = as_int(x[i]);", "y[i] = as_uint4(v).x;", "atomic_cmpxchg((volatile global uint*)(y + i), a, b);",
        "y[i] = vload_half(i, h);", "global int *p = (global int *)x;", "union { float f; uint u; } v;",
        "y[i] = native_exp(x[i]);", "double z = x[i];", "atomic_float total;",
    ],
)  # fmt: skip
def test_what_takes_the_bits_of_floats_has_no_wider_rerun(text):
    with pytest.raises(BitsMatter):
        widen_floats(f"kernel void k(global float *x, global float *y) {{ int i = get_global_id(0); {text} }}")


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("y[i] = x[i] * 0.1f;", "y[i] = x[i] * 0.10000000149011612;"), ("float4 v = as_float4(vload4(i, x));", "as_double4("),
        ("atomic_add(counts + i, 1);", "atomic_add(counts + i, 1);"), ("y[i] = (x[i] + 49.0f) / 2;", "+ 49.0) / 2;"),
        ("y[i] = convert_float_rte(counts[i]) * 1e-5f;", "convert_double_rte(counts[i]) * 9.999999747378752e-06;"),
        ("uchar c = (uchar)counts[0x1f];", "(uchar)counts[0x1f];"), ("int n = 15; v.s1 = w.s15;", "int n = 15; v.s1 = w.s15;"),
    ],
)  # fmt: skip
def test_other_text_is_read_as_that_of_doubles(text, wide):
    kernel = f"kernel void k(global float *x, global float *y, global int *counts) {{ {text} }}"
    assert wide in widen_floats(kernel)
    assert "global double *y" in widen_floats(kernel)


def test_constants_of_many_digits_alone_are_nudged():
    def constants(nudge):
        text = widen_floats("y = 0.5f * x + 1.234567e-02f * z + 4.096000e+03f + 7.654321e-03f;", nudge)
        return [float(word) for word in text.splitlines()[-1].rstrip(";").split() if word[0].isdigit()]

    written = [0.5, float(np.float32(1.234567e-2)), 4096.0, float(np.float32(7.654321e-3))]
    assert constants(nudge=False) == written
    moved = np.array(constants(nudge=True)) - written
    assert np.abs(moved) == pytest.approx([0, 5e-9, 0, 5e-10])


def reduction(dtype, shape):
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(shape, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.sum(x, -1)))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_model_whose_sums_are_taken_in_parts_is_right(dtype, adreno):
    """TVM sums a row by the work-items of a group, its PrimFunc one term after another."""
    report = adreno_sim.check(reduction(dtype, (64, 4096)), [alternating(dtype, (64, 4096))], device=adreno, target="buffer")
    assert report.ok, str(report)
    assert {finding.kind for finding in report.findings} == {Kind.LARGE_ROUNDING}
    assert {kernel.status for kernel in report.kernels} == {"ok"}


def test_outputs_behind_large_rounding_are_warned_of():
    """Where a kernel is wrong, or none rounds more than expected, they are wrong."""
    got, golden = [np.array([1.0, 2.0], "float32")], [np.array([1.1, 2.0], "float32")]
    for agree, rounding, kind in (
        (True, ["k"], Kind.LARGE_ROUNDING),
        (True, [], Kind.WRONG_VALUE),
        (False, ["k"], Kind.WRONG_VALUE),
    ):
        _, (finding,) = compare_outputs("TVM llvm", ["y"], got, golden, Circumstances(agree, rounding=rounding))
        assert finding.kind is kind
        assert ("large in k" in finding.message) == (kind is Kind.LARGE_ROUNDING)


FUNCTIONS = {
    "exp(x)": (np.exp, 2.0**-40),
    "tanh(x)": (np.tanh, 2.0**-40),
    "rsqrt(x * x + 1)": (lambda x: 1 / np.sqrt(x * x + 1), 2.0**-40),
    "exp((float4)(x)).s2 + dot((float2)(x), (float2)(1))": (lambda x: np.exp(x) + 2 * x, 2.0**-40),
    "select((float2)(x), (float2)(1), (int2)(-1, 0)).s1 + select(0.0f, x, x > 0)": (lambda x: x + np.maximum(x, 0), 2.0**-40),
    "erf(x)": (np.vectorize(math.erf), 2.0**-22), "pow(fabs(x), 1.5f)": (lambda x: np.abs(x) ** 1.5, 2.0**-22),
}  # fmt: skip


@pytest.mark.parametrize("text", FUNCTIONS)
def test_doubles_of_functions_that_the_simulator_has_for_floats_alone(text):
    """Some as right as the judge of doubles needs, others as right as floats, which the judge is told."""
    function, most = FUNCTIONS[text]
    assert define_functions(text)[1] == (most < 2.0**-32)
    problem = rows.make_sum(16, "float32", "sequential")
    body = f"int i = get_global_id(0); float x = X[i]; Y[i] = {text};"
    problem = replace(problem, inputs=(replace(problem.inputs[0], shape=(64,)),), body=body, groups=64, items=1)
    x = np.concatenate([np.linspace(-20, 20, 50), np.geomspace(1e-4, 0.1, 14)]).astype("float32")
    model, (_, device) = make_model(problem), open_devices()
    wide = Width(halves=False, doubles=True)
    with VirtualMachine(widen_model(model, problem.name, wide)[0], device) as machine:
        tensors = [allocate_tensor(device, (64,), "float64", "global", name) for name in "XY"]
        tensors[0].write(x.astype("float64"))
        machine.call_host(machine.model.host_functions[problem.name], [*tensors, 0, 0, 0, 0], 0)
        got = tensors[1].read()
        for tensor in tensors:
            tensor.release()
    np.testing.assert_allclose(got, function(x.astype("float64")), rtol=most, atol=1e-300)


def test_texels_stay_floats_and_what_is_computed_of_them_does_not(adreno, monkeypatch):
    """Textures of either type: every kernel has a rerun in doubles, which is right."""
    asked = []
    judge = WidePrecisionRerun.judge

    def watch(rerun, call, before, golden, wrong=()):
        told = judge(rerun, call, before, golden, wrong)
        asked.append((rerun.describe(call), bool(told) and all(result.ok for result in told.values())))
        return told

    monkeypatch.setattr(WidePrecisionRerun, "judge", watch)
    monkeypatch.setattr(WidePrecisionRerun, "is_due", lambda rerun, call: rerun.can_judge(call))
    for dtype in ("float32", "float16"):
        asked.clear()
        report = adreno_sim.check(relax_models.convolutions(), device=adreno, target="texture", dtype=dtype)
        assert report.ok, asked
        assert {what for what, _ in asked} == {"float64"}, asked
        assert asked
        assert all(right for _, right in asked)
        assert not any("low power" in line for line in report.unchecked)


@pytest.mark.skipif(tvm_series() == "0.25", reason="its texture stores are right")
def test_a_store_to_the_wrong_texel_is_wrong_in_doubles_too(adreno):
    module = relax_models.convolutions()
    report = adreno_sim.check(module, device=adreno, target="texture", without_fix=["texture-store"])
    assert report.first_wrong is not None
    assert "still wrong in float64: not a rounding error" in report.first_wrong.message


def cancelling(rows=64, terms=4096):
    """Rows of numbers around 100 in size, whose sums are around 1: floats are off by more than 1e-3 of that."""
    rng = np.random.default_rng(0)
    x = 100 * rng.standard_normal((rows, terms))
    x[:, -1] -= x.sum(1) - rng.standard_normal(rows)
    return x.astype("float32")


def test_outputs_of_floats_that_cancel_are_warned_of_and_others_are_not(adreno):
    report = adreno_sim.check(reduction("float32", (64, 4096)), [cancelling()], device=adreno, target="buffer")
    assert report.ok, str(report)
    (finding,) = (f for f in report.findings if not f.kernel)
    assert finding.kind is Kind.LARGE_ROUNDING
    assert "no more than rounding may take it there" in finding.message
    assert {row.reference for row in report.outputs} == {"float64", "TVM llvm"}
    usual = adreno_sim.check(reduction("float32", (64, 4096)), device=adreno, target="buffer")
    assert {row.reference for row in usual.outputs} == {"TVM llvm"}, "nothing else is computed where nothing seems wrong"


def test_an_appeal_acquits_no_output_that_rounding_cannot_explain():
    got, golden = [np.array([1.1, 2.0], "float32")], {"TVM llvm": [np.array([1.0, 2.0], "float32")]}
    asked = []

    def truth(allowed):
        asked.append(allowed)
        return {"TVM llvm": [Expected(np.float32([1, 2]), np.float64([1, 2]), np.full(2, allowed))]}

    def kinds(allowed, agree=True):
        known = Circumstances(agree)
        reports, findings = judge_outputs(golden, ["y"], got, known, truth=(lambda: truth(allowed)) if agree else None)
        return [row.ok for row in reports], [finding.kind for finding in findings]

    assert kinds(0.2) == ([True], [Kind.LARGE_ROUNDING])
    assert kinds(0.05) == ([False], [Kind.WRONG_VALUE])
    assert kinds(0.2, agree=False) == ([False], [Kind.WRONG_VALUE]), "a wrong kernel explains it"
    assert asked == [0.2, 0.05], "a wrong kernel explains it"


@pytest.mark.parametrize(("second", "ok"), [(2.001, True), (2.1, False)])
def test_an_appeal_is_no_stricter_than_the_type(second, ok):
    """One element needs the truth; another is further from it than rounding explains, and as near as its type asks."""
    known = Expected(np.float32([1, 2]), np.float64([1, 2]), np.array([0.2, 1e-6]))
    golden, got = {"TVM llvm": [np.float32([1, 2])]}, [np.float32([1.1, second])]
    reports, findings = judge_outputs(golden, ["y"], got, Circumstances(True), truth=lambda: {"TVM llvm": [known]})
    assert [row.ok for row in reports] == [ok]
    assert [finding.kind for finding in findings] == [Kind.LARGE_ROUNDING if ok else Kind.WRONG_VALUE]
