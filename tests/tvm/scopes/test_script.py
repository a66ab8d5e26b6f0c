"""What is printed of a stage: TVMScript that TVM's own parser makes the same module of."""

import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.script import from_source  # noqa: E402

from adreno_sim.cli.main import main  # noqa: E402
from adreno_sim.compiler.doctor.models import conv, convolution, mean_in_texture, module, weight  # noqa: E402
from adreno_sim.compiler.explain.scope_stages import run_stages  # noqa: E402
from adreno_sim.compiler.explain.script import LARGE, constant_nbytes, script  # noqa: E402
from adreno_sim.compiler.lower.targets import make_target  # noqa: E402
from adreno_sim.compiler.passes.registry import choose  # noqa: E402

pytestmark = pytest.mark.tvm


def contested():
    def body(x):
        entry = relax.op.nn.relu(conv(x, kernel=1))
        return relax.op.concat([conv(entry, kernel=1), relax.op.nn.avg_pool2d(entry, (3, 3), padding=(1, 1))], axis=1)

    return module(body)


STOCK = [pytest.param(make, False, id=f"{make.__name__}-stock", marks=[pytest.mark.slow] if make is not convolution else [])
         for make in (convolution, mean_in_texture, contested)]  # fmt: skip
FIXED = [pytest.param(make, True, id=f"{make.__name__}-fixed", marks=[pytest.mark.slow] if make is not convolution else [])
         for make in (convolution, mean_in_texture, contested)]  # fmt: skip


def is_equal(one, other):
    try:
        tvm.ir.assert_structural_equal(one, other)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("model", "fixed"), [*FIXED, *STOCK])
def test_every_stage_parses_back_to_the_same_module(model, fixed):
    staged = run_stages(model(), make_target("texture"), choose() if fixed else ())
    before = None
    for name, found in staged.modules.items():
        if before is not None and is_equal(found, before):  # a stage that changes nothing
            continue
        before, text = found, script(found)
        tvm.ir.assert_structural_equal(from_source(text), found)
        assert "opencl:-1" not in text, name
    assert 'vdevice="opencl:0:global.texture' in script(staged.at("DefineVDevice"))


def test_a_parsed_stage_goes_on_through_the_pipeline():
    """Scopes ride in type arguments until LegalizeOps: they are not lost on the way through the text."""
    target = make_target("texture")
    staged = run_stages(contested(), target, choose())
    parsed = from_source(script(staged.at("LegalizeOps.2")))
    from adreno_sim.compiler.explain.scope_stages import stages

    with target:
        (step,) = [stage.run for stage in stages(target, choose()) if stage.name == "LegalizeOps.3"]
        tvm.ir.assert_structural_equal(step(parsed), staged.at("LegalizeOps.3"))


def wide():
    return module(lambda x: relax.op.nn.conv2d(x, weight(512, 512, 1, 1)), (1, 512, 2, 2))


def test_large_constants_are_left_out_unless_asked_for():
    found = wide()
    assert constant_nbytes(found) == LARGE
    short, whole = script(found), script(found, constants=True)
    assert short.startswith("# left out: 1,048,576 bytes of constants")
    assert len(short) < 5_000
    tvm.ir.assert_structural_equal(from_source(whole), found)


def test_command(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text(
        "from tvm import relax\nfrom adreno_sim.compiler.doctor.models import module, weight\n\n"
        "Model = module(lambda x: relax.op.nn.conv2d(x, weight(512, 512, 1, 1)), (1, 512, 2, 2))\n"
    )
    assert main(["scopes", str(model), "--stage", "FoldConstant"]) == 0
    assert capsys.readouterr().out.startswith("# left out: ")
    assert main(["scopes", str(model), "--stage", "FoldConstant", "--constants"]) == 0
    assert from_source(capsys.readouterr().out)["main"]
    for more in ([], ["--stage", "list"]):
        assert main(["scopes", str(model), "--constants", *more]) == 2
        assert "--constants: is for the module that --stage prints" in capsys.readouterr().err
