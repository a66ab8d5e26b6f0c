"""Options that say nothing about what they are given with are refused, with the reason, in every command."""

from __future__ import annotations

from pathlib import Path

import handmade
import pytest

import adreno_sim
from adreno_sim.base.errors import OptionError
from adreno_sim.cli import options as cli_options
from adreno_sim.cli.main import main
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.lower.compile_options import COMPILING, CompileOptions

pytestmark = pytest.mark.e2e

VALUES = {
    "--target": "texture", "--entry": "main", "--pipeline": "fixed", "--without-fix": "texture-store", "--dtype": "float32",
    "--accumulate": "float32", "--rule": "tvm", "--weights": "buffer", "--recast": "float16", "--layout": "default",
    "--skip-layers": "0", "--clml-min-flops": "0", "--clml-min-operators": "1", "--tuned": "folder",
    "--shape": "x=4", "--input-value": "x=1",
}  # fmt: skip
"""A value for every option of compiling: the default where there is one, which is refused where it says nothing all the same."""

COMPILED = "a bundle is compiled already; give the model itself"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A bundle, a trace, and what is no model; no command of this file writes beside them."""
    made = tmp_path_factory.mktemp("given")
    handmade.texture().save(made / "m.asim")
    (made / "t.csv").write_text("id,lower,upper,size\na,0,2,64\nb,1,3,64\n")
    (made / "m.onnx").write_bytes(b"never read")
    return made


@pytest.fixture(autouse=True)
def files(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)


def refused(capsys, *args: str) -> str:
    assert main([*args]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


def test_every_option_of_compiling_has_a_value_here():
    assert {*cli_options.COMPILE, "--shape"} == set(VALUES)
    assert {cli_options.flag_of(name) for name in COMPILING} == set(cli_options.COMPILE)


@pytest.mark.parametrize("command", ["check", "reproduce", "footprint"])
def test_a_bundle_is_not_compiled_again(capsys, command):
    more = ["--to", "case"] if command == "reproduce" else []
    for flag in cli_options.COMPILE:
        assert refused(capsys, command, "m.asim", flag, VALUES[flag], *more) == f"{flag}: {COMPILED}"


@pytest.mark.parametrize("command", [["run", "--", "true"], ["precision", "m.onnx"], ["doctor"]], ids=lambda words: words[0])
def test_a_report_without_counters_is_not_counted_for(capsys, command):
    words = [command[0], "--device", "sim:adreno-740,counters=true", *command[1:]]
    assert refused(capsys, *words) == "--device: counters: this command reports none; check and kernel do (--counters)"


def test_traces_and_plans_are_no_models(capsys, tmp_path):
    plan = str(tmp_path / "p.json")
    assert main(["footprint", "m.asim", "--plan-json", plan]) == 0
    capsys.readouterr()
    for flag, value in VALUES.items():
        assert refused(capsys, "footprint", "t.csv", flag, value).startswith(f"{flag}: is for models; t.csv is a trace")
        assert refused(capsys, "footprint", plan, flag, value).startswith(f"{flag}: is for models; {plan} is a plan")


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ("check m.asim --save n.asim", "--save: this is a bundle already"),
        ("check m.asim --time-limit 9", "--time-limit: is for a check in a separate process (--isolate)"),
        ("check m.asim --shape z=4", "shape given for 'z', but the inputs are x"),
        ("check m.onnx --accumulate float16", "--accumulate: float16: is for dtype float16"),
        ("check m.onnx --clml-min-flops 0", "--clml-min-flops: is for OpenCL ML: target clml or clml-texture, not texture"),
        ("check m.onnx --target buffer --clml-min-operators 2", "--clml-min-operators: is for OpenCL ML"),
        ("reproduce m.asim --to case --kernel none", "--kernel: none: the model has no such kernel; there are: "),
        ("bundle m.asim -o n.asim", "a bundle is made from the model's source, and this is one already"),
        ("bundle m.onnx -o n.asim --input x.npz", "--input: is for golden results, which were not asked for (--golden)"),
        ("footprint m.asim --shape x=4", f"--shape: {COMPILED}"),
        ("footprint m.asim --seconds 9", "--seconds: is for the planner optimal, which --planners does not name"),
        ("footprint m.asim --draw arena", "--draw: is for --html, --svg, --png and --plan-json, and none of these is given"),
        ("footprint m.asim --bound n=1:2", "bounds for 'n': the model's symbols are none"),
        ("footprint t.csv --bound n=1:2", "--bound: is for models; t.csv is a trace, whose tensors are known"),
        ("footprint t.csv --pitch-rule bytes", "--pitch-rule: is for tensors with shapes; t.csv is a trace, which gives sizes"),
        ("scopes m.asim", "m.asim: a bundle is compiled already; give the model itself"),
        ("scopes m.onnx --stage list --json s.json", "--json: is for the report; --stage prints a module instead"),
        ("scopes m.onnx --stage list --all", "--all: is for the report; --stage prints a module instead"),
        ("precision m.asim", "m.asim: a bundle is compiled already; give the model itself"),
        ("tune m.asim --db folder", "m.asim: a bundle is compiled already; give the model itself"),
        ("tune m.onnx --db folder --check-on sim:adreno-650", "--check-on: is for a real device; adreno-740 checks what it runs"),
        ("sweep m.asim --targets buffer", "--targets: every model is a bundle, compiled already"),
        ("sweep m.onnx m.asim --pipeline stock", "--pipeline: m.asim is compiled already; sweep bundles apart from models"),
        ("sweep m.onnx --accumulate float16", "--accumulate: float16: is for dtype float16"),
        ("sweep m.onnx --scheduler tcp://127.0.0.1:1 --no-cache", "--no-cache: is for this machine; set ADRENO_SIM_CACHE=off"),
        ("sweep m.onnx --fresh --retry", "--retry: runs some cases once more, and --fresh every one"),
        ("sweep m.onnx --devices sim:adreno-740 cl:0 --checks full", "--checks: full: cl:0 is a real device"),
    ],
)  # fmt: skip
def test_command_lines(capsys, args, reason):
    command = args.split()[0]
    if command in ("scopes", "precision", "tune"):
        pytest.importorskip("tvm")
    assert refused(capsys, *args.split()).startswith(reason)
    assert not Path("n.asim").exists()


def test_in_python_by_the_names_of_keywords():
    model = handmade.texture()
    for name in COMPILING:
        with pytest.raises(OptionError, match=f"^{name}: a bundle is compiled already"):
            adreno_sim.check(model, **{name: VALUES[cli_options.flag_of(name)]})
    for name, value in {"shapes": {"x": (4,)}, "seed": 1}.items():
        with pytest.raises(OptionError, match=f"^{name}: a bundle is compiled already"):
            compile_model(model, **{name: value})
    assert compile_model(model, tuned=None, shapes={}) is model


def test_the_seed_also_orders_work_items(monkeypatch):
    """Where `check` opens the device; by default, the device's own option stands."""
    from adreno_sim.compiler.check import device
    from adreno_sim.compiler.check.stages import context

    opened = []

    def noted(*args, **options):
        opened.append(adreno_sim.open_device(*args, **options))
        return opened[-1]

    for module in (device, context):
        monkeypatch.setattr(module, "open_device", noted)
    adreno_sim.check(handmade.texture(), device="sim:adreno-740,seed=7", seed=3, compare_with="sim:reference,seed=8")
    adreno_sim.check(handmade.texture(), device="sim:adreno-740,seed=7", compare_with="sim:reference,seed=8")
    assert [device.options.seed for device in opened] == [3, 3, 7, 8]


def test_what_is_given_is_passed_on():
    from adreno_sim.cli.main import _parser

    args = _parser().parse_args(
        [
            "check",
            "m.onnx",
            "--shape",
            "x=1x2",
            "--without-fix",
            "texture-store,texel-race",
            "--without-fix",
            "unbound-block",
            "--seed",
            "0",
        ]
    )
    found = cli_options.given_options(args, *cli_options.COMPILE, "--shape", "--seed")
    assert found == {"shapes": {"x": (1, 2)}, "without_fix": ("texture-store", "texel-race", "unbound-block"), "seed": 0}
    assert CompileOptions.of(found, "m.onnx").target == "texture"
    assert cli_options.arguments(args, "--without-fix", "--seed", "--dtype") == [
        "--without-fix", "texture-store,texel-race", "--without-fix", "unbound-block", "--seed", "0",
    ]  # fmt: skip
