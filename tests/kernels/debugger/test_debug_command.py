"""`adreno-sim debug`: scripts, their exit codes, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from debug_sessions import buffer

from adreno_sim.cli.main import main

SOURCE = "kernel void k(global int *a) {\n  int i = get_global_id(0);\n  a[i] = i * 2;\n}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.cl").write_text(SOURCE)
    head = 'source = "k.cl"\ndevice = "sim:adreno-750"\nglobal_size = ["n"]\nlocal_size = ["max(n, 1)"]\n[values]\nn = 8\n'
    Path("k.toml").write_text(head + buffer("a", 8, "int32"))
    return tmp_path


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["debug", *words])
    return code, *capsys.readouterr()


def test_a_script_runs_to_its_end(folder, capsys):
    Path("s.txt").write_text("# a comment\n\nbreak 3 if i == 2\ncontinue\nprint i * 10\nquit\nnonsense\n")
    code, out, err = run(capsys, "--launch", "k.toml", "--commands", "s.txt")
    assert code == 0
    assert not err
    assert out.splitlines()[-2:] == ["i * 10 = 20", "(adreno-sim) quit"]


def test_a_script_ends_at_what_makes_no_sense(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("print nothing\ncontinue\n"))
    code, out, _ = run(capsys, "k.cl", "--launch", "k.toml", "--set", "n=4")
    assert code == 2
    assert out.splitlines()[-1].startswith("error: nothing is called nothing here")
    assert "continue" not in out


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["k.cl"], 2, "--launch SPEC.toml says what a kernel is run with"),
        (["--launch", "none.toml"], 2, "none.toml"),
        (["--launch", "k.toml", "--commands", "none.txt"], 2, "--commands: none.txt: cannot be read"),
        (["--launch", "k.toml", "--root", "none"], 2, "--root: none: expected a folder"),
        (["--launch", "k.toml", "--set", "n=8192"], 2, "the device refuses the launch"),
        (["--launch", "k.toml", "--set", "n=0"], 3, "a launch without work-items"),
        (["wrong.cl", "--launch", "k.toml"], 2, "expected ';'"),
    ],
)
def test_what_cannot_be_debugged_is_refused_in_a_line(folder, capsys, words, code, why):
    Path("wrong.cl").write_text("kernel void k(global int *a) { a[0] = 1 }")
    got, out, err = run(capsys, *words)
    assert got == code
    assert why in err
    assert "Traceback" not in err
    assert not out
