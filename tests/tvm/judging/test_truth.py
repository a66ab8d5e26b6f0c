"""The truth of PrimFuncs against TVM's llvm target: values, variances, what rounding decides, what no truth is made of."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, te
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from adreno_sim import check
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.doctor.models import module
from adreno_sim.compiler.importers.fp16_storage import with_storage
from adreno_sim.compiler.tvm_bridge.read import return_type, type_of
from adreno_sim.compiler.tvm_bridge.versions import import_tvm
from adreno_sim.findings import Kind
from adreno_sim.golden.kernel_reference import KernelReference
from adreno_sim.golden.model_expectations import judge_by_truth
from adreno_sim.golden.model_reference import ModelReference
from adreno_sim.golden.truth import model as truth_model
from adreno_sim.golden.truth.bound import expect
from adreno_sim.golden.truth.kernels import KernelTruth
from adreno_sim.golden.truth.model import ModelTruth
from adreno_sim.golden.truth.units import Units
from adreno_sim.results.comparison import compare

nn = relax.op.nn


def model(make, *inputs):
    """A module of one function `main`, not legalised."""
    builder = relax.BlockBuilder()
    variables = [relax.Var(f"x{i}", R.Tensor(shape, dtype)) for i, (shape, dtype) in enumerate(inputs)]
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *variables))
        builder.emit_func_output(result)
    return builder.get()


def primfuncs(make, *inputs):
    """A module of the PrimFuncs of `make(builder, *vars)`, legalised."""
    return relax.transform.LegalizeOps()(relax.transform.DecomposeOpsForInference()(model(make, *inputs)))


def only_function(module):
    (name,) = (str(var.name_hint) for var, found in module.functions_items() if type(found).__name__ == "PrimFunc")
    return name, import_tvm().IRModule({name: module[name]})


UNARY = [
    "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos", "abs", "negative", "floor", "ceil", "round", "square",
    "sign", "trunc",
]  # fmt: skip
WEIGHT = np.random.default_rng(5).standard_normal((8, 8, 3, 3)) / 8
SCALE = np.linspace(0.5, 1.5, 40)


def constant(array, like):
    """A constant of the type of a Relax tensor."""
    return relax.const(array.astype(str(type_of(like).dtype)))


OPERATORS = {
    **{name: (lambda x, f=getattr(relax.op, name): f(x), (8, 40)) for name in UNARY},
    "relu": (lambda x: nn.relu(x), (8, 40)),
    "gelu": (lambda x: nn.gelu(x), (8, 40)),
    "silu": (lambda x: nn.silu(x), (8, 40)),
    "leakyrelu": (lambda x: nn.leakyrelu(x), (8, 40)),
    "softmax": (lambda x: nn.softmax(x, -1), (8, 40)),
    "log_softmax": (lambda x: nn.log_softmax(x, -1), (8, 40)),
    "sum": (lambda x: relax.op.sum(x, -1), (8, 400)),
    "mean": (lambda x: relax.op.mean(x, -1), (8, 400)),
    "variance": (lambda x: relax.op.variance(x, -1), (8, 400)),
    "max": (lambda x: relax.op.max(x, -1), (8, 400)),
    "prod": (lambda x: relax.op.prod(x, -1), (8, 6)),
    "clip": (lambda x: relax.op.clip(x, 0.25, 0.75), (8, 40)),
    "power": (lambda x: relax.op.power(x, x), (8, 40)),
    "divide": (lambda x: relax.op.divide(constant(SCALE, x), x), (8, 40)),
    "matmul": (lambda x: relax.op.matmul(x, x), (40, 40)),
    "conv2d": (lambda x: nn.conv2d(x, constant(WEIGHT, x), padding=1), (1, 8, 12, 12)),
    "max_pool2d": (lambda x: nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)), (1, 4, 12, 12)),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, (3, 3), (2, 2), (1, 1)), (1, 4, 12, 12)),
    "argmax": (lambda x: relax.op.argmax(x, -1), (8, 40)),
    "transpose": (lambda x: relax.op.permute_dims(x), (8, 40)),
    "concat": (lambda x: relax.op.concat([x, x], 1), (8, 40)),
    "pad": (lambda x: nn.pad(x, [0, 0, 1, 2]), (8, 40)),
    "layer_norm": (lambda x: nn.layer_norm(x, constant(SCALE, x), constant(SCALE, x), -1), (8, 40)),
    "to int32": (lambda x: relax.op.astype(x, "int32"), (8, 40)),
    "one": (lambda x: relax.op.sum(x), (8, 40)),
}
CONSTANTS = {"conv2d": (1, WEIGHT), "layer_norm": (1, SCALE, SCALE), "divide": (0, SCALE)}
"""The constants among the arguments of a PrimFunc: where they stand, and which they are."""

POSITIVE = ("log", "sqrt", "rsqrt", "power", "prod", "divide")
UNITS = Units(flushes=False)


@pytest.mark.share(2)
@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_tvms_llvm_target_lies_within_the_bound(name, dtype):
    """TVM computes in the type itself, one operation after another: an independent right result."""
    make, shape = OPERATORS[name]
    module = primfuncs(lambda _, x: make(x), (shape, dtype))
    x = np.random.default_rng(0).standard_normal(shape)
    x = (np.abs(x) + 0.1 if name in POSITIVE else x).astype(dtype)
    function, alone = only_function(module)
    output = return_type(module["main"])
    empty = np.zeros([int(size) for size in output.shape.values], str(output.dtype))
    args = [x] * (len(alone[function].params) - 1) + [empty]
    place, *constants = CONSTANTS.get(name, (0,))
    args[place : place + len(constants)] = [array.astype(dtype) for array in constants]
    (truth,) = (found for found in KernelTruth(alone).run(function, args, UNITS) if found is not None)
    native = KernelReference(alone).run(function, args)[-1]
    result = compare(native, expect(truth, native.dtype.name, UNITS))
    assert result.ok, str(result)
    assert not np.isinf(np.zeros(1) if truth.sigma is None else truth.sigma).any()


@pytest.mark.parametrize("terms", [16, 256, 4096])
def test_the_model_is_neither_loose_nor_tight(terms):
    """z-scores of a sequential sum of signed products in half: they spread by about one."""
    module = primfuncs(lambda b, x, y: relax.op.matmul(x, y), ((16, terms), "float16"), ((terms, 64), "float16"))
    function, alone = only_function(module)
    rng = np.random.default_rng(terms)
    x, y = (rng.standard_normal(shape).astype("float16") for shape in ((16, terms), (terms, 64)))
    args = [x, (y / np.sqrt(terms)).astype("float16"), np.zeros((16, 64), "float16")]
    truth = KernelTruth(alone).run(function, args, UNITS)[-1]
    native = KernelReference(alone).run(function, args)[-1]
    z = (native.astype(float) - truth.value) / truth.sigma
    assert 0.4 < np.sqrt(np.mean(z**2)) < 1.2
    assert np.abs(z).max() < 6
    exact = x.astype(float) @ args[1].astype(float)
    np.testing.assert_allclose(truth.value, exact, rtol=1e-12, atol=1e-12)


def test_sums_of_halves_that_stagnate_are_allowed_to():
    """8,192 terms of about one in half: one after another they end near 4,096, in a tree at 8,192; both are right."""
    module = primfuncs(lambda b, x: relax.op.sum(x, -1), ((4, 8192), "float16"))
    function, alone = only_function(module)
    x = np.full((4, 8192), 1.0, "float16")
    args = [x, np.zeros(4, "float16")]
    truth = KernelTruth(alone).run(function, args, UNITS)[-1]
    assert truth.value.tolist() == [8192.0] * 4
    assert truth.native.tolist() == [2048.0] * 4
    expected = expect(truth, "float16", UNITS)
    for right in (2048, 4096, 8192):
        assert compare(np.full(4, right, "float16"), expected).ok


def test_a_softmax_of_halves_may_drift_where_most_of_its_results_are_flushed():
    """Its sum stagnates at a half of what it should be; what TVM computes in halves is right, and three times that is not."""
    module = primfuncs(lambda b, x: nn.softmax(x, -1), ((4, 16384), "float16"))
    function, alone = only_function(module)
    x = (2 * np.random.default_rng(1).standard_normal((4, 16384))).astype("float16")
    args = [x, np.zeros_like(x)]
    expected = expect(KernelTruth(alone).run(function, args, Units())[-1], "float16", Units())
    native = KernelReference(alone).run(function, args)[-1]
    assert compare(native, expected).ok, str(compare(native, expected))
    assert not compare(native * np.float16(3), expected).ok


def test_denormal_halves_in_memory_may_be_taken_for_zero():
    """An Adreno flushes the operands of half arithmetic too: a small bias may be lost, one that is not denormal may not."""
    module = primfuncs(lambda b, x, y: relax.op.add(x, y), ((64,), "float16"), ((64,), "float16"))
    function, alone = only_function(module)
    x = np.linspace(1e-3, 1e-2, 64).astype("float16")
    for small, may in ((5e-5, True), (7e-5, False)):
        args = [x, np.full(64, small, "float16"), np.zeros(64, "float16")]
        for units in (Units(flushes=True), Units(flushes=False)):
            expected = expect(KernelTruth(alone).run(function, args, units)[-1], "float16", units)
            assert compare(x + args[1], expected).ok
            assert compare(x, expected).ok == (may and units.flushes)


def test_words_of_bits_are_followed():
    """Nibbles as weights of q4: shifts, masks and the other operations on bits are exact."""
    w = te.placeholder((8, 4), "uint32", "w")

    def mix(i, j):
        nibble = (w[i, j // 8] >> (j % 8 * 4).astype("uint32")) & 15
        return (((~nibble | 3) ^ w[i, 0]) << 1) & nibble

    function = te.create_prim_func([w, te.compute((8, 32), mix)]).with_attr("global_symbol", "mix")
    words = np.random.default_rng(0).integers(0, 1 << 32, (8, 4), dtype=np.uint32)
    truth = KernelTruth(import_tvm().IRModule({"mix": function}))
    found = truth.run("mix", [words, np.zeros((8, 32), np.uint32)], UNITS)[-1]
    column = np.arange(32, dtype=np.uint32)
    nibbles = (words[:, column // 8] >> (column % 8 * 4)) & 15
    np.testing.assert_array_equal(found.value, (((~nibbles | 3) ^ words[:, :1]) << np.uint32(1)) & nibbles)
    assert found.sigma is None


def test_beyond_the_range_of_halves_anything_is_right_and_nothing_is_learnt():
    module = primfuncs(lambda b, x: relax.op.sum(x, -1), ((4, 64), "float16"))
    function, alone = only_function(module)
    x = np.full((4, 64), 900.0, "float16") * np.linspace(0.8, 2, 4).astype("float16")[:, None]
    expected = expect(KernelTruth(alone).run(function, [x, np.zeros(4, "float16")], UNITS)[-1], "float16", UNITS)
    assert np.isinf(expected.allowed).tolist() == [False, True, True, True]
    result = compare(np.where(np.isinf(expected.allowed), np.float16(np.inf), expected.array), expected)
    assert result.ok
    assert result.uninformative


@pytest.mark.parametrize("mask", [-1e9, -np.inf])
def test_masked_scores_are_judged(mask):
    """A causal mask: probabilities of masked places are exactly 0, the others are judged."""
    module = primfuncs(lambda b, x: nn.softmax(x, -1), ((16, 16), "float32"))
    function, alone = only_function(module)
    x = np.random.default_rng(0).standard_normal((16, 16)).astype("float32")
    x[np.triu_indices(16, 1)] = mask
    args = [x, np.zeros_like(x)]
    expected = expect(KernelTruth(alone).run(function, args, UNITS)[-1], "float32", UNITS)
    right = KernelReference(alone).run(function, args)[-1]
    found = compare(right, expected)
    assert found.ok
    assert not found.uninformative
    wrong = right.copy()
    wrong[3, 2] *= 1.001
    assert not compare(wrong, expected).ok


def test_a_mask_that_takes_halves_out_of_their_range_is_judged():
    """-65504 plus a score below -16 is -inf in half; its probability is 0 either way."""

    def make(b, x, m):
        return b.emit(nn.softmax(b.emit(relax.op.add(x, m)), -1))

    masked = model(make, ((16, 16), "float16"), ((16, 16), "float16"))
    mask = np.zeros((16, 16), "float16")
    mask[np.triu_indices(16, 1)] = -65504
    scores = (np.random.default_rng(0).standard_normal((16, 16)) * 8).astype("float16")
    assert (scores < -16).any()
    (truth,), (dtype,) = ModelTruth(masked).run([scores, mask], UNITS)
    expected = expect(truth, dtype, UNITS)
    (native,) = ModelReference(masked).run([scores, mask])
    found = compare(native, expected)
    assert found.ok
    assert not found.uninformative
    native[5, 2] += np.float16(0.01)
    assert not compare(native, expected).ok


def test_rounding_may_choose_either_side_of_an_edge():
    """floor(x * 3) of x = 1/3 in half is 0 or 1; a result of 2 is wrong."""
    module = primfuncs(lambda b, x: relax.op.floor(b.emit(relax.op.multiply(x, relax.const(np.float16(3))))), ((512,), "float16"))
    module = relax.transform.FuseTIR()(relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(module)))
    function, alone = only_function(module)
    x = np.linspace(0.1, 9.9, 512).astype("float16")
    x[7] = np.float16(1 / 3)
    args = [x, np.zeros_like(x)]
    given = [args[0], np.float16(3).reshape(()), args[1]] if len(alone[function].params) == 3 else args
    expected = expect(KernelTruth(alone).run(function, given, UNITS)[-1], "float16", UNITS)
    got = expected.array.copy()
    for value, right in ((0, True), (1, True), (3, False)):
        got[7] = value
        assert compare(got, expected).ok == right


def test_an_index_outside_of_its_tensor_is_told_and_reads_nothing():
    module = primfuncs(lambda b, x, i: relax.op.take(x, i, axis=0), ((10, 4), "float32"), ((3,), "int32"))
    function, alone = only_function(module)
    truth = KernelTruth(alone)
    x, empty = np.arange(40, dtype="float32").reshape(10, 4), np.zeros((3, 4), "float32")
    found = truth.run(function, [x, np.array([0, 9, 3], "int32"), empty], UNITS)[-1]
    np.testing.assert_array_equal(found.value, x[[0, 9, 3]])
    assert found.sigma is None
    if "fast" not in function:
        with pytest.raises(AdrenoSimError, match=r"an index leaves .*--input"):
            truth.run(function, [x, np.array([0, 1 << 20, 3], "int32"), empty], UNITS)


@I.ir_module
class Stray:
    @T.prim_func(s_tir=True)
    def last(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.remap("S", [i])
                y[v] = x[v] + x[v + 1]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Stray
        with R.dataflow():
            y = R.call_tir(cls.last, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


def test_a_function_that_leaves_its_tensor_whatever_it_is_given_is_the_finding():
    """Other inputs would not help: the function is wrong, as stock layouts of grouped convolutions make some."""
    report = check(Stray, target="buffer")
    (finding,) = [found for found in report.findings if found.kind is Kind.WRONG_VALUE and found.kernel == "last_kernel"]
    assert "accesses x outside of its shape, whatever the inputs hold" in finding.message
    assert report.exit_code == 1


@I.ir_module
class Refused:
    @T.prim_func(s_tir=True)
    def bits(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.remap("S", [i])
                y[v] = T.reinterpret("int32", x[v])


def test_what_no_truth_is_made_of_is_named():
    truth = KernelTruth(Refused)
    assert "bits" not in truth
    assert truth.unavailable == {"bits": "no truth is made of the bits of float32 taken for int32"}


def test_a_whole_model_is_followed_operator_by_operator():
    def make(b, x):
        y = b.emit(nn.relu(b.emit(nn.conv2d(x, relax.const(WEIGHT.astype("float16")), padding=1))))
        return b.emit(nn.softmax(b.emit(relax.op.mean(y, [2, 3])), -1))

    network = model(make, ((1, 8, 12, 12), "float16"))
    data = np.random.default_rng(1).standard_normal((1, 8, 12, 12)).astype("float16")
    (truth,), (dtype,) = ModelTruth(network).run([data], UNITS)
    (native,) = ModelReference(network).run([data])
    assert dtype == "float16"
    assert truth.native is not None
    found = compare(native, expect(truth, dtype, UNITS))
    assert found.ok
    assert not found.uninformative
    wrong = native.copy()
    wrong[0, 3] += np.float16(0.01)
    assert not compare(wrong, expect(truth, dtype, UNITS)).ok


@pytest.mark.parametrize("axes", [None, [1, 0, 2]])
def test_weights_that_are_transposed_stay_constants(axes):
    """As results they would be doubles."""
    weight = np.random.default_rng(3).standard_normal((6, 4, 5)).astype("float16")
    moved = np.transpose(weight, axes)

    def network(turn):
        return model(lambda b, x: b.emit(relax.op.matmul(x, turn(b))), ((*moved.shape[:-2], 3, moved.shape[-2]), "float16"))

    turned = network(lambda b: b.emit(relax.op.permute_dims(relax.const(weight), axes)))
    plain = network(lambda b: relax.const(moved))
    x = np.random.default_rng(4).standard_normal((*moved.shape[:-2], 3, moved.shape[-2])).astype("float16")
    (found,), _ = ModelTruth(turned).run([x], UNITS)
    (expected,), _ = ModelTruth(plain).run([x], UNITS)
    for one, other in ((found.value, expected.value), (found.sigma, expected.sigma), (found.native, expected.native)):
        np.testing.assert_array_equal(one, other)
    assert len(ModelTruth(turned)._module.functions_items()) == len(ModelTruth(plain)._module.functions_items())
    given = model(lambda b, x: b.emit(relax.op.permute_dims(x, axes)), ((6, 4, 5), "float16"))
    np.testing.assert_array_equal(ModelTruth(given).run([weight], UNITS)[0][0].value, moved)


def test_halves_without_axes_are_followed():
    """A mean over everything, as the scale of a model's scores."""
    network = module(lambda x: relax.op.multiply(x, relax.op.exp(relax.op.mean(x))), (3, 5), "float16")
    (truth,), _ = ModelTruth(network).run([np.full((3, 5), 0.5, np.float16)], Units())
    np.testing.assert_allclose(truth.value, 0.5 * np.exp(0.5))


@pytest.mark.parametrize(("name", "axis"), [("cumsum", 1), ("cumsum", 0), ("cumprod", None)])
def test_sums_along_an_axis_are_followed(name, axis):
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float16)
    network = module(lambda x: getattr(relax.op, name)(x, axis), (3, 5), "float16")
    (truth,), _ = ModelTruth(network).run([x], Units())
    np.testing.assert_allclose(truth.value, getattr(np, name)(x.astype(np.float64), axis))
    assert truth.sigma is not None
    assert truth.sigma.max() > 0


def test_drift_of_halves_is_followed_through_floats():
    """A sum that stagnates in halves, then an operator in float32: nobody can give back what was lost."""
    summed = model(
        lambda b, x: relax.op.multiply(
            b.emit(relax.op.astype(b.emit(relax.op.sum(x, -1)), "float32")), relax.const(np.float32(3))
        ),
        ((4, 8192), "float16"),
    )
    x = np.linspace(0.95, 1.05, 4 * 8192).astype("float16").reshape(4, 8192)
    (truth,), (dtype,) = ModelTruth(summed).run([x], UNITS)
    (native,) = ModelReference(summed).run([x])
    assert dtype == "float32"
    assert (native < 0.5 * truth.value).all()
    assert compare(native, expect(truth, dtype, UNITS)).ok
    assert not compare((truth.value * 4).astype("float32"), expect(truth, dtype, UNITS)).ok


def averaged():
    """A network whose only roundings that matter are those of its weights, the same at all of 4,096 positions."""
    rng = np.random.default_rng(3)
    weight = relax.const(rng.uniform(0.5, 1, (16, 4, 1, 1)).astype("float32"))
    x = rng.uniform(1, 1.25, (1, 4, 64, 64)).astype("float16").astype("float32")
    return model(lambda b, x: relax.op.mean(b.emit(nn.conv2d(x, weight)), [2, 3]), (x.shape, "float32")), x


def test_weights_are_stored_in_halves_before_anything_is_computed():
    """Rounding of a weight does not average out over positions. References saw the weights before; what follows is known."""
    wide, x = averaged()
    stored = with_storage(wide, "float16", "float32")
    (native,), (unrounded,) = ModelReference(stored).run([x]), ModelReference(wide).run([x])
    judged = judge_by_truth(stored, wide, [x], {"TVM llvm": [unrounded]}, unchecked := [], UNITS)
    assert not unchecked
    assert set(judged) == {"float64", "TVM llvm"}
    (truth,), (other,) = judged["float64"], judged["TVM llvm"]
    for found in (compare(native, truth), compare(native, other)):
        assert found.ok
        assert not found.uninformative
    assert not compare(unrounded, truth).ok, "this is the error of the weights"
    wrong = native * np.float32(1.004)
    assert not compare(wrong, truth).ok
    assert not compare(wrong, other).ok


def test_functions_of_halves_are_as_exact_as_opencl_wants_halves():
    """pow is off by 4 ulp in half and by 16 in float, also where a twin computes halves as floats."""
    module = primfuncs(lambda b, x: relax.op.power(x, x), ((64,), "float16"))
    function, alone = only_function(module)
    x = np.linspace(1.5, 4, 64).astype("float16")
    args = [x, x, np.zeros_like(x)]
    ulps = []
    for units, dtype in ((Units("float16", False), "float16"), (Units("float32", False), "float32")):
        expected = expect(KernelTruth(alone).run(function, args, units)[-1], dtype, units, drift=False)
        ulps.append(expected.allowed / np.spacing(np.abs(expected.array)))
    halves, twin = (float(found.max()) for found in ulps)
    assert 4 < halves < 10 * 4 < twin < 10 * 16


def test_outputs_without_rounding_are_kept_on_disk(tmp_path, monkeypatch):
    """Found again for the same weights and inputs; other ones are computed."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    runs = []
    follow = truth_model.follow
    monkeypatch.setattr(truth_model, "follow", lambda *args: runs.append(1) or follow(*args))
    x = np.ones((4, 8), "float16")

    def outputs(weight, data):
        scaled = model(lambda b, x: relax.op.multiply(x, relax.const(np.full((4, 8), weight, "float16"))), ((4, 8), "float16"))
        return ModelTruth(scaled).run([data], UNITS)[0][0].value[0, 0]

    assert [outputs(2, x), outputs(2, x)] == [2, 2]
    assert len(runs) == 1
    assert [outputs(3, x), outputs(3, 2 * x)] == [3, 6]
    assert len(runs) == 3
