"""A plain install has no package that reads, compiles or judges models: what needs one says which, and the line that gets it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.installed import extras, install_line
from adreno_sim.cli import main as command_line

ROOT = Path(__file__).resolve().parents[2]
OPTIONAL = (*extras._PACKAGES, "torch", "transformers", "ml_dtypes")
HIDE = f"""
import importlib.metadata, sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
version = importlib.metadata.version
def find_version(name):
    if name.startswith("apache-tvm"):
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = find_version
"""
KERNEL = "kernel void k(global int *o) { o[get_global_id(0)] = 1; }"
LAUNCH = 'global_size = [4]\n[[argument]]\nkind = "buffer"\ncount = 4\ndtype = "int32"\n'
NEEDING = {  # the package that is named first, and a command line for each command
    "bundle model.onnx -o model.asim": "ONNX",
    "calibrate --device cl:0": "PyOpenCL",
    "check model.onnx": "ONNX",
    "check model.py": "TVM",
    "check --device cl model.onnx": "PyOpenCL",
    "doctor": "TVM",
    "footprint model.onnx": "ONNX",
    "footprint t.csv --planners optimal": "OR-tools",
    "footprint t.csv --planners arena --png t.png": "Pillow",
    "init model.onnx": "ONNX",
    "kernel k.cl --isa": "Mesa's tinymesa",
    "layers model.onnx": "ONNX",
    "precision model.onnx": "TVM",
    "reproduce model.onnx --to folder": "ONNX",
    "scopes model.onnx": "ONNX",
    "sweep model.onnx": "ONNX",
    "sweep model.py": "TVM",
    "sweep model.onnx --scheduler tcp://127.0.0.1:1": "Dask",
    "tune model.onnx --db folder": "ONNX",
    "tvm-runtime --source .": "TVM",
}
WORKING = {  # what a plain install does, and a word of what it prints
    "cache": "",
    "completion bash": "_adreno_sim",
    "debug missing.cl": "--launch SPEC.toml",
    "explain data-race": "data-race",
    "devices": "sim:adreno-740",
    "footprint t.csv": "arena",
    "init k.cl --force": "wrote launch.toml",
    "kernel k.cl --launch k.toml": "0 errors",
    "layout image2d 4x4": "pitch",
    "prune": "are not needed",
    "replay missing.asim": "missing.asim: No such file",
    "run -- missing-program": "missing-program",
}
_LINE = r"error: (?:unsupported: )?.*\. Run: pip install -e '?\S*\[\w+\]'?(?: \(or with \S+ to run on the CPU\))?\n"
LINE = re.compile(rf"(?:note: sandbox: .*\n)?{_LINE}")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models and kernels, where Python finds none of the optional packages."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "sitecustomize.py").write_text(HIDE)
    (folder / "model.onnx").write_bytes(b"any")
    (folder / "model.py").write_text("from tvm.script import ir as I\n")
    (folder / "t.csv").write_text("id,lower,upper,size\na,0,2,64\n")
    (folder / "k.cl").write_text(KERNEL)
    (folder / "k.toml").write_text(LAUNCH)
    return folder


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


RUN = """
import gc, os, runpy, sys
import adreno_sim.backends.sim.open, adreno_sim.cli.main, adreno_sim.compiler.check.check
gc.freeze()
for number, line in enumerate(sys.argv[1:]):
    if not os.fork():
        for stream in (1, 2):
            os.dup2(os.open(f"{number}.{stream}", os.O_WRONLY | os.O_CREAT), stream)
        sys.argv[1:] = line.split()
        try:
            runpy.run_module("adreno_sim", run_name="__main__")
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(ended.code)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@pytest.fixture(scope="module")
def outcomes(plain: Path) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and errors of each command line, each in a process by fork of one that has imported what most commands
    do: the simulated device and the check, which both must do without the packages."""
    lines = [*NEEDING, *WORKING]
    done = python(plain, "-c", RUN, *lines)
    codes = [int(code) for code in done.stdout.split()]
    assert len(codes) == len(lines), done.stderr
    said = [[(plain / f"{number}.{stream}").read_text() for stream in (1, 2)] for number in range(len(lines))]
    return {line: (code, out, err) for line, code, (out, err) in zip(lines, codes, said, strict=True)}


def test_every_command_is_tried() -> None:
    (commands,) = (action for action in command_line._parser()._actions if action.metavar == "COMMAND")
    assert {line.split()[0] for line in (*NEEDING, *WORKING)} == set(commands.choices or ())


@pytest.mark.share()
@pytest.mark.parametrize("line", NEEDING)
def test_a_command_names_the_package_that_it_needs(outcomes: dict[str, tuple[int, str, str]], line: str) -> None:
    code, out, err = outcomes[line]
    assert (code, out) == (2, "")
    assert LINE.fullmatch(err), err
    assert NEEDING[line] in err
    assert str(ROOT) in err


@pytest.mark.parametrize("line", WORKING)
def test_a_command_without_models_needs_none(outcomes: dict[str, tuple[int, str, str]], line: str) -> None:
    _, out, err = outcomes[line]
    assert WORKING[line] in out + err
    assert "internal error" not in err
    assert "not installed" not in err


CALLS = {  # a call of the API, and the package that it names
    "check('model.onnx')": "ONNX",
    "check('model.py')": "TVM",
    "check_kernel('model.py')": "TVM",
    "Session('model.py')": "TVM",
    "session_footprint('model.py')": "TVM",
    "open_device('cl')": "PyOpenCL",
}
RAISE = """
import sys
import adreno_sim
for call in sys.argv[1:]:
    try:
        eval(f"adreno_sim.{call}")
    except adreno_sim.AdrenoSimError as error:
        print(type(error).__name__, error.exit_code, error)
"""


def test_the_api_raises_the_same_error(plain: Path) -> None:
    done = python(plain, "-c", RAISE, *CALLS)
    assert done.stderr == ""
    for package, said in zip(CALLS.values(), done.stdout.splitlines(keepends=True), strict=True):
        assert said.startswith("MissingPackageError 2 ")
        assert LINE.fullmatch(f"error: {said.split(' ', 2)[2]}")
        assert package in said


def test_an_import_that_fails_for_another_reason_is_no_missing_package() -> None:
    assert extras.explain_import(ModuleNotFoundError("No module named 'numpy.x'", name="numpy.x")) is None
    assert extras.explain_import(ModuleNotFoundError("No module named 'json.x'", name="json.x")) is None
    assert extras.explain_import(ImportError("cannot import name 'x' from 'onnx'", name="onnx")) is None
    assert isinstance(extras.missing_package("onnx"), (AdrenoSimError, ImportError))


@pytest.mark.parametrize("name", extras._NEEDED)
def test_an_installation_without_dependencies_is_told(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda name: False)
    found = extras.explain_import(ModuleNotFoundError(f"No module named '{name}'", name=name))
    assert re.fullmatch(rf"{name} is not installed, which adreno-sim needs in any case\. Run: pip install [^\[\]]*", str(found))
    monkeypatch.setattr(extras, "is_installed", lambda name: True)
    assert extras.explain_import(ModuleNotFoundError(f"No module named '{name}.x'", name=name)) is None


@pytest.mark.parametrize("name", extras._PACKAGES)
def test_an_extra_that_is_named_exists_and_brings_the_package(name: str) -> None:
    listed = (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]")[1].split("\n[")[0]
    found = re.findall(r"^(\w+) = \[(.*?)\]$", listed, re.MULTILINE | re.DOTALL)
    distribution = {"PIL": "pillow", "tvm": "apache-tvm", "tvm_ffi": "apache-tvm-ffi"}.get(name, name)
    assert re.search(rf'"{distribution}==', dict(found)[extras._PACKAGES[name].extra])


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (("file:///no/such/folder", "", False, "1.2"), "pip install -e '.[tvm]' in a clone of adreno-sim"),
        (("", "", False, ""), "pip install -e '.[tvm]' in a clone of adreno-sim"),
        (("", "git+https://host/x.git@abc", False, "1.2"), "pip install 'adreno-sim[tvm] @ git+https://host/x.git@abc'"),
        (("", "", False, "1.2"), "pip install 'adreno-sim[tvm]==1.2'"),
    ],
)
def test_the_line_follows_where_the_project_came_from(
    monkeypatch: pytest.MonkeyPatch, origin: tuple[str, str, bool, str], line: str
) -> None:
    monkeypatch.setattr(install_line, "_find_origin", lambda: origin)
    assert install_line.install_line("tvm") == line


def test_a_folder_with_spaces_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for editable, option in ((True, "-e "), (False, "")):
        monkeypatch.setattr(install_line, "_find_origin", lambda e=editable: ((tmp_path / "a b").as_uri(), "", e, "1"))
        assert install_line.install_line("opencl", "oracle") == f"pip install {option}'{tmp_path}/a b[opencl,oracle]'"
    monkeypatch.chdir(tmp_path / "a b")
    assert install_line.install_line("tvm") == "pip install '.[tvm]'"
