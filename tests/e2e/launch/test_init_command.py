"""`adreno-sim init`: what it writes for kernels and models runs as it stands, and nothing of the user's is lost."""

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

KERNEL = """#include "scale.h"
kernel void scale(global float *y, global const float *x, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = SCALE * x[i];
}
kernel void fill(global int *y) { y[get_global_id(0)] = TILE; }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    for name in ("src", "launches", "tests"):
        Path(name).mkdir()
    Path("src/k.cl").write_text(KERNEL)
    Path("src/scale.h").write_text("#define SCALE 3\n")
    return tmp_path


def empty_model(name):
    """An archive, as far as `init` looks into one."""
    zipfile.ZipFile(name, "w").close()


def run(capsys, *args):
    code = main([*args])
    return code, *capsys.readouterr()


def refused(capsys, *args):
    code, out, err = run(capsys, "init", *args)
    assert code == 2
    assert not out
    assert err.startswith(("error: ", "src/k.cl:"))
    assert "Traceback" not in err
    return err.removeprefix("error: ")


def test_a_launch_file_runs_as_it_stands(folder, capsys):
    code, out, err = run(capsys, "init", "src/k.cl", "--kernel", "scale", "--options=-DTILE=4", "-o", "launches/one.toml")
    assert code == 0
    assert not err
    assert out.splitlines()[0] == "wrote launches/one.toml: kernel scale, 3 arguments"
    assert "the trial launch on adreno-740 has no errors" in out
    (lines,) = re.findall("to decide: lines (.*)", out)
    text = Path("launches/one.toml").read_text().splitlines()
    assert all("# DECIDE" in text[int(number) - 1] for number in lines.split(", "))
    code, out, _ = run(capsys, "kernel", "--launch", "launches/one.toml", "--root", ".", "--checks", "full", "--strict")
    assert code == 0, out
    code, out, _ = run(capsys, "kernel", "--launch", "launches/one.toml", "--root", ".", "--set", "n=2000")
    assert code == 0, out


SHIFTED = """kernel void shift(write_only image2d_t y, global const float4 *x) {
  int i = get_global_id(0);
  write_imagef(y, (int2)(i + 1, 0), x[i]);
}
"""


def test_commands_that_are_told_work_in_a_shell(folder, capsys):
    """Names with blanks and signs are quoted; others are as they are."""
    for name, shown in [("a b's", "'a b'\"'\"'s{}'"), ("plain", "plain{}")]:
        Path(f"{name}.cl").write_text(SHIFTED)
        said = run(capsys, "init", f"{name}.cl", "-o", f"{name}.toml")[1]
        assert f"next: adreno-sim kernel --launch {shown.format('.toml')}\n" in said
        said = "".join(run(capsys, "kernel", f"{name}.cl")[1:])
        assert f"adreno-sim kernel --launch {shown.format('.failing.toml')}\n" in said
        said = "".join(run(capsys, "kernel", "--launch", f"{name}.cl")[1:])
        assert f"next: adreno-sim init {shown.format('.cl')} writes one" in said
        said = "".join(run(capsys, "kernel", f"{name}.onnx")[1:])
        assert f"next: adreno-sim check {shown.format('.onnx')}\n" in said
        empty_model(f"{name}.asim")
        assert "pytest " + shlex.quote(f"test_{name}.py") in run(capsys, "init", f"{name}.asim", "-o", f"test_{name}.py")[1]


def test_extents_are_no_larger_than_is_meant(folder, capsys):
    """What a kernel needs more is told: it is no reason for a larger image. The clean twin needs no more."""
    for source, errs in [(SHIFTED, True), (SHIFTED.replace("i + 1", "i"), False)]:
        Path("shift.cl").write_text(source)
        code, out, _ = run(capsys, "init", "shift.cl", "--force")
        text = Path("launch.toml").read_text()
        assert code == 0
        assert 'width = "items_x"' in text
        assert 'count = "4 * items_x"' in text
        assert "items_x = 1024" in text
        assert ("writes y at (1024, 0), outside its extents (1024, 1)" in out) == errs
        assert run(capsys, "kernel", "--launch", "launch.toml")[0] == errs


def test_files_that_exist_stay(folder, capsys):
    Path("launch.toml").write_text("mine")
    args = ("src/k.cl", "--kernel", "fill", "--options=-DTILE=4")
    assert refused(capsys, *args) == "launch.toml: exists; --force writes over it, -o FILE writes another\n"
    assert Path("launch.toml").read_text() == "mine"
    assert run(capsys, "init", *args, "--force")[0] == 0
    assert 'kernel = "fill"' in Path("launch.toml").read_text()
    assert "would overwrite an input, src/k.cl" in refused(capsys, *args, "-o", "src/k.cl", "--force")


@pytest.mark.parametrize(
    "args, message",
    [
        (("none.cl",), "none.cl: cannot be read: No such file or directory"),
        (("src",), "src: expected a kernel (.cl, .clcpp, .ocl) or a model (.onnx, .pt2, .py, .json, .asim)"),
        (("src/scale.h",), "src/scale.h: expected a kernel"),
        (("src/k.cl", "--options=-DTILE=4"), "src/k.cl: several kernels: scale, fill; name one (--kernel)"),
        (("src/k.cl", "--options=-DTILE=4", "--kernel", "blur"), "--kernel: blur: the kernels of src/k.cl are scale, fill"),
        (("src/k.cl",), "src/k.cl:6:57: error: use of undeclared identifier 'TILE'"),
        (("src/empty.cl",), "src/empty.cl: no kernel in it"),
        (("src/binary.cl",), "src/binary.cl: not OpenCL C: it holds zero bytes"),
        (("src/k.cl", "--options=--bad"), "CL_INVALID_BUILD_OPTIONS"),
        (("src/k.cl", "--device", "cl:0"), "--device: cl:0: expected a simulated device"),
        (("src/k.cl", "--device", "sim:adreno-1"), "adreno-1"),
        (("src/k.cl", "--workflow", "github"), "--workflow: is for models; src/k.cl is a kernel"),
        (("src/k.cl", "-o", "src"), "--output: cannot write src: is a folder"),
        (("src/k.cl", "-o", "none/launch.toml"), "--output: cannot write none/launch.toml: folder none does not exist"),
        (("none.onnx",), "none.onnx: no such file; expected a .onnx, .pt2 or .py model"),
        (("model.asim", "--kernel", "k"), "--kernel: is for kernels; model.asim is a model"),
        (("../elsewhere.asim", "--workflow", "github"), "--workflow: ../elsewhere.asim lies outside the current folder"),
        (("bad.onnx",), "bad.onnx: not a readable ONNX model"),
        (("model.asim",), "model.asim: not a model: "),
        (("bad.pt2",), "bad.pt2: not a model: "),
        (("bad.py",), "bad.py:1: not Python: invalid syntax"),
        (("bad.py:make",), "bad.py:1: not Python: invalid syntax"),
        (("bad.json",), "bad.json: not a model: "),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, capsys, args, message):
    Path("src/empty.cl").write_text("")
    Path("src/binary.cl").write_bytes(b"\xff\xfe\0")
    for name in ("model.asim", "bad.onnx", "bad.pt2", "bad.py", "bad.json"):
        Path(name).write_text("no model")
    empty_model("../elsewhere.asim")
    before = sorted(folder.rglob("*"))
    err = refused(capsys, *args)
    assert message in err
    assert err.count("\n") == 1 or "undeclared" in err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("host, written", [("github", ".github/workflows/adreno.yml"), ("gitlab", "ci/adreno.gitlab-ci.yml")])
def test_a_workflow_is_the_recipe_with_the_model_in_it(folder, capsys, host, written):
    empty_model("net.asim")
    code, out, _ = run(capsys, "init", "net.asim", "--workflow", host)
    assert code == 0
    assert f"wrote {written}; to decide: line" in out
    assert "wrote ci/adreno-ci.sh\n" in out
    recipes = Path(adreno_sim.__file__).parent / "cli" / "init" / "recipes"
    recipe, made = (recipes / Path(written).name).read_text(), Path(written).read_text()
    added = [line for line in made.splitlines() if line not in recipe.splitlines()]
    assert [line.strip() for line in added] == ['ADRENO_CI_MODELS: "net.asim"']
    assert Path("ci/adreno-ci.sh").is_file()
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(made)
    assert run(capsys, "init", "net.asim", "--workflow", host)[0] == 0  # nothing changes
    Path(written).write_text("mine")
    assert "exists; --force writes over it" in refused(capsys, "net.asim", "--workflow", host, "-o", "test_other.py")
    assert Path(written).read_text() == "mine"
    assert not Path("test_other.py").exists()


def pytest_run(*args):
    """pytest in a process of its own, without the options of this run."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    root = str(Path(adreno_sim.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**environment, "PYTHONPATH": root})


@pytest.mark.parametrize("name", ["a b.asim", "net.pt2", "net.py"])
def test_what_is_written_for_a_model_is_python(folder, capsys, name):
    Path(name).touch() if name.endswith(".py") else empty_model(name)
    for args in ([name], [f"{name}:make", "-o", "tests/test_made.py"]) if name.endswith(".py") else ([name],):
        code, out, _ = run(capsys, "init", *args)
        assert code == 0, out
        written = Path(re.match("wrote (.*);", out)[1])
        text = written.read_text()
        compile(text, str(written), "exec")
        assert re.search(r"\n\n\n(@pytest|def)", text)
        assert "\n\n\n\n" not in text
        assert ("parametrize" in text) == (not name.endswith(".asim"))
        assert (':make"' in text) == ("make" in args[0])


@pytest.mark.parametrize("installed, following", [(True, "next: pytest"), (False, "next: pip install pytest, then pytest")])
def test_the_next_step_asks_for_pytest_where_it_is_missing(folder, capsys, monkeypatch, installed, following):
    monkeypatch.setattr("adreno_sim.cli.init.model.find_spec", lambda name: installed or None)
    empty_model("net.asim")
    assert f"\n{following} test_net.py\n" in run(capsys, "init", "net.asim")[1]


@pytest.mark.slow
@pytest.mark.tvm
def test_tests_of_a_model_and_of_its_bundle_pass(folder, capsys, small_onnx):
    onnx = pytest.importorskip("onnx")
    model = onnx.load(str(small_onnx))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, "open.onnx")
    assert run(capsys, "init", "open.onnx", "-o", "tests/test_open.py")[0] == 0
    assert 'SHAPES = {"data": (1, 4, 16, 16)}  # DECIDE' in Path("tests/test_open.py").read_text()
    assert run(capsys, "bundle", str(small_onnx), "-o", "my model.asim")[0] == 0
    assert run(capsys, "init", "my model.asim")[0] == 0
    done = pytest_run("tests/test_open.py", "test_my_model.py")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout, done.stdout
