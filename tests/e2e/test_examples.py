"""Every folder of examples/: the commands of its README, run in order in a copy, give the exit codes that it says.

A command is an indented line; a comment `# exit N` says what exit code is expected, `# exit N or M` which, else it is 0.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import adreno_sim
from adreno_sim.cli.main import main
from adreno_sim.icd.build import SHIM, build_libraries

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
QUICK = ("kernel",)
"""Run by default; the others take seconds each, and run with --slow."""
TVM = ("network", "tvm-pass", "language-model", "workflows")
EXIT = re.compile(r"#.*\bexit (\d)(?: or (\d))?")
MOST_LINES, MOST_BYTES = 30, 20_000

HEADER = """#include "functions.h"
#define PROTOTYPE(version, type, name, parameters, arguments) type name parameters;
#define PROTOTYPE_VOID(version, name, parameters, arguments) void name parameters;
FUNCTIONS(PROTOTYPE, PROTOTYPE_VOID, NO_SLOT)
"""
"""CL/cl.h where the machine has none: the driver's own declarations."""


@pytest.fixture
def environment(tmp_path):
    """What a user has: adreno-sim, python and pytest on the path, and a compiler that finds OpenCL."""
    tools = tmp_path / "tools"
    tools.mkdir()
    plugin = "" if any(entry.name == "adreno_sim" for entry in entry_points(group="pytest11")) else "-p adreno_sim.pytest.plugin"
    modules = {"adreno-sim": "-m adreno_sim", "python": "", "pytest": f"-m pytest -p no:cacheprovider {plugin}"}
    for name, words in modules.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (tools / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ADRENO_SIM_DEVICE", "PYTEST_", "GITHUB_"))}
    package = str(Path(adreno_sim.__file__).parents[1])
    return {**kept, "PATH": f"{tools}{os.pathsep}{kept['PATH']}", "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def compiler(tmp_path):
    """Variables by which gcc finds OpenCL's headers and a library to link with."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    found = {"LIBRARY_PATH": str(build_libraries().loader)}
    if not Path("/usr/include/CL/cl.h").exists():
        (tmp_path / "include" / "CL").mkdir(parents=True)
        (tmp_path / "include" / "CL" / "cl.h").write_text(HEADER)
        found["C_INCLUDE_PATH"] = f"{tmp_path / 'include'}{os.pathsep}{SHIM}"
    return found


def commands(name: str) -> list[str]:
    text = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def codes_of(command: str) -> list[int]:
    """The exit codes that are right for a command."""
    said = EXIT.search(command)
    return [int(code) for code in said.groups() if code] if said else [0]


def run_all(name: str, folder: Path, environment: dict[str, str]) -> None:
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for command in commands(name):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder / name, env=environment, capture_output=True, text=True, timeout=400
        )  # fmt: skip
        said = (done.stdout + done.stderr)[-3000:]
        assert done.returncode in codes_of(command), f"{name}: {command}: exit code {done.returncode}\n{said}"
        assert "Traceback" not in done.stderr, said
        assert "skipped" not in done.stdout.replace("0 skipped", ""), said


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_example(name, tmp_path, monkeypatch, capsys):
    """In this process, which takes a tenth of the time: nothing but commands of adreno-sim."""
    shutil.copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    for command in commands(name):
        tool, *arguments = shlex.split(command, comments=True)
        code = main(arguments)
        assert tool == "adreno-sim", (command, *capsys.readouterr())
        assert code in codes_of(command), (command, *capsys.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*QUICK, "c-program")])
def test_an_example(name, tmp_path, environment):
    if name in TVM:
        pytest.importorskip("tvm")
    run_all(name, tmp_path / "examples", environment)


@pytest.mark.slow
def test_the_program_in_c(tmp_path, environment, compiler):
    run_all("c-program", tmp_path / "examples", {**environment, **compiler})


def test_examples_are_small_and_listed():
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(NAMES) >= 7
    assert set(re.findall(r"^\| \[([\w-]+)\]", page, re.MULTILINE)) == set(NAMES)
    for name in NAMES:
        readme = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
        assert commands(name)
        assert len(readme.splitlines()) <= MOST_LINES
    for path in EXAMPLES.rglob("*"):
        assert path.is_dir() or path.suffix == ".pyc" or path.stat().st_size < MOST_BYTES, path


def test_links_lead_somewhere():
    for page in EXAMPLES.rglob("README.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_python_and_sources_compile():
    for path in EXAMPLES.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
