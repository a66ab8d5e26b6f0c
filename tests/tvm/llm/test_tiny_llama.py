"""A tiny Llama as `relax.frontend.nn` exports it: its entries one by one, in half and plain, scheduled before or here."""

import functools
import itertools

import numpy as np
import pytest

pytest.importorskip("tvm")
import tvm
from tiny_llama import Config, export, inputs, weights
from tvm import relax
from tvm.relax.frontend import nn
from tvm.s_tir import dlight

from adreno_sim import AdrenoSimError, check
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm

ENTRIES = {"prefill": 5, "decode": 7}
"""Entry -> rows of the prompt, or before the one that is decoded."""


@functools.cache
def module(config):
    return export(config)


def given(config, entry):
    found = inputs(config, entry, ENTRIES[entry])
    return {**found, **weights(module(config), entry, found)}


def lines(report):
    return [f"{finding.kind.label} {finding.message}" for finding in report.findings if finding.severity > Severity.NOTE]


QUICK = {("float32", True, "prefill")}
CASES = [
    pytest.param(
        *case, id="-".join((case[0], "q4" if case[1] else "plain", case[2])), marks=[] if case in QUICK else [pytest.mark.slow]
    )
    for case in itertools.product(("float16", "float32"), (False, True), ENTRIES)
]


@pytest.mark.parametrize(("dtype", "quantised", "entry"), CASES)
def test_every_kernel_of_an_entry_is_right_and_says_something(dtype, quantised, entry):
    config = Config(dtype, quantised)
    report = check(module(config), given(config, entry), entry=entry, target="buffer")
    assert report.ok
    assert not lines(report)
    assert {kernel.status for kernel in report.kernels} == {"ok"}
    assert report.checked == report.kernels_in_model
    assert all(output.ok and not output.vacuous for output in report.outputs)
    assert report.outputs


def schedule(mod, target, simply=False):
    """As a compiler of language models schedules: fused, then dlight's rules for GPUs; simply: one rule for all, whose kernels
    are short."""
    rules = [dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction()] * (not simply)
    with target:
        return tvm.transform.Sequential(
            [
                relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FoldConstant(),
                relax.transform.FuseOps(), relax.transform.FuseTIR(), relax.transform.DeadCodeElimination(),
                dlight.ApplyDefaultSchedule(*rules, dlight.gpu.Fallback()),
            ]
        )(mod)  # fmt: skip


class Block(nn.Module):
    """What a layer does behind its attention, and a softmax: one kernel of each kind that a language model has."""

    def __init__(self):
        self.norm = nn.RMSNorm(32, -1, 1e-5, bias=False)
        self.gate, self.head = nn.Linear(32, 64, bias=False), nn.Linear(32, 24, bias=False)

    def prefill(self, x):
        gate, up = nn.op.split(self.gate(self.norm(x)), 2, axis=-1)
        return nn.op.softmax(self.head(nn.op.silu(gate) * up), axis=-1)


@functools.cache
def export_block():
    return Block().export_tvm({"prefill": {"x": nn.spec.Tensor([1, 5, 32], "float32")}})[0]


@pytest.fixture(scope="module", params=["block", pytest.param("llama", marks=pytest.mark.slow)])
def one_entry(request):
    """A module with prefill, inputs of it, and its report as our pipeline compiles it."""
    if request.param == "llama":
        mod, arrays = module(Config()), given(Config(), "prefill")
    else:
        x = np.random.default_rng(0).standard_normal((1, 5, 32)).astype("float32")
        mod, arrays = export_block(), {"x": x, **weights(export_block(), "prefill", {"x": x})}
    return mod, arrays, check(mod, arrays, entry="prefill", target="buffer")


def all_judged(report):
    """A part fills a workspace, and is judged by what the function makes of it."""
    return {kernel.status for kernel in report.kernels} <= {"ok", "part"}


def outputs_of(report):
    return {output.output: (output.ok, output.rms) for output in report.outputs if output.reference == "float64"}


@pytest.mark.slow
def test_a_scheduled_module_gives_what_the_unscheduled_one_gives(one_entry):
    mod, arrays, plain = one_entry
    scheduled = schedule(mod, make_target("buffer"))
    assert "thread_binding" in scheduled.script()
    report = check(scheduled, arrays, entry="prefill", target="buffer")
    assert report.ok
    assert not lines(report)
    assert all_judged(report)
    assert report.checked == report.kernels_in_model
    assert outputs_of(report) == outputs_of(plain)


@pytest.mark.parametrize("kind", ["pass", pytest.param("callable", marks=pytest.mark.slow)])
def test_a_given_pipeline_stands_in_place_of_ours(one_entry, kind):
    """Judged by the functions as they were before it scheduled them."""
    mod, arrays, plain = one_entry
    target = make_target("buffer")
    pipeline = functools.partial(schedule, target=target)
    if kind == "pass":
        pipeline = tvm.transform.module_pass(lambda mod, _: schedule(mod, target, simply=True), opt_level=0, name="mine")
    report = check(mod, arrays, entry="prefill", target="buffer", pipeline=pipeline)
    assert report.ok
    assert report.pipeline == "given"
    assert report.verdict.startswith("ok:")
    assert all_judged(report)
    assert outputs_of(report) == outputs_of(plain)


def test_a_pipeline_that_computes_something_else_is_found(one_entry):
    mod, arrays, _ = one_entry
    target = make_target("buffer")

    def wrong(mod):
        """Schedules, and swaps the two halves that the gate multiplies."""
        scheduled = schedule(mod, target, simply=True)
        (name,) = (var for var, _ in scheduled.functions_items() if "silu" in var.name_hint)
        text = scheduled[name].script().replace("T.exp(", "T.exp2(").replace("T.sigmoid(", "T.tanh(")
        scheduled[name] = tvm.script.from_source(text)
        return scheduled

    report = check(mod, arrays, entry="prefill", target="buffer", pipeline=wrong)
    assert [finding.kind.label for finding in report.findings if finding.severity is Severity.ERROR] == ["wrong-value"]


def test_what_is_no_pipeline_is_refused():
    config = Config()
    with pytest.raises(AdrenoSimError, match="pipeline 'mlc': expected 'fixed' or 'stock', or from Python a pass"):
        check(module(config), entry="prefill", pipeline="mlc")
    with pytest.raises(AdrenoSimError, match="pipeline: it returned NoneType: expected an IRModule"):
        check(module(config), given(config, "prefill"), entry="prefill", target="buffer", pipeline=lambda mod: None)


def test_an_entry_must_be_named_where_there_are_several():
    several = module(Config())
    with pytest.raises(AdrenoSimError, match=r"no Relax function 'main'; .*name one of .*prefill.*\(--entry\)"):
        check(several)
    with pytest.raises(AdrenoSimError, match="no Relax function 'embed'"):
        check(several, entry="embed")
    graph = pytest.importorskip("onnx").ModelProto()
    with pytest.raises(AdrenoSimError, match="entry: decode: is for a Relax module"):
        check(graph, entry="decode")


def twice(results):
    return [None if result is None else 2 * result for result in results]


def test_references_of_functions_are_run_and_may_be_wrong(one_entry):
    mod, arrays, _ = one_entry

    def softmax(x, out):
        weights = np.exp(x.astype("float64") - x.max(axis=-1, keepdims=True))
        return [None, weights / weights.sum(axis=-1, keepdims=True)]

    name = "softmax" if mod is export_block() else "fused_softmax_cast1"
    report = check(mod, arrays, entry="prefill", target="buffer", references={name: softmax})
    assert report.ok
    assert {kernel.status for kernel in report.kernels} == {"ok"}
    report = check(mod, arrays, entry="prefill", target="buffer", references={name: lambda *args: twice(softmax(*args))})
    (wrong,) = [finding for finding in report.findings if finding.kind.label == "wrong-value"]
    assert f"of {name} (call" in wrong.message
    assert "its given reference" in wrong.message
    with pytest.raises(AdrenoSimError, match="references of nothing: the functions are"):
        check(mod, arrays, entry="prefill", target="buffer", references={"nothing": softmax})
