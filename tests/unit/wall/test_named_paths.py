"""Which files of the command line the wall leaves open, and what holds for processes that are started meanwhile."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from adreno_sim.cli import sandbox


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in ("model.onnx", "own.toml", "in.npz", "env.toml", ".key"):
        (tmp_path / name).write_text("")
    (tmp_path / "headers").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("model.onnx", {"model.onnx"}),
        (Path("model.onnx"), {"model.onnx"}),
        ("sim:own.toml,checks=full", {"own.toml"}),
        (["x=in.npz", "y=0"], {"in.npz"}),
        ({"x": ("in.npz",)}, {"in.npz"}),
        ("-DA=1 -I headers -Iheaders", {"headers"}),
        ("-Iheaders", {"headers"}),
        ("sim:adreno-740", set()),
        (None, set()),
        (7, set()),
    ],
    ids=str,
)
def test_what_the_command_line_names_is_open(place, value, found):
    assert sandbox._named_paths(argparse.Namespace(value=value)) == found


def test_what_it_writes_is_not_read_and_what_the_environment_names_is(place, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_DEVICE", "sim:env.toml")
    args = argparse.Namespace(model="model.onnx", json="in.npz", output_flags=("--json",))
    assert sandbox._named_paths(args) == {"model.onnx", "env.toml"}


def test_beside_a_file_hidden_ones_stay_closed(place, monkeypatch):
    names = {path.name for path in sandbox._readable("model.onnx")}
    assert names == {"model.onnx", "own.toml", "in.npz", "env.toml", "headers"}
    monkeypatch.setattr(sandbox, "MOST", 2)
    assert place in set(sandbox._readable("model.onnx"))
    assert list(sandbox._readable("headers")) == [Path("headers")]


def test_what_is_hidden_below_a_folder_stays_closed_too(place):
    (place / "headers" / "deep").mkdir()
    for name in ("a.h", ".env", "deep/b.h"):
        (place / "headers" / name).write_text("")
    found = {path.relative_to(place).as_posix() for path in map(Path.resolve, sandbox._readable("model.onnx"))}
    assert {"headers/a.h", "headers/deep"} <= found
    assert "headers" not in found
    assert not any(".env" in name for name in found)


def test_a_link_beside_an_input_opens_nothing_elsewhere(place, tmp_path_factory):
    """Whoever made the folder chose where it leads; the user named another file."""
    (place / "out").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    (place / "all").symlink_to("/")
    (place / "in-here").symlink_to("own.toml")
    names = {path.name for path in sandbox._readable("model.onnx")}
    assert "in-here" in names
    assert not {"out", "all"} & names


def test_beside_a_hidden_file_alone_nothing_else_is_open(tmp_path):
    (tmp_path / ".model.onnx").write_text("")
    assert set(sandbox._readable(str(tmp_path / ".model.onnx"))) == {tmp_path / ".model.onnx"}


def test_a_name_that_is_a_file_is_not_taken_apart(place):
    (place / "d:").mkdir()
    (place / "d:" / ",l.toml").write_text("")
    assert sandbox._named_paths(argparse.Namespace(launch="d:/,l.toml")) == {"d:/,l.toml"}
    assert sandbox._named_paths(argparse.Namespace(launch="sim:x,/")) == set(), "the root is no input"


@pytest.mark.parametrize(
    ("given", "program"),
    [
        ({"model": "m.py"}, True),
        ({"model": "m.py:make"}, True),
        ({"source": "m.py"}, True),
        ({"model": "x.py:l.onnx"}, False),
        ({"model": "model.onnx", "launch": "x.py"}, False),
        ({"trace": "x.py"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_only_a_model_is_a_program_of_the_users_own(place, given, program):
    (place / "x.py:l.onnx").write_text("")
    assert sandbox._is_program(argparse.Namespace(**given)) == program


@pytest.mark.parametrize("before", [None, "on"])
def test_off_holds_while_the_command_runs(before, monkeypatch):
    monkeypatch.delenv("ADRENO_SIM_SANDBOX", raising=False)
    if before:
        monkeypatch.setenv("ADRENO_SIM_SANDBOX", before)
    with sandbox.sandbox_option(argparse.Namespace(sandbox="off")):
        assert os.environ["ADRENO_SIM_SANDBOX"] == "off"
    assert os.environ.get("ADRENO_SIM_SANDBOX") == before
