"""Outputs that would overwrite each other, an input, or be read by no command are refused before the work."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path

import handmade
import pytest

from adreno_sim.cli import main as command_line
from adreno_sim.cli.main import main
from adreno_sim.cli.output import INPUTS, OUTPUTS

pytestmark = pytest.mark.e2e

KERNEL = "kernel void k(global float *a) { a[get_global_id(0)] = 1; }\n"
LAUNCH = """\
source = "k.cl"
global_size = [4]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 4
data = {file = "a.npy"}
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    handmade.texture().save("m.asim")
    Path("k.cl").write_text(KERNEL)
    Path("k.toml").write_text(LAUNCH)
    np.save("a.npy", np.zeros(4, np.float32))
    Path("t.csv").write_text("id,lower,upper,size\na,0,2,64\nb,1,3,64\n")
    Path("old").write_text("old")
    os.link("old", "hard")
    os.symlink("old", "link")
    os.symlink("new", "dangling")
    os.symlink("/dev/null", "null")


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path.cwd().iterdir() if path.exists()}


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ("check m.asim --json r --html r", "--html r: the same file as --json r: one would overwrite the other"),
        ("check m.asim --json r --html ./r", "--html ./r: the same file as --json r"),
        ("check m.asim --json old --sarif link", "--sarif link: the same file as --json old"),
        ("check m.asim --json hard --sarif old", "--sarif old: the same file as --json hard"),
        ("check m.asim --json new --html dangling", "--html dangling: the same file as --json new"),
        ("footprint t.csv --svg a.x --html a.x", "--svg a.x: the same file as --html a.x"),
        ("layout image2d 4x4 --json a --svg a", "--svg a: the same file as --json a"),
        ("check m.asim --json m.asim", "--json m.asim: would overwrite an input, m.asim; name another file"),
        ("footprint t.csv --markdown ./t.csv", "--markdown ./t.csv: would overwrite an input, t.csv"),
        ("kernel k.cl --launch k.toml --json k.toml", "--json k.toml: would overwrite an input, k.toml"),
        ("kernel k.cl --launch k.toml --sarif k.cl", "--sarif k.cl: would overwrite an input, k.cl"),
        ("kernel --launch k.toml --sarif k.cl", "--sarif k.cl: would overwrite an input, "),
        ("kernel --launch k.toml --sarif a.npy", "--sarif a.npy: would overwrite an input, "),
        ("sweep m.asim --json m.asim", "--json m.asim: would overwrite an input"),
        ("check m.onnx --save out.txt", "--save: out.txt: expected a name that ends in .asim"),
        ("bundle m.onnx -o out.txt", "--output: out.txt: expected a name that ends in .asim"),
        ("precision m.onnx --save out.txt", "--save: out.txt: expected a name that ends in .asim"),
        ("check m.asim --html -", "--html: -: expected a file; only --json takes - for standard output"),
        ("check m.asim --json nowhere/r", "--json: cannot write nowhere/r: folder "),
        ("check m.asim --json .", "--json: cannot write .: is a folder"),
    ],
)
def test_it_is_refused_in_one_line_and_nothing_is_written(capsys, args, reason):
    before = contents()
    assert main(args.split()) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {reason}")
    assert err.count("\n") == 1
    assert not out
    assert contents() == before


@pytest.mark.parametrize(
    "args",
    [
        "layout image2d 4x4 --json a --svg b",
        "layout image2d 4x4 --json /dev/null --svg /dev/null",
        "layout image2d 4x4 --json null --svg null",
        "footprint t.csv --json /dev/stdout --markdown /dev/stdout",
        "check m.asim --json old --html other",
    ],
)
def test_different_files_and_one_device_are_fine(capfd, args):
    assert main(args.split()) == 0, capfd.readouterr().err
    assert Path("null").is_symlink()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert Path("link").is_symlink()


def test_a_full_device_is_one_line(capsys):
    assert main(["layout", "image2d", "4x4", "--json", "/dev/full"]) == 2
    assert capsys.readouterr().err == "error: cannot write /dev/full: No space left on device\n"


def test_a_bundle_that_a_function_saves_has_the_name_that_commands_read():
    from adreno_sim.base.errors import OptionError
    from adreno_sim.compiler.check.check import check

    with pytest.raises(OptionError, match=r"save: out.txt: expected a name that ends in \.asim"):
        check("m.onnx", save="out.txt")


def test_every_option_that_names_a_file_is_declared():
    commands = next(a for a in command_line._parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, parser in commands.choices.items():
        declared = {*(parser.get_default(OUTPUTS) or ()), *(parser.get_default(INPUTS) or ())}
        for action in parser._actions:
            label = action.option_strings[-1] if action.option_strings else action.dest
            named = action.dest in ("model", "models", "source", "launch") and action.metavar != "N"
            if "FILE" in str(action.metavar) or named:
                assert label in declared, f"{name} {label}"


def test_a_failure_replaces_reports_alone(tmp_path, monkeypatch):
    """What the command did not get to read may be its input: here, one that the launch file names behind its mistake."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] = 1; }\n")
    (tmp_path / "k.toml").write_text('global_size = "four"\n[[argument]]\nkind = "buffer"\nname = "a"\ndata = "a.npy"\n')
    outputs = {"--json": "a.npy", "--sarif": "old.sarif", "--html": "new.html"}
    (tmp_path / "a.npy").write_bytes(b"elements")
    (tmp_path / "old.sarif").write_text('{\n "$schema": "https://json.schemastore.org/sarif-2.1.0.json"\n}\n')
    words = [word for pair in outputs.items() for word in pair]
    assert command_line.main(["kernel", "k.cl", "--launch", "k.toml", *words]) == 2
    assert (tmp_path / "a.npy").read_bytes() == b"elements"
    assert "executionSuccessful" in (tmp_path / "old.sarif").read_text()
    assert "exit code 2" in (tmp_path / "new.html").read_text()
