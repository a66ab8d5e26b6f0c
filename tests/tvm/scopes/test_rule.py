"""Which scope wins where consumers disagree: the same option wherever a model is compiled, and both rules side by side."""

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
from adreno_sim.compiler.doctor.models import conv, convolution, module  # noqa: E402
from adreno_sim.compiler.explain.memory_scopes import scope_stages  # noqa: E402
from adreno_sim.compiler.lower.pipeline import lower  # noqa: E402
from adreno_sim.compiler.memory_scopes.scoping import Scoping  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402
from adreno_sim.compiler.schedule_search import search  # noqa: E402
from adreno_sim.golden.model_reference import ModelReference  # noqa: E402
from adreno_sim.sweep.run import Sweep  # noqa: E402

pytestmark = pytest.mark.tvm

SHAPE = (1, 8, 8, 8)


def branches():
    """Two convolutions want the entry as a texture, average pooling as a buffer; TVM's pass lets the pooling win."""

    def body(x):
        entry = relax.op.nn.relu(conv(x, kernel=1))
        return relax.op.concat(
            [conv(entry, kernel=1), conv(entry), relax.op.nn.avg_pool2d(entry, (3, 3), padding=(1, 1))], axis=1
        )

    return module(body, SHAPE)


def test_the_rule_decides_what_is_compiled():
    images = {
        rule: sum(
            param.kind == "image" for kernel in compile_model(branches(), rule=rule).kernels.values() for param in kernel.params
        )
        for rule in ("tvm", "fewest-copies")
    }
    assert images["fewest-copies"] > 0
    assert images["fewest-copies"] != images["tvm"]


@pytest.mark.parametrize("pipeline", ["fixed", "stock"])
def test_a_run_copies_once_and_not_twice(adreno, pipeline):
    made = {rule: lower(branches(), "texture", pipeline, scoping=Scoping(rule)) for rule in ("tvm", "fewest-copies")}
    counts = {rule: str(lowered.relax["main"]).count("to_device") for rule, lowered in made.items()}
    assert counts == {"tvm": 2, "fewest-copies": 1}


@pytest.mark.parametrize("rule", ["fewest-copies", "tvm"])
def test_values_are_those_of_llvm(adreno, rule):
    x = np.random.default_rng(0).standard_normal(SHAPE).astype("float32")
    report = adreno_sim.check(branches(), [x], device=adreno, rule=rule)
    assert report.ok, report
    assert report.scopes.rule == rule, report
    (got,) = vm.run(compile_model(branches(), rule=rule), [x], adreno)
    np.testing.assert_allclose(got, ModelReference(branches()).run([x])[0], rtol=1e-4, atol=1e-5)


@pytest.mark.representative
def test_both_rules_side_by_side():
    _, report = scope_stages(branches())
    theirs, ours = report.compared
    assert (theirs.rule, ours.rule) == ("tvm", "fewest-copies")
    assert (theirs.copies, ours.copies) == (2, 1)
    assert theirs.copied_elements == 2 * ours.copied_elements > 0
    assert [*theirs.contested.values()] == ["global"]
    assert next(iter(ours.contested.values())).startswith("global.texture")
    assert scope_stages(branches(), rule="fewest-copies")[1].compared == report.compared
    assert scope_stages(convolution())[1].compared == (), "nobody disagrees: every rule decides alike"


MODEL = """
import numpy as np
from tvm import relax
from adreno_sim.compiler.doctor.models import conv, module


def body(x):
    entry = relax.op.nn.relu(conv(x, kernel=1))
    return relax.op.concat([conv(entry, kernel=1), conv(entry), relax.op.nn.avg_pool2d(entry, (3, 3), padding=(1, 1))], axis=1)


Model = module(body, (1, 8, 8, 8))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "branches.py"
    path.write_text(MODEL)
    return str(path)


def test_commands(file, tmp_path, capsys):
    out, data = tmp_path / "m.asim", tmp_path / "data.json"
    assert main(["check", file, "--rule", "fewest-copies", "--json", str(data)]) == 0
    written = json.loads(data.read_text())
    validator("report").validate(written)
    assert written["scopes"]["rule"] == "fewest-copies"
    assert main(["bundle", file, "-o", str(out), "--rule", "fewest-copies"]) == 0
    assert main(["footprint", file, "--rule", "fewest-copies"]) == 0
    assert main(["scopes", file, "--json", str(data)]) == 0
    validator("scopes").validate(json.loads(data.read_text()))
    assert "consumers disagree; what each rule (--rule) makes of it:" in capsys.readouterr().out


def test_a_tuning_folder_belongs_to_one_rule(tmp_path, monkeypatch):
    """The runs try no candidate: what they have tried does not decide it."""
    monkeypatch.setattr(search._Search, "run", lambda *given: None)
    module_ = convolution()
    folder = tmp_path / "tuned"
    assert search.tune(module_, folder, trials=1, only=["conv2d"], rule="fewest-copies").tasks
    with pytest.raises(AdrenoSimError, match="was made with rule 'fewest-copies', this run has 'tvm'"):
        search.tune(module_, folder, trials=1, only=["conv2d"])
    settings = folder / "settings.json"
    old = json.loads(settings.read_text())
    del old["rule"]
    settings.write_text(json.dumps(old))
    assert search.tune(module_, folder, trials=1, only=["conv2d"]).tasks, "a folder that names no rule is of an earlier version"


def test_each_case_of_a_sweep_is_given_the_rule(file, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr("adreno_sim.sweep.run.sweep", lambda todo, *_, **__: given.extend(todo) or Sweep(()))
    main(["sweep", file, "--rule", "fewest-copies", "--weights", "texture", "--results", str(tmp_path / "sweep")])
    (case,) = given
    assert "--rule fewest-copies --weights texture" in " ".join(case.options)


def test_refused_where_there_is_nothing_to_decide(file, capsys):
    with pytest.raises(OptionError, match=r"^rule: fewest-copies: is for texture targets"):
        compile_model(branches(), rule="fewest-copies", target="buffer")
    assert main(["tune", file, "--db", "x", "--target", "buffer", "--rule", "fewest-copies"]) == 2
    assert capsys.readouterr().err.startswith("error: --rule: fewest-copies: is for texture targets")
    with pytest.raises(AdrenoSimError, match="rule 'most': expected one of tvm, fewest-copies"):
        compile_model(branches(), rule="most")
    assert main(["sweep", file, "--targets", "texture,buffer", "--rule", "fewest-copies"]) == 2
    assert capsys.readouterr().err.startswith("error: --rule: fewest-copies: is for texture targets")
    with pytest.raises(OptionError, match=r"^rule: fewest-copies: is for texture targets"):
        compile_model(branches(), rule="fewest-copies", target={"kind": "opencl", "device": "adreno"})
