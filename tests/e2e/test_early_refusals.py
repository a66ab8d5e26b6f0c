"""Mistakes of the command line are told in one line before TVM or numba is imported; closed streams are no mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import handmade
import pytest

pytestmark = pytest.mark.e2e

MISTAKES = {
    "check m.onnx --target textur": "target 'textur' (did you mean texture or clml-texture?): expected one of texture,",
    "check none.onnx": "none.onnx: no such file",
    "check m.onnx --input none.npz": "input none.npz: no such file",
    "check m.onnx --input .": "input .: is a folder",
    "check m.asim --input none.npz": "input none.npz: no such file",
    "check m.onnx --device gpu": "device 'gpu': expected sim:PROFILE",
    "check m.onnx --device sim:adreno-999": "device profile 'adreno-999' does not exist",
    "check m.onnx --device sim:adreno-740,foo=1": "there is no key 'foo'",
    "check m.onnx --plan nope": "planner 'nope' does not exist",
    "check m.onnx --plan none.json": "cannot read none.json",
    "check m.onnx --without-fix nope": "fix 'nope': expected one of",
    "check m.onnx --pipeline stock --without-fix texture-store": "--without-fix: texture-store: the stock pipeline has no fixes",
    "check m.onnx --tuned none": "none is not a tuning folder",
    "check m.onnx --compare-with sim:nope": "device profile 'nope' does not exist",
    "check m.onnx --accumulate float16": "--accumulate: float16: is for dtype float16",
    "check m.onnx --accumulate float32": "--accumulate: float32: is for dtype float16",
    "check m.onnx --reproduce m.onnx": "cannot write m.onnx: it exists",
    "reproduce m.onnx --to d --target textur": "target 'textur'",
    "bundle m.onnx -o x.asim --target textur": "target 'textur'",
    "bundle m.onnx -o x.asim --golden --input none.npz": "input none.npz: no such file",
    "doctor --only nope": "defect 'nope': expected one of",
    "doctor --device nope": "device 'nope': expected sim:PROFILE",
    "footprint m.onnx --target textur": "target 'textur'",
    "footprint none.onnx": "none.onnx: no such file",
    "footprint m.onnx --planners nope": "planner 'nope' does not exist",
    "footprint m.onnx --device nope": "device profile 'nope' does not exist",
    "footprint m.onnx --compare none.json": "cannot read none.json",
    "precision m.onnx --target textur": "target 'textur'",
    "precision none.onnx": "none.onnx: no such file",
    "precision m.onnx --input none.npz": "input none.npz: no such file",
    "precision m.onnx --dtype foo": "dtype 'foo': expected a float or integer type",
    "precision m.onnx --bound -1": "bound -1.0: expected a positive number",
    "scopes m.onnx --target textur": "target 'textur'",
    "scopes none.onnx": "none.onnx: no such file",
    "tune m.onnx --db d --target textur": "target 'textur'",
    "tune none.onnx --db d": "none.onnx: no such file",
    "tune m.onnx --db d --trials 0": "trials 0: expected 1 or more",
    "tune m.onnx --db d --without-fix nope": "fix 'nope': expected one of",
    "sweep m.onnx --targets texture,textur": "target 'textur'",
    "sweep none.onnx": "model none.onnx: expected a file, found nothing",
    "sweep m.onnx --profiles nope": "device profile 'nope' does not exist",
    "layout image2d 8x8 --at 9,9": "--at 9,9: outside the image, whose texels are 0,0 to 7,7",
    "layout image2d 8x8 --at=-1,0": "--at -1,0: outside the image",
    "layout image1d_array 8x3 --at 7,3": "--at 7,3: outside the image, whose texels are 0,0 to 7,2",
    "kernel --launch none.toml": "none.toml: cannot be read",
}

CHILD = """
import contextlib, io, json, sys
from adreno_sim.cli.main import main
for line in json.load(open("lines.json")):
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(err):
        code = main(line.split())
    print(json.dumps([code, err.getvalue(), [name for name in ("tvm", "numba", "onnxruntime", "torch") if name in sys.modules]]))
"""


def run(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, text=True, timeout=120, check=False, **options)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("refusals")
    handmade.texture().save(made / "m.asim")
    (made / "m.onnx").write_bytes(b"never read")
    (made / "lines.json").write_text(json.dumps(list(MISTAKES)))
    return made


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, tuple[int, str, list[str]]]:
    """Exit code, text, and what heavy was imported so far, by command line."""
    done = run(folder, "-c", CHILD, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(MISTAKES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.share()
@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_imports_nothing_heavy(outcomes, line):
    code, text, heavy = outcomes[line]
    assert code == 2, text
    assert text.startswith("error: "), text
    assert text.count("\n") == 1, text
    assert MISTAKES[line] in text, text
    assert not heavy


@pytest.mark.parametrize("line", ["layout image2d 8x8", "check m.asim", "cache", "footprint t.csv"])
def test_a_limit_that_is_no_number_is_told_first(folder, line, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_MB", "abc")
    done = run(folder, "-m", "adreno_sim", *line.split(), capture_output=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: ADRENO_SIM_CACHE_MB=abc: expected a number of MiB\n"


def test_a_planner_without_its_solver_is_refused(capsys, folder, monkeypatch):
    from adreno_sim.cli.main import main

    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.chdir(folder)
    Path("t.csv").write_text("id,lower,upper,size\na,0,2,64\n")
    assert main(["footprint", "t.csv", "--planners", "optimal"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: OR-tools is not installed, which is the solver of the planner optimal. Run: pip install ")
    assert main(["footprint", "t.csv", "--planners", "all"]) == 0


@cache
def opened(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """The command with all of its standard streams open."""
    return run(folder, "-m", "adreno_sim", *line.split(), capture_output=True)


def closed(folder: Path, number: int, line: str) -> subprocess.CompletedProcess[str]:
    """The command with one of its standard streams closed."""
    code = (
        f"import os, sys; os.close({number}); os.execv(sys.executable, [sys.executable, '-m', 'adreno_sim', *{line.split()!r}])"
    )
    return run(folder, "-c", code, capture_output=True)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_stream_changes_nothing_else(folder, number):
    for line in ("layout image2d 4x", "layout image2d 4x4 --json out.json", "check none.onnx"):
        whole, part = opened(folder, line), closed(folder, number, line)
        assert part.returncode == whole.returncode
        assert part.stdout == ("" if number == 1 else whole.stdout)
        assert part.stderr == ("" if number == 2 else whole.stderr)
    assert json.loads((folder / "out.json").read_text())["schema"] == "adreno-sim/layout/1"


def test_full_standard_output_is_one_line(folder):
    with open("/dev/full", "w") as full:
        done = run(folder, "-m", "adreno_sim", "layout", "image2d", "4x4", stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, "error: cannot write: No space left on device\n")
