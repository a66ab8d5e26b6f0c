"""From logits to a token: softmax, sort, sums, renormalisation and the sample, every kernel judged by a reference of its own.

A small part of it is not slow: `judging/test_operator_references.py`.
"""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op

from adreno_sim import check
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm


def probabilities(logits: nn.Tensor):
    """In float32: TVM's kernels for samples take no halves, and sums of thousands of halves say little."""
    return op.softmax(logits.astype("float32"), axis=-1)


class Sampler(nn.Module):
    """renormalize: probabilities of the tokens that top-p and top-k leave; pick: one of these; draw: a token of all."""

    def renormalize(self, logits: nn.Tensor, top_p: nn.Tensor, top_k: nn.Tensor):
        prob = probabilities(logits)
        return op.renormalize_top_p_top_k_prob(prob, op.sort(prob, axis=-1, descending=True), top_p, top_k)

    def pick(self, logits: nn.Tensor, top_p: nn.Tensor, top_k: nn.Tensor, numbers: nn.Tensor, rows: nn.Tensor):
        prob = probabilities(logits)
        order = op.argsort(prob, axis=-1, descending=True, dtype="int64")
        ranked = op.sort(prob, axis=-1, descending=True)
        return op.sample_top_p_top_k_from_sorted_prob(ranked, order, top_p, top_k, numbers, rows)

    def draw(self, logits: nn.Tensor, numbers: nn.Tensor, rows: nn.Tensor):
        return op.multinomial_from_uniform(probabilities(logits), numbers, rows)


def make_entry(entry, dtype, tokens):
    """The module with one function, and its arguments."""
    rng = np.random.default_rng(0)
    logits = (3 * rng.standard_normal((2, tokens))).astype(dtype)
    given = {
        "logits": logits, "top_p": np.float32([[0.9], [0.5]]), "top_k": np.array([[50], [20]], np.int64),
        "numbers": np.float32([[0.1], [0.5], [0.9]]), "rows": np.array([[0], [1], [1]], np.int64),
    }  # fmt: skip
    names = {"renormalize": list(given)[:3], "pick": list(given), "draw": ["logits", "numbers", "rows"]}[entry]
    specs = {name: nn.spec.Tensor(list(given[name].shape), given[name].dtype.name) for name in names}
    module, _ = Sampler().export_tvm({entry: {**specs, "$": {"effect_mode": "none", "param_mode": "none"}}})
    return module, [given[name] for name in names]


CASES = [
    ("renormalize", "float32", 1000), ("draw", "float32", 2000), ("draw", "float16", 2000),
    ("pick", "float32", 1000), ("pick", "float16", 1000),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("target", ["buffer", "texture"])
@pytest.mark.parametrize(("entry", "dtype", "tokens"), CASES)
def test_every_kernel_is_judged(entry, dtype, tokens, target):
    module, given = make_entry(entry, dtype, tokens)
    report = check(module, given, entry=entry, target=target, keep_going=True)
    assert not [finding for finding in report.findings if finding.severity is Severity.ERROR], str(report)
    assert {kernel.status for kernel in report.kernels} <= {"ok", "part"}, str(report)
    assert report.outputs, str(report)
    assert all(output.ok for output in report.outputs), str(report)
