"""The judge of kernels, on a model made by hand and kernels with known defects; the reference is NumPy."""

import dataclasses

import numpy as np
import pytest

from adreno_sim import AdrenoSimError, open_device
from adreno_sim.base.errors import BuildError
from adreno_sim.base.progress import Progress
from adreno_sim.compiler.artifact.host_function import BufferParam, BufferRef, Const, HostFunction, Launch
from adreno_sim.compiler.artifact.model import CompiledModel, KernelCode, KernelParamInfo, TensorInfo
from adreno_sim.compiler.artifact.vm_function import AllocStorage, AllocTensor, CallHost, Reg, Return, ShapeLiteral, VMFunction
from adreno_sim.compiler.check.check import check
from adreno_sim.compiler.check.golden import LiveGolden
from adreno_sim.compiler.check.judging.judges import Judges
from adreno_sim.compiler.check.judging.observer import FirstWrong, KernelObserver
from adreno_sim.compiler.run.vm import run
from adreno_sim.findings import Kind
from adreno_sim.results.expected import Expected

N = 64

RIGHT = "kernel void twice(global const float* x, global float* y) {\n  int i = get_global_id(0);\n  y[i] = 2 * x[i];\n}\n"
WRONG_ONCE = """kernel void twice(global const float* x, global float* y) {
  int i = get_global_id(0);
  y[i] = x[i];
  if (i == 37)
    y[i] *= -30;
  else
    y[i] *= 2;
}
"""
ALL_SAME = RIGHT.replace("2 * x[i]", "3")
NAN_BORN = RIGHT.replace("2 * x[i]", "i == 5 ? x[i] / 0.0f - INFINITY : 2 * x[i]")
PAST_THE_END = RIGHT.replace("y[i] = 2 * x[i];", "y[i] = 2 * x[i]; if (i == 63) y[i + 1] = 0;")


def const(value):
    return Const(value, "int64")


def model(source, calls=1):
    """y = twice(x), `calls` times in a row."""
    dim = (const(N),)
    params = (BufferParam("x", dim, "float32", access="read"), BufferParam("y", dim, "float32", access="write"))
    launch = Launch("twice", (BufferRef("x"), BufferRef("y")), (const(4), const(1), const(1)), (const(16), const(1), const(1)))
    body = []
    for i in range(calls):
        body.append(AllocStorage(f"s{i}", ShapeLiteral((4 * N,)), "global", "float32"))
        body.append(AllocTensor(f"t{i}", f"s{i}", 0, ShapeLiteral((N,)), "float32", "global"))
        body.append(CallHost("twice_fn", (Reg(f"t{i - 1}" if i else "data"), Reg(f"t{i}"))))
    body.append(Return(Reg(f"t{calls - 1}")))
    declared = (KernelParamInfo("x", "buffer", "float32", "read"), KernelParamInfo("y", "buffer", "float32", "write"))
    return CompiledModel(
        name="twice",
        target="by hand",
        tvm_version="",
        pipeline="fixed",
        fixes=(),
        inputs=(TensorInfo("data", (N,), "float32"),),
        results=TensorInfo("out", (N,), "float32"),
        kernels={"twice": KernelCode("twice", source, declared)},
        host_functions={"twice_fn": HostFunction("twice_fn", params, (launch,), golden="twice_fn")},
        functions={"main": VMFunction("main", ("data",), tuple(body))},
        constants={},
    )


class Twice:
    """NumPy in the place of the unscheduled PrimFuncs."""

    def __init__(self, result=lambda x: 2 * x):
        self._result = result

    def __contains__(self, name):
        return name == "twice_fn"

    def expect(self, name, args):
        return [Expected(args[0]), Expected(self._result(args[0]))]


def observe(source, reference=None, keep_going=True, calls=1, data=None, device="sim:reference"):
    """The observer of a run on `data`, and its outputs."""
    compiled = model(source, calls)
    observer = KernelObserver(compiled, Judges(LiveGolden(reference or Twice())), keep_going=keep_going, progress=Progress())
    return observer, run(compiled, [data], open_device(device), observer)


def judge(source, reference=None, keep_going=True, calls=1, data=None):
    data = np.random.default_rng(0).standard_normal(N).astype("float32") if data is None else data
    observer, outputs = observe(source, reference, keep_going, calls, data)
    (row,) = observer.finish()
    return row, observer.found.findings.as_list(), outputs[0], data


def test_a_right_kernel_is_checked_and_silent():
    row, findings, got, data = judge(RIGHT, calls=3)
    assert (row.status, row.launches, row.compared, row.max_abs) == ("ok", 3, 3, 0.0)
    assert findings == []
    assert row.seconds > 0
    np.testing.assert_array_equal(got, 8 * data)


def test_a_wrong_value_is_replayed_with_every_store_that_touched_it():
    row, findings, got, data = judge(WRONG_ONCE)
    assert (row.status, row.wrong, row.worst_index, row.errors) == ("wrong", 1, (37,), 1)
    (finding,) = findings
    assert finding.kind is Kind.WRONG_VALUE
    assert finding.kernel == "twice"
    assert finding.line == 5
    stores = finding.detail["stores"]
    assert [(store["line"], store["global_id"][0], store["source"]) for store in stores] == [
        (3, 37, "y[i] = x[i];"),
        (5, 37, "y[i] *= -30;"),
    ]
    assert [store["value"] for store in stores] == pytest.approx([data[37], data[37] * -30], rel=1e-6)
    assert finding.detail["index"] == (37,)
    assert finding.detail["wrong"] == 1
    assert got[37] == pytest.approx(data[37] * -30), "the replay leaves the run as it was"


def test_the_first_wrong_value_ends_the_run_unless_told_to_go_on():
    with pytest.raises(FirstWrong, match=r"call 0 \(twice_fn\)"):
        judge(WRONG_ONCE, keep_going=False, calls=2)
    row, _, _, _ = judge(WRONG_ONCE, calls=2)
    assert row.launches == 2
    assert row.wrong == 2


def test_a_constant_result_counts_as_not_checked():
    row, findings, _, _ = judge(ALL_SAME, Twice(lambda x: np.full_like(x, 3)))
    assert row.status == "vacuous"
    assert row.wrong == 0
    assert [finding.kind for finding in findings] == [Kind.UNINFORMATIVE]


SAME_AS_FIRST = RIGHT.replace("x[i]", "x[0]")


def test_equal_inputs_are_judged_on_others_or_named():
    ones, roomy, full = np.ones(N, "float32"), "sim:reference", "sim:reference,GLOBAL_MEM_SIZE=8192"
    observer, _ = observe(SAME_AS_FIRST, data=ones, device=roomy)
    (finding,) = [f for f in observer.found.findings.as_list() if f.kind is Kind.WRONG_VALUE]
    assert "on scaled inputs" in finding.message
    assert not observer.found.unchecked
    observer, _ = observe(SAME_AS_FIRST, data=ones, device=full)
    assert not [f for f in observer.found.findings.as_list() if f.kind is Kind.WRONG_VALUE]
    (sentence,) = observer.found.unchecked
    assert sentence.startswith("twice_fn on inputs that can tell (what the run gave it in x is equal along axis 0): ")
    assert "CL_" in sentence
    assert "GLOBAL_MEM_SIZE" in sentence
    assert not observe(RIGHT, data=np.arange(N, dtype="float32"), device=full)[0].found.unchecked


def test_nan_born_in_a_kernel_is_told_from_nan_passed_on():
    row, findings, _, data = judge(NAN_BORN)
    assert Kind.NONFINITE_INTRODUCED in [finding.kind for finding in findings]
    assert row.status == "wrong"
    data = data.copy()
    data[3] = np.nan
    row, findings, _, _ = judge(RIGHT, data=data)
    assert Kind.NONFINITE_INTRODUCED not in [finding.kind for finding in findings]
    assert row.wrong == 0


def test_findings_of_launches_are_attributed_and_merged():
    row, findings, _, _ = judge(PAST_THE_END, calls=2)
    (finding,) = findings
    assert finding.kind is Kind.OUT_OF_BOUNDS_WRITE
    assert finding.kernel == "twice"
    assert finding.count == 2
    assert (finding.line, row.errors, row.status) == (3, 1, "ok")


def test_a_bundle_runs_and_says_that_its_values_are_unchecked(tmp_path):
    model(RIGHT).save(tmp_path / "twice.asim")
    report = check(tmp_path / "twice.asim", device="sim:reference")
    assert report.ok
    assert report.exit_code == 0
    assert report.kernels[0].status == "unchecked"
    assert report.verdict.startswith("ok, in part: 0 of 1 kernels checked")
    assert any(sentence.startswith("values:") for sentence in report.unchecked)
    model(PAST_THE_END).save(tmp_path / "bad.asim")
    report = check(tmp_path / "bad.asim", device="sim:reference")
    assert report.exit_code == 1
    assert report.findings[0].kind is Kind.OUT_OF_BOUNDS_WRITE


def test_errors_found_before_a_kernel_that_does_not_build_outrank_it(tmp_path):
    good, bad = model(PAST_THE_END, calls=2), KernelCode("broken", "kernel void broken(", model(RIGHT).kernels["twice"].params)
    launch = dataclasses.replace(good.host_functions["twice_fn"].body[0], kernel="broken")
    second = dataclasses.replace(good.host_functions["twice_fn"], name="broken_fn", body=(launch,))
    body = list(good.functions["main"].body)
    body[-2] = dataclasses.replace(body[-2], function="broken_fn")
    parts = {"kernels": {**good.kernels, "broken": bad}, "host_functions": {**good.host_functions, "broken_fn": second}}
    mixed = dataclasses.replace(good, functions={"main": VMFunction("main", ("data",), tuple(body))}, **parts)
    report = check(mixed, device="sim:reference")
    assert report.exit_code == 1
    assert "kernel broken" in report.stopped
    assert any("kernel broken" in sentence for sentence in report.unchecked)
    clean = dataclasses.replace(mixed, kernels={"twice": model(RIGHT).kernels["twice"], "broken": bad})
    with pytest.raises(BuildError, match="kernel broken"):
        check(clean, device="sim:reference")


def test_unknown_options_are_refused_by_name():
    with pytest.raises(AdrenoSimError, match="no option 'sede'; there are: target"):
        check(model(RIGHT), device="sim:reference", sede=1)
    with pytest.raises(AdrenoSimError, match="already open with checks='bounds'"):
        check(model(RIGHT), device=open_device("sim:reference"), checks="full")
    with pytest.raises(AdrenoSimError, match=r"2 inputs given: the model expects 1 \(data\)"):
        check(model(RIGHT), [np.zeros(N, "float32")] * 2, device="sim:reference")


def short_of_storage(nbytes):
    """`twice` with a storage of `nbytes` under its result."""
    made = model(RIGHT)
    body = list(made.functions["main"].body)
    body[0] = AllocStorage("s0", ShapeLiteral((nbytes,)), "global", "float32")
    return dataclasses.replace(made, functions={"main": VMFunction("main", ("data",), tuple(body))})


def test_a_view_larger_than_its_storage_is_a_finding():
    report = check(short_of_storage(4 * N - 4), device="sim:reference")
    assert report.exit_code == 1
    assert not report.ok
    assert [f.kind for f in report.findings if f.severity == 2] == [Kind.VIEW_TOO_LARGE]
    assert "tensor 't0'" in report.findings[0].message or "t0" in report.findings[0].tensor
    assert any("everything after" in line for line in report.unchecked)


def test_a_call_that_the_device_refuses_is_a_finding():
    report = check(model(RIGHT), device="sim:adreno-740,MAX_WORK_GROUP_SIZE=8")
    assert report.exit_code == 1
    assert [f.kind for f in report.findings] == [Kind.LIMIT_EXCEEDED]
    assert report.findings[0].detail == {"code": "CL_INVALID_WORK_GROUP_SIZE"}
