"""Layers in other layouts and types, by the workflow of the seed: ConvertLayout in a LayoutConfig, then recast."""

import warnings

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.doctor.models import module  # noqa: E402
from adreno_sim.compiler.layers import LayoutConfig, convert_hwnc, convert_layout, count_layers, recast  # noqa: E402
from adreno_sim.compiler.lower.targets import make_target  # noqa: E402
from adreno_sim.compiler.memory_scopes.demand import bindings, op_name  # noqa: E402
from adreno_sim.compiler.passes.registry import choose  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.compiler.schedule_database.tasks import find_tasks  # noqa: E402
from adreno_sim.compiler.schedule_search import space  # noqa: E402
from adreno_sim.compiler.schedule_search.judge import Judge, Rejection, Verdict  # noqa: E402
from adreno_sim.compiler.schedule_search.search import tune  # noqa: E402
from adreno_sim.golden.model_reference import ModelReference  # noqa: E402

pytestmark = pytest.mark.tvm

SHAPE = (1, 8, 6, 6)
HWNC = {"nn.conv2d": ["HWNC", "default"]}


def small(*shape):
    return relax.const(np.random.default_rng(shape).integers(-1, 2, shape).astype("float32"))


def two():
    """Two convolutions of small whole numbers, one after the other."""

    def body(x):
        first = relax.op.nn.relu(relax.op.nn.conv2d(x, small(8, 8, 1, 1)))
        return relax.op.nn.conv2d(first, small(4, 8, 3, 3), padding=1)

    return module(body, SHAPE)


def product():
    return module(lambda x: relax.op.matmul(relax.op.nn.relu(x), small(4, 4)), (2, 4))


def data():
    return [np.random.default_rng(1).integers(-1, 2, SHAPE).astype("float32")]


def layouts(mod):
    calls = (b.value for b in bindings(mod["main"]) if hasattr(b, "value") and hasattr(b.value, "op"))
    return [(str(c.attrs.data_layout), str(c.attrs.kernel_layout)) for c in calls if op_name(c) == "relax.nn.conv2d"]


def convolution(x, w, pad):
    """conv2d in NCHW of whole numbers, in NumPy."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad))).astype(int)
    return np.einsum("nchwyx,ocyx->nohw", np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3)), w.astype(int))


def expected():
    rng = [np.random.default_rng(shape).integers(-1, 2, shape) for shape in ((8, 8, 1, 1), (4, 8, 3, 3))]
    return convolution(np.maximum(convolution(data()[0], rng[0], 0), 0), rng[1], 1)


@pytest.mark.parametrize("convert", [relax.transform.ConvertLayout, convert_layout], ids=["TVM's", "convert_layout"])
def test_the_scope_steers_convert_layout(convert):
    everywhere = ("HWNC", "HWOI")
    with LayoutConfig(skip_layers=[0]):
        steered = convert(HWNC)
        assert layouts(steered(two())) == [("NCHW", "OIHW"), everywhere]
    assert layouts(steered(two())) == [everywhere] * 2, "the scope counts where the pass is applied"
    with LayoutConfig(skip_layers=[-1]):
        assert layouts(tvm.transform.Sequential([steered])(two())) == [everywhere, ("NCHW", "OIHW")]


def test_a_users_callback_still_decides_for_the_other_layers():
    with LayoutConfig(skip_layers=[0]):
        nhwc = {"relax.nn.conv2d": ["NHWC", "OHWI"]}
        found = relax.transform.ConvertLayout(HWNC, lambda call: nhwc)(two())
    assert layouts(found) == [("NCHW", "OIHW"), ("NHWC", "OHWI")]


def test_a_scope_that_did_nothing_says_so():
    with pytest.warns(UserWarning, match=r"LayoutConfig\(skip_layers=\[0\]\) did nothing"), LayoutConfig(skip_layers=[0]):
        compile_model(two(), target="buffer")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with LayoutConfig(skip_layers=[0]):
            compile_model(two(), target="texture")
        with LayoutConfig():
            compile_model(two(), target="buffer")


@pytest.mark.parametrize(
    ("desired", "found"),
    [
        ({"nn.conv2d": ["NHWC", "default"]}, ("NHWC", "HWIO")),
        ({"relax.nn.conv2d": ["NHWC", "OHWI", "default"]}, ("NHWC", "OHWI")),
        (HWNC, ("HWNC", "HWOI")),
        ({"nn.conv2d": ["HWNC"]}, ("HWNC", "HWOI")),
        ({"nn.conv2d": ["NCHW4c", "default"]}, ("NCHW4c", "OIHW4o")),
        ({"nn.conv2d": ["default", "default"]}, ("NCHW", "OIHW")),
    ],
)
def test_names_and_defaults(desired, found):
    assert layouts(convert_layout(desired)(two())) == [found] * 2


@pytest.mark.parametrize(
    ("desired", "said"),
    [
        ({"nn.conv9d": ["NHWC"]}, r"relax\.nn\.conv9d: expected names"),
        ({"nn.conv2d": ["CHWN", "default"]}, "not beside CHWN: name it"),
    ],
)
def test_bad_layouts(desired, said):
    with pytest.raises(AdrenoSimError, match=said):
        convert_layout(desired)


def test_counting_functions_and_modules():
    mod = two()
    assert count_layers(mod) == count_layers(mod["main"]) == count_layers(mod, None) == 2
    assert count_layers(product(), None) == 1
    assert count_layers(product()) == 0
    with pytest.raises(AdrenoSimError, match="expected an IRModule or a Relax function, got str"):
        count_layers("model.onnx")


def test_no_operators_named_means_all_layers():
    made = recast(product(), "float16", "float32", ops=None)
    assert str(made).count('dtype="float16"')
    assert count_layers(made, None) == 1
    tvm.ir.assert_structural_equal(recast(two(), "float16", ops=None), recast(two(), "float16", ops=["nn.conv2d"]))


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("skip", [(), (0,)], ids=["all", "skip-0"])
@pytest.mark.parametrize("how", ["int4", "int4 of HWNC", "int8", "HWNC int8"])
def test_small_integers_one_layer_after_another(adreno, how, skip, target):
    """Right for textures too, against NumPy and TVM's llvm; the layers skipped are what they were."""
    mod = two()
    if how == "int4 of HWNC":
        with LayoutConfig(skip_layers=skip):
            mod = relax.transform.ConvertLayout(HWNC)(mod)
    if how == "HWNC int8":
        made = convert_hwnc(mod, "int8", skip)
    else:
        made = recast(mod, how[:4], "int32", skip_layers=skip)
    report = adreno_sim.check(made, data(), device=adreno, target=target)
    assert report.ok, report
    np.testing.assert_array_equal(vm.run(compile_model(made, target=target), data(), adreno)[0], expected())
    np.testing.assert_array_equal(ModelReference(made).run(data())[0], expected())
    assert count_layers(made) == (2 if how == "int8" else len(skip))


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (two, {"out_dtype": "int8"}, "recast from int4 to int8: sums of int4 are int32"),
        (product, {"ops": None}, r"layer 0 in int4: matmul has no kernel for it, nn\.conv2d alone has"),
    ],
)
def test_int4_that_there_is_not(make, options, said):
    with pytest.raises(UnsupportedError, match=said):
        recast(make(), "int4", **options)


def in_hwnc(how):
    return relax.transform.ConvertLayout({"relax.nn.conv2d": ["HWNC", "HWOI"]})(two()) if how == "TVM's" else convert_hwnc(two())


@pytest.mark.parametrize("how", ["TVM's", "int8"])
def test_the_tuner_knows_convolutions_in_hwnc(adreno, tmp_path, how):
    first, second = find_tasks(in_hwnc(how), make_target("buffer"), choose())
    assert first.anchor == second.anchor == "conv2d_hwnc"
    candidate = space.design_spaces(tvm.s_tir.Schedule(second.module, seed=1))[0]
    built = Judge(second, adreno).build(candidate, tmp_path / "candidate.asim")
    assert not isinstance(built, Rejection), built
    assert isinstance(Judge(second, adreno).run(built.compiled), Verdict)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["TVM's", "int8"])
def test_tuned_convolutions_in_hwnc_are_right(tmp_path, how):
    mod = in_hwnc(how)
    report = tune(mod, tmp_path / "db", trials=2, target="buffer", only=["conv2d"])
    assert all(any(trial.accepted for trial in task.trials) for task in report.tasks), report
    assert adreno_sim.check(mod, data(), device="sim:adreno-740", target="buffer", tuned=tmp_path / "db").ok
