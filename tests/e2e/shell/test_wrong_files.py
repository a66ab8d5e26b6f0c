"""What newcomers name by mistake (another kind of file, nothing, a pipe, text in UTF-16): one line says what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from adreno_sim.cli import kernel
from adreno_sim.cli.main import main

KERNEL = "kernel void k(global float *a) { a[get_global_id(0)] = 1; }\n"
LAUNCH = """\
source = "k.cl"
global_size = [4]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 4
"""
MARK = "\ufeff"
"""With which some editors begin a text."""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    Path("k.cl").write_text(KERNEL)
    Path("-k.cl").write_text(KERNEL)
    Path("k.toml").write_text(LAUNCH)
    Path("gone.toml").write_text(LAUNCH.replace("k.cl", "gone.cl"))
    Path("empty.cl").write_text("")
    Path("no.cl").write_text("int f(int x) { return x; }\n")
    Path("wide.cl").write_text(KERNEL, encoding="utf-16")
    Path("m.py").write_text("")
    Path("folder.toml").mkdir()


NO_KERNEL = "no kernel in it: expected a function that begins with kernel or __kernel"
NO_NAME = "expected a name, got an empty one"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["kernel", "k.toml"], "k.toml: expected a kernel, as FILE.cl, got a launch file; next: --launch k.toml"),
        (["kernel", "k.cl", "k.toml"], "k.toml: expected a kernel, as FILE.cl, got a launch file; next: --launch k.toml"),
        (["kernel", "m.onnx"], "m.onnx: expected a kernel, as FILE.cl, got a model; next: adreno-sim check m.onnx"),
        (["kernel", "m.py"], "m.py: expected a kernel, as FILE.cl; --function NAME runs a PrimFunc of a .py file"),
        (
            ["kernel", "--launch", "k.cl"],
            "--launch: k.cl: expected a launch file, as SPEC.toml, got a kernel; next: ",
        ),
        (["debug", "k.toml"], "k.toml: expected a kernel, as FILE.cl, got a launch file; next: --launch k.toml"),
        (["kernel", "empty.cl"], f"empty.cl: {NO_KERNEL}"),
        (["kernel", "no.cl", "--launch", "k.toml"], f"no.cl: {NO_KERNEL}"),
        (["debug", "no.cl", "--launch", "k.toml"], f"no.cl: {NO_KERNEL}"),
        (["init", "no.cl"], f"no.cl: {NO_KERNEL}"),
        (["kernel", "wide.cl"], "wide.cl: not OpenCL C: text in UTF-16: save it in UTF-8"),
        (["kernel", "--launch", "gone.toml"], "gone.toml: source: gone.cl: cannot be read: No such file or directory"),
        (["debug", "--launch", "gone.toml"], "gone.toml: source: gone.cl: cannot be read: No such file or directory"),
        (["kernel", "/dev/null"], "/dev/null: a pipe or a device: expected a file, which a launch file can name"),
        (["devices", "--profile", "folder.toml"], "device profile folder.toml: cannot be read: Is a directory"),
        (["kernel", ""], f"FILE: {NO_NAME}"),
        (["kernel", "k.cl", "--launch", ""], f"--launch: {NO_NAME}"),
        (["kernel", "k.cl", "--json", ""], f"--json: {NO_NAME}"),
        (["kernel", "k.cl", "--profile-self="], f"--profile-self: {NO_NAME}"),
        (["kernel", "k.cl", "--launch", "k.toml", "--root", ""], "--root: an empty name: expected a folder that is there"),
        (["init", "k.cl", "-o", ""], f"--output: {NO_NAME}"),
        (["check", ""], f"MODEL: {NO_NAME}"),
        (["sweep", "m.onnx", ""], f"MODELS: {NO_NAME}"),
        (["run", "--html", "", "--", "true"], f"--html: {NO_NAME}"),
        (["layout", "image2d", "8x8", "--svg", ""], f"--svg: {NO_NAME}"),
        (["kernel", "-k.cl"], "unrecognized arguments: -k.cl; the file of this name is ./-k.cl (see"),
        (["layout", "image2d", "-8x8"], "required: SIZE; -8x8 begins with - as options do: -- goes before such names (see"),
        (["layout", "image2d", "8x8", "--at", "-1,0"], "one argument; a value that begins with - is written --at=-1,0 (see"),
        (["kernel", "k.cl", "--build-options", "--json", "j"], "argument --build-options: expected one argument (see"),
        (["kernel", "k.cl", "--device", "adreno-650"], "or --launch; did you mean sim:adreno-650?"),
    ],
)
def test_one_line_says_what_to_do(args, said, capsys):
    before = sorted(os.listdir())
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err
    assert sorted(os.listdir()) == before


def test_a_mark_before_the_text_changes_nothing(capsys):
    for name in ("k.cl", "k.toml"):
        Path(name).write_text(MARK + Path(name).read_text().replace("\n", "\r\n"), encoding="utf-8")
    Path("pyproject.toml").write_text(MARK + "[tool.adreno-sim]\nstrict = true\n", encoding="utf-8")
    Path("t.csv").write_text(MARK + "id,lower,upper,size\na,0,2,64\n", encoding="utf-8")
    assert main(["kernel", "--launch", "k.toml"]) == 0
    assert main(["footprint", "t.csv"]) == 0
    assert "error" not in capsys.readouterr().err


def test_options_of_the_compiler_need_no_equals_sign(capsys):
    Path("n.cl").write_text(KERNEL.replace("= 1", "= N"))
    assert main(["kernel", "n.cl", "--build-options", "-DN=4"]) == 0
    assert main(["kernel", "n.cl", "--build-options=-DN=4"]) == 0
    assert main(["init", "n.cl", "--options", "-DN=4", "-o", "n.toml"]) == 0
    assert 'options = "-DN=4"' in Path("n.toml").read_text()
    assert main(["kernel", "--", "-k.cl"]) == 0
    capsys.readouterr()


def test_a_limit_of_the_system_is_not_a_bug(monkeypatch, capsys):
    def fail(args):
        raise OSError(errno.EMFILE, "Too many open files", "k.cl")

    monkeypatch.setattr(kernel, "_kernel", fail)
    assert main(["kernel", "k.cl"]) == 2
    assert capsys.readouterr().err == "error: more open files than this process may have (ulimit -n): Too many open files k.cl\n"


def test_an_error_of_the_system_without_a_limit_is_a_bug(monkeypatch, capsys):
    def fail(args):
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(kernel, "_kernel", fail)
    assert main(["kernel", "k.cl"]) == 4
    assert "(a bug; " in capsys.readouterr().err
