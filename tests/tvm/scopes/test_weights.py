"""Weights of packed convolutions as textures: where the rule puts them, what is uploaded, read and planned, and right values."""

import json

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from validators import validator  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim.base.errors import AdrenoSimError, OptionError  # noqa: E402
from adreno_sim.cli.main import main  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.doctor.models import conv, module  # noqa: E402
from adreno_sim.compiler.explain.memory_scopes import scope_stages  # noqa: E402
from adreno_sim.compiler.lower.pipeline import lower  # noqa: E402
from adreno_sim.compiler.lower.targets import make_target  # noqa: E402
from adreno_sim.compiler.memory_scopes.rules import weights_in_texture  # noqa: E402
from adreno_sim.compiler.memory_scopes.scoping import Scoping  # noqa: E402
from adreno_sim.compiler.passes.registry import choose  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.compiler.schedule_database.anchor import find_anchor  # noqa: E402
from adreno_sim.compiler.schedule_database.cancel import cancel_copies  # noqa: E402
from adreno_sim.compiler.schedule_database.metaschedule import meta_schedule  # noqa: E402
from adreno_sim.compiler.schedule_database.store import TuningStore, digest_of  # noqa: E402
from adreno_sim.compiler.schedule_database.tasks import find_tasks  # noqa: E402
from adreno_sim.compiler.schedule_database.variants import Variant  # noqa: E402
from adreno_sim.compiler.schedule_search import space  # noqa: E402
from adreno_sim.compiler.schedule_search.search import tune  # noqa: E402
from adreno_sim.compiler.tvm_bridge.versions import tensor_type  # noqa: E402
from adreno_sim.golden.model_reference import ModelReference  # noqa: E402

pytestmark = pytest.mark.tvm

SHAPE = (1, 8, 5, 5)
WEIGHTS = ("buffer", "texture", "relay")


def two(dtype="float32"):
    """A 3x3 and a 1x1 convolution."""
    return module(lambda x: conv(relax.op.nn.relu(conv(x, dtype=dtype)), kernel=1, dtype=dtype), SHAPE, dtype)


def grouped(groups):
    return module(lambda x: conv(x, groups=groups), SHAPE)


def scopes_of(mod, weights):
    _, report = scope_stages(mod, weights=weights)
    assert report.ok, report.violations
    return [(constant.shape[2:4], constant.scope) for constant in report.constants]


@pytest.mark.parametrize(
    ("dtype", "weights", "three", "one"),
    [
        ("float32", "buffer", "global", "global"),
        ("float32", "texture", "global.texture-weight", "global.texture-weight"),
        ("float32", "relay", "global", "global.texture-weight"),
        ("float16", "relay", "global.texture-weight", "global.texture-weight"),
    ],
)
def test_where_weights_lie(dtype, weights, three, one):
    assert scopes_of(two(dtype), weights) == [(("3", "3"), three), (("1", "1"), one)]


@pytest.mark.parametrize(
    ("shape", "dtype", "constant", "texture"),
    [
        ((2, 8, 3, 3, 4), "float32", True, False),
        ((2, 8, 3, 1, 4), "float32", True, True),
        ((2, 8, 1, 3, 4), "float32", True, True),
        ((2, 8, 3, 3, 4), "float16", True, True),
        ((2, 8, 3, 3, 4), "float32", False, True),
    ],
)
def test_the_rule_of_relay(shape, dtype, constant, texture):
    assert weights_in_texture("relay", shape, dtype, constant) == texture
    assert weights_in_texture("texture", shape, dtype, constant)
    assert not weights_in_texture("buffer", shape, dtype, constant)


@pytest.mark.parametrize("pipeline", ["fixed", "stock"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_nothing_is_copied_in_a_run(weights, pipeline):
    lowered = lower(two(), "texture", pipeline, scoping=Scoping(weights=weights))
    assert "to_device" not in str(lowered.relax["main"])
    assert "to_vdevice" not in str(lowered.relax["main"])


def test_tvms_executable_holds_the_scope_of_the_constants(tmp_path):
    """TVM's VM saves the memory scope of each constant, and uploads it so when the executable is loaded."""
    from tvm.relax import vm_build

    def saved(weights):
        lowered = lower(grouped(1), "texture", scoping=Scoping(weights=weights))
        builder = relax.ExecBuilder()
        vm_build._vmcodegen(builder, lowered.relax, "bytecode")
        file = tmp_path / f"{weights}.ro"
        builder.get().mod.write_to_file(str(file))
        return file.read_bytes().count(b"global.texture-weight")

    assert (saved("buffer"), saved("texture")) == (1, 2), "one is the string of alloc_tensor for the activation"


def fetched(mod, weights):
    """(texels read, work-items) of the kernel that convolves."""
    report = adreno_sim.check(mod, device="sim:adreno-740", weights=weights, counters=True)
    (found,) = (row.counters for row in report.kernels if "conv2d" in row.name)
    return sum(row.reads for row in found.memory if row.kind == "image"), found.work_items


@pytest.mark.parametrize("inputs", [8, pytest.param(16, marks=pytest.mark.slow)])
def test_each_texel_of_weights_is_read_once(inputs):
    """Eight outputs are two texels for each input channel: so many reads of a work-item, not one for each lane."""
    mod = module(lambda x: conv(x, inputs=inputs, kernel=1), (1, inputs, 4, 4))
    data, items = fetched(mod, "buffer")
    both, same = fetched(mod, "texture")
    assert items == same
    assert both - data == items * 2 * inputs


@pytest.mark.each_value
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    "make", [two, lambda: two("float16"), lambda: grouped(2), lambda: grouped(8)], ids=["32", "16", "g2", "g8"]
)
def test_values_are_those_of_llvm(adreno, make, weights):
    mod = make()
    dtype = "float16" if "float16" in mod.script() else "float32"
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(dtype)
    report = adreno_sim.check(mod, [x], device=adreno, weights=weights)
    assert report.ok, report
    assert report.checked == report.kernels_in_model, report
    assert report.scopes.weights == weights, report
    (got,) = vm.run(compile_model(mod, weights=weights), [x], adreno)
    wide = ModelReference(mod).run([x])[0].astype("float32")
    np.testing.assert_allclose(got.astype("float32"), wide, rtol=1e-4, atol=2e-2 if dtype == "float16" else 1e-5)


def given_weights():
    """A convolution whose weights are a parameter."""
    builder = relax.BlockBuilder()
    x, w = relax.Var("x", tensor_type(SHAPE, "float32")), relax.Var("w", tensor_type((8, 8, 3, 3), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.nn.conv2d(x, w)))
        builder.emit_func_output(result)
    return builder.get()


def test_weights_that_are_parameters_are_packed_into_a_texture(adreno):
    mod = given_weights()
    _, report = scope_stages(mod, weights="texture")
    packed = [tensor.scope for tensor in report.tensors if tensor.shape == ("2", "8", "3", "3", "4")]
    assert packed == ["global.texture-weight"]
    assert not report.left
    assert adreno_sim.check(mod, device=adreno, weights="texture").ok


def test_the_plan_pads_the_rows_of_weights():
    """Depthwise weights are rows of 9 texels, 144 bytes, which are padded to 192."""
    plans = {weights: compile_model(grouped(8), weights=weights).plan for weights in ("buffer", "texture")}
    sizes = {weights: [t.nbytes for t in plan.fixed if t.kind == "constant"] for weights, plan in plans.items()}
    assert sizes == {"buffer": [2 * 144], "texture": [2 * 192]}
    assert {weights: plan.summary.constants for weights, plan in plans.items()} == {"buffer": 288, "texture": 384}


def test_a_tuned_stage_for_weights_is_cancelled_like_that_for_the_data():
    (task,) = find_tasks(grouped(1), make_target("texture"), choose(), Scoping(weights="texture"))
    assert task.textures >= {0, 1}
    schedule = tvm.s_tir.Schedule(task.scoped)
    space.apply(schedule, find_anchor(schedule), Variant("guarded", "texture", "texture"))
    assert len(cancel_copies(schedule)) == 2
    (plain,) = find_tasks(grouped(1), make_target("texture"), choose())
    assert 1 not in plain.textures


@pytest.mark.slow
def test_a_model_tuned_with_weights_in_textures_is_right(tmp_path, adreno):
    assert tune(grouped(1), tmp_path / "db", trials=2, weights="texture").tasks
    assert adreno_sim.check(grouped(1), device=adreno, weights="texture", tuned=tmp_path / "db").ok


@pytest.mark.parametrize(("make", "stages"), [(lambda: grouped(1), 0), (given_weights, 1)], ids=["constant", "parameter"])
def test_weights_in_a_buffer_become_the_texture_that_a_tuned_schedule_reads(make, stages, tmp_path, adreno):
    """Constants do, once; what a run makes is copied in each run."""
    target = make_target("texture")
    (task,) = find_tasks(make(), target, choose())
    assert task.weights == ({1} if stages == 0 else set())
    assert 1 not in task.textures
    schedule = tvm.s_tir.Schedule(task.module)
    space.apply(schedule, find_anchor(schedule), Variant("guarded", "texture", "texture"))
    with TuningStore(tmp_path / "db", {}) as store:
        best = {"kind": "trial", "task": digest_of(task.module), "number": 0, "accepted": True, "rank": 1e-9}
        best |= {"variant": "guarded", "decisions": []}
        arguments = meta_schedule().arg_info.ArgInfo.from_entry_func(task.module, remove_preproc=True)
        store.add(best, task.module, schedule.trace, arguments, target)
    kernels = [name for name in compile_model(make(), tuned=tmp_path / "db").kernels if "conv2d" in name]
    assert len(kernels) == 1 + stages
    report = adreno_sim.check(make(), device=adreno, tuned=tmp_path / "db")
    assert report.ok, report
    assert next(iter(report.tuned.values())).endswith(f"staging copies cancelled: {2 - stages}"), report


MODEL = """
from tvm import relax
from adreno_sim.compiler.doctor.models import conv, module

Model = module(lambda x: conv(relax.op.nn.relu(conv(x)), kernel=1), (1, 8, 5, 5))
"""


def test_commands(tmp_path, capsys):
    model, data, out = tmp_path / "model.py", tmp_path / "data.json", tmp_path / "m.asim"
    model.write_text(MODEL)
    assert main(["check", str(model), "--weights", "texture", "--json", str(data)]) == 0
    written = json.loads(data.read_text())
    validator("report").validate(written)
    assert written["scopes"]["weights"] == "texture"
    assert main(["scopes", str(model), "--weights", "relay", "--json", str(data)]) == 0
    written = json.loads(data.read_text())
    validator("scopes").validate(written)
    assert [constant["scope"] for constant in written["constants"]] == ["global", "global.texture-weight"]
    assert "constant weights of packed convolutions: 1 in global, 1 in texture-weight" in capsys.readouterr().out
    assert main(["bundle", str(model), "-o", str(out), "--weights", "texture"]) == 0
    assert main(["check", str(out)]) in (0, 1)
    assert main(["footprint", str(model), "--weights", "texture"]) == 0
    assert main(["precision", str(model), "--weights", "texture"]) == 0
    capsys.readouterr()
    assert main(["check", str(model), "--weights", "texture", "--target", "buffer"]) == 2
    assert capsys.readouterr().err.startswith("error: --weights: texture: is for texture targets")


def test_refusals():
    with pytest.raises(AdrenoSimError, match="weights 'image': expected one of buffer, texture, relay"):
        compile_model(two(), weights="image")
    with pytest.raises(OptionError, match=r"^weights: texture: is for texture targets"):
        compile_model(two(), weights="texture", target={"kind": "opencl", "device": "adreno"})
