"""Sessions over plain functions: state is a tensor that one call gives and the next takes."""

import re

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from adreno_sim import AdrenoSimError, Session, check
from adreno_sim.compiler.compile import compile_model
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm


@I.ir_module
class Recurrent:
    @R.function
    def start(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        n = T.int64()
        with R.dataflow():
            y: R.Tensor((n, 8), "float32") = R.tanh(R.matmul(x, w))
            R.output(y)
        return y

    @R.function
    def step(x: R.Tensor(("n", 8), "float32"), state: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tuple(
        R.Tensor(("n", 8), "float32"), R.Tensor(("n", 8), "float32")
    ):
        n = T.int64()
        with R.dataflow():
            h: R.Tensor((n, 8), "float32") = R.tanh(R.add(R.matmul(state, w), x))
            y: R.Tensor((n, 8), "float32") = R.add(h, x)
            out = (y, h)
            R.output(out)
        return out


RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 8)).astype("float32")
W = RNG.normal(0, 0.5, (8, 8)).astype("float32")


def expected(steps):
    state = np.tanh(X @ W)
    for _ in range(steps):
        state = np.tanh(state @ W + X)
    return state


def errors_of(report):
    return {finding.kind.label for finding in report.findings if finding.severity is Severity.ERROR}


@pytest.mark.parametrize("target", ["buffer", "texture"])
def test_state_stays_and_every_call_is_judged(target):
    with Session(Recurrent, {"w": W}, target=target, checks="full") as session:
        state = session.call("start", X)
        for _ in range(4):
            y, state = session.call("step", X, state)
        np.testing.assert_allclose(state.numpy(), expected(4), rtol=1e-5)
        np.testing.assert_allclose(np.asarray(y), expected(4) + X, rtol=1e-5)
        report = session.report()
    assert report.ok
    assert not report.findings
    assert [row.output for row in report.outputs][:3] == ["start (call 0)", "step (call 1), result 0", "step (call 1), result 1"]
    assert len(report.outputs) == 9
    assert all(row.ok and row.reference == "TVM llvm" for row in report.outputs)
    assert all(kernel.status in ("ok", "part") for kernel in report.kernels)


def test_weights_are_put_on_the_device_once():
    with Session(Recurrent, {"w": W}, target="buffer") as session:
        uploads = []
        upload = session._machine.upload
        session._machine.upload = lambda name, array, scope: (uploads.append(array.shape), upload(name, array, scope))[1]
        state = session.call("start", X)
        for _ in range(3):
            _, state = session.call("step", X, state)
    assert uploads.count(W.shape) == 1
    assert uploads.count(X.shape) == 4


def test_memory_ends_with_its_handle():
    with Session(Recurrent, {"w": W}, target="buffer") as session:
        state = session.call("start", X)
        state.free()
        with pytest.raises(AdrenoSimError, match="result of call 0 that was freed"):
            session.call("step", X, state)
        held = session.call("start", X)
    with pytest.raises(AdrenoSimError, match="was freed"):
        held.numpy()
    with pytest.raises(AdrenoSimError, match="the session has ended"):
        session.call("start", X)


def test_a_wrong_result_names_its_call():
    """A reference that says something else of one function: its kernel, and no other, is wrong."""
    with Session(Recurrent, {"w": W}, target="buffer") as session:
        function = next(name for name in session.model.host_functions if re.search("tanh", name))
    with Session(
        Recurrent, {"w": W}, target="buffer", references={function: lambda *args: [None] * (len(args) - 1) + [args[-1] * 0 + 9]}
    ) as session:
        session.call("start", X)
        session.call("step", X, X)
        report = session.report()
    assert errors_of(report) == {"wrong-value"}
    assert {finding.kernel for finding in report.findings} == {f"{function}_kernel"}


@pytest.mark.parametrize("damage", [False, True])
def test_a_saved_session_runs_again(tmp_path, damage):
    path = tmp_path / "session.asim"
    with Session(Recurrent, {"w": W}, target="buffer") as session:
        state = session.call("start", X)
        for _ in range(2):
            _, state = session.call("step", X, state)
        if damage:
            session._recorded["2/TVM llvm/1"] = session._recorded["2/TVM llvm/1"] + np.float32(0.5)
        session.save(path)
    report = check(str(path))
    assert len(report.outputs) == 5
    assert errors_of(report) == ({"wrong-value"} if damage else set())
    if damage:
        assert "step (call 2), result 1 differs from TVM llvm" in report.findings[0].message
    with pytest.raises(AdrenoSimError, match="its calls have their own"):
        check(str(path), [X])
    with pytest.raises(AdrenoSimError, match="means nothing for a bundle of a session"):
        check(str(path), plan="naive")
    with pytest.raises(AdrenoSimError, match="adreno-sim check runs its calls"):
        compile_model(str(path))


@pytest.fixture(scope="module")
def idle():
    """A session in which no call succeeds, so that each begins in the same state."""
    with Session(Recurrent, {"w": W}, target="buffer") as session:
        yield session


@pytest.mark.share()
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("other",), "no entry 'other'; the module has start, step"),
        (("start",), "0 arguments given: start takes 1 besides its weights (x)"),
        (("start", X[:, :4]), "argument 'x' of start: expected float32 [n=3, 8], given float32 [3, 4]"),
        (("start", X.astype("float16")), "expected float32 [n=3, 8], given float16 [3, 8]"),
        (("step", X, X[:2]), "argument 'state' of step: expected float32 [n=3, 8], given float32 [2, 8]"),
        (("start", 5), "argument 'x' of start: expected a float32 array, given int"),
        (("vm.builtin.rnn_state_get", 5), "unsupported: vm.builtin.rnn_state_get"),
        (("vm.builtin.attention_kv_cache_append_mla_kv", 5), "multi-head latent attention (MLA) is not simulated"),
        (("vm.builtin.kv_state_clear", 5), "expected a KV cache"),
    ],
)
def test_what_does_not_fit_is_one_line(idle, call, said):
    with pytest.raises(AdrenoSimError) as error:
        idle.call(*call)
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_what_is_no_session_is_refused(tmp_path):
    with pytest.raises(AdrenoSimError, match="session over int"):
        Session(5)
    with pytest.raises(AdrenoSimError, match="plan: means nothing for a session"):
        Session(Recurrent, plan="tvm")


def start(x, w):
    return np.tanh(x.astype(float) @ w)


def step(x, state, w):
    h = np.tanh(state @ w.astype(float) + x)
    return h + x, h


def run_recurrent(reference, steps=2, **options):
    with Session(Recurrent, {"w": W}, target="buffer", reference=reference, **options) as session:
        state = session.call("start", X)
        for _ in range(steps):
            _, state = session.call("step", X, state)
        return session.report()


def test_callables_judge_the_functions_that_they_are_given_for():
    report = run_recurrent({"start": start, "step": step})
    assert report.ok
    assert not report.findings
    assert not any("no reference was given" in reason for reason in report.unchecked)
    assert [(row.output, row.reference) for row in report.outputs][1:3] == [
        ("step (call 1), result 0", "given reference"), ("step (call 1), result 1", "given reference"),
    ]  # fmt: skip
    assert len(report.outputs) == 5
    assert all(row.ok and 0 < row.max_abs < 1e-6 for row in report.outputs)


def test_a_callable_that_says_something_else_is_a_wrong_value_of_its_call():
    report = run_recurrent({"start": start, "step": lambda x, state, w: (None, step(x, state, w)[1] * 1.01)})
    assert errors_of(report) == {"wrong-value"}
    assert len(report.outputs) == 3
    assert [finding.detail["call"] for finding in report.findings] == [1, 2]


def test_what_no_callable_gave_is_what_the_device_gave():
    report = run_recurrent({"step": step})
    assert report.ok
    assert len(report.outputs) == 4
    assert all(row.ok for row in report.outputs)
    assert "results of start: no reference was given for it" in report.unchecked


@pytest.mark.share()
@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"other": step}, "reference of other: expected one of start, step, or of vm.builtin."),
        ({"start": 5}, "reference of start: int: expected a callable over NumPy arrays"),
        ({"start": lambda x, w: start(x, w)[0]}, "reference of start (call 0): float64[8]: expected float32[3, 8]"),
        ({"start": lambda x, w: start(x, w).astype(int)}, "int64[3, 8]: expected float32[3, 8]"),
        ({"step": lambda x, state, w: state}, "reference of step (call 1): ndarray: expected 2 in a tuple"),
        ({"start": lambda x, w: x.fill(0)}, "reference of start raised ValueError: assignment destination is read-only"),
    ],
)
def test_callables_that_do_not_fit_are_one_line(reference, said):
    with pytest.raises(AdrenoSimError) as error:
        run_recurrent(reference)
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_what_callables_gave_is_judged_again_from_a_bundle(tmp_path):
    path = tmp_path / "session.asim"
    with Session(
        Recurrent, {"w": W}, target="buffer", reference={"start": start, "step": lambda *args: (step(*args)[0], None)}
    ) as s:
        s.call("step", X, s.call("start", X))
        s.save(path)
    report = check(str(path))
    assert [(row.output, row.reference) for row in report.outputs] == [("start (call 0)", "given reference")]
    assert report.ok
    assert "1 results of step (call 1): the reference says nothing of them" in report.unchecked


def test_every_call_has_a_time():
    """Calls alike take the same time, and they add up to that of the kernels."""
    with Session(Recurrent, {"w": W}, target="buffer", time=True) as session:
        state = session.call("start", X)
        for _ in range(2):
            _, state = session.call("step", X, state)
        times = session.report().time
    assert [call.function for call in times.calls] == ["start", "step", "step"]
    assert sum(call.seconds for call in times.calls) == pytest.approx(times.seconds)
    assert times.calls[1].seconds == pytest.approx(times.calls[2].seconds)
    assert times.calls[1].seconds > times.calls[0].seconds
    assert all(call.low < call.seconds < call.high for call in times.calls)
    assert not times.missing
