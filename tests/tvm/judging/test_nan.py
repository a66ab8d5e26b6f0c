"""NaN among the operands of min, max and their kind: OpenCL leaves open what comes of it, and only of it."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.script import relax as R

from adreno_sim import check
from adreno_sim.compiler.tvm_bridge import read
from adreno_sim.compiler.tvm_bridge.versions import import_tvm
from adreno_sim.findings import Kind
from adreno_sim.golden.expectations import KernelExpectations
from adreno_sim.golden.kernel_reference import KernelReference
from adreno_sim.results.comparison import compare

nn, op = relax.op.nn, relax.op
SHAPE = (2, 4, 8, 16)
AT = (1, 2, 3, 5)
HALF = relax.const(np.float32(0.5))

OPEN = {
    "relu": lambda x: nn.relu(x),
    "maximum": lambda x: op.maximum(x, HALF),
    "minimum": lambda x: op.minimum(x, HALF),
    "clip": lambda x: op.clip(x, -0.5, 1.5),
    "pool": lambda x: nn.max_pool2d(x, (2, 2), (2, 2)),
    "max": lambda x: op.max(x, -1),
    "min": lambda x: op.min(x, 1),
    "argmax": lambda x: op.argmax(x, -1),
    "argmin": lambda x: op.argmin(x, 1),
    "integer": lambda x: op.astype(x, "int32"),
}
SETTLED = {
    "negative": lambda x: op.negative(x),
    "sum": lambda x: op.sum(x, -1),
    "leaky": lambda x: nn.leakyrelu(x),
    "isnan": lambda x: op.where(op.isnan(x), HALF, x),
}


def network(make):
    builder, x = relax.BlockBuilder(), relax.Var("x", R.Tensor(SHAPE, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(make(builder, x))
        builder.emit_func_output(result)
    return builder.get()


def given(nan: bool) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal(SHAPE).astype("float32")
    x[AT] = np.nan if nan else 0.25
    return x


def judged(make, x):
    """What is expected of an operator, and what TVM's llvm target makes of it."""
    module = network(lambda b, x: make(x))
    for step in (
        relax.transform.LegalizeOps,
        relax.transform.AnnotateTIROpPattern,
        relax.transform.FuseOps,
        relax.transform.FuseTIR,
    ):
        module = step()(module)
    (name,) = (str(var.name_hint) for var, found in module.functions_items() if type(found).__name__ == "PrimFunc")
    alone = import_tvm().IRModule({name: module[name]})
    params = [read.buffer_param(alone[name], param) for param in alone[name].params]
    shapes = [tuple(int(size) for size in info.shape) for info in params]
    args = [x if shape == SHAPE else np.full(shape, 0.5, info.dtype) for shape, info in zip(shapes[:-1], params, strict=False)]
    args.append(np.zeros(shapes[-1], params[-1].dtype))
    return KernelExpectations(alone).expect(name, args)[-1], KernelReference(alone).run(name, args)[-1]


def next_to(array):
    """The same but for the last place of one element that NaN is far from."""
    wrong = array.copy()
    wrong.flat[0] = np.nextafter(wrong.flat[0], np.inf) if array.dtype.kind == "f" else wrong.flat[0] + 1
    return wrong


@pytest.mark.parametrize("name", OPEN)
def test_what_min_and_max_make_of_nan_is_open_and_all_else_is_exact(name):
    expected, llvm = judged(OPEN[name], given(nan=True))
    touched = np.isinf(expected.allowed)
    assert 0 < touched.sum() < expected.array.size / 16
    assert compare(llvm, expected).ok
    for other in (7, -7, *([np.nan] if llvm.dtype.kind == "f" else [])):
        assert compare(np.where(touched, other, llvm).astype(llvm.dtype), expected).ok
    assert not compare(next_to(llvm), expected).ok


@pytest.mark.parametrize("name", OPEN)
def test_without_nan_nothing_is_open(name):
    expected, llvm = judged(OPEN[name], given(nan=False))
    assert compare(llvm, expected).ok
    assert not compare(next_to(llvm), expected).ok
    assert name in ("pool", "max", "min") or expected.allowed is None or not expected.allowed.any(), "they begin with a constant"


@pytest.mark.parametrize("name", SETTLED)
def test_what_becomes_of_nan_elsewhere_is_known(name):
    expected, llvm = judged(SETTLED[name], given(nan=True))
    assert compare(llvm, expected).ok
    assert not np.isinf(np.zeros(1) if expected.allowed is None else expected.allowed).any()
    place = np.argwhere(np.isnan(llvm)) if np.isnan(llvm).any() else [AT]
    wrong = llvm.copy()
    wrong[tuple(place[0])] = 7
    assert not compare(wrong, expected).ok


@pytest.mark.parametrize("name", ["relu", "pool", "argmin", "max"])
def test_a_device_and_tvms_llvm_target_may_differ_in_it(adreno, name):
    """The simulator keeps NaN in max(NaN, 0), TVM's llvm target leaves it out."""
    right = check(network(lambda b, x: OPEN[name](x)), [given(nan=True)], device=adreno)
    assert right.ok, str(right)
    assert {finding.kind for finding in right.findings} <= {Kind.UNINFORMATIVE}, str(right)


def births(make, x, adreno):
    report = check(network(make), [x], device=adreno, keep_going=True)
    assert report.ok, str(report)
    return [finding.message for finding in report.findings if finding.kind is Kind.NONFINITE_INTRODUCED]


@pytest.mark.parametrize("operand", ["first", "second"])
def test_the_birth_of_nan_is_told_where_the_same_kernel_leaves_it_out(adreno, operand):
    def make(b, x):
        logarithm = b.emit(op.log(x))
        return op.maximum(logarithm, HALF) if operand == "first" else op.maximum(HALF, logarithm)

    x = np.abs(given(nan=False)) + 2
    assert not births(make, x, adreno)
    x[AT] = -1
    (message,) = births(make, x, adreno)
    assert ("NaN occurs on the way to" if operand == "second" else "NaN or infinity appears in") in message


def test_the_birth_of_nan_is_told_where_an_input_is_infinite(adreno):
    """A mask of minus infinity in which a row is masked whole."""
    masked = np.where(np.arange(16) % 3, given(nan=False), -np.inf).astype("float32")
    assert not births(lambda b, x: nn.softmax(x, -1), masked, adreno)
    masked[1, 2, 3] = -np.inf
    messages = births(lambda b, x: nn.softmax(x, -1), masked, adreno)
    assert messages
    assert all("NaN appears in" in message and "no input of" in message for message in messages)
