"""ci/lib.sh makes a virtual environment, or installs into one that a developer made and keeps its packages."""

import os
import subprocess
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[3] / "ci/lib.sh"

PYTHON = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
    "-m venv --clear "*) rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
esac
"""


@pytest.fixture
def python(tmp_path):
    """An interpreter that does what it is asked without a package index."""
    path = tmp_path / "python"
    path.write_text(PYTHON)
    path.chmod(0o755)
    return path


def make(tmp_path, python):
    """Make the environment; what the interpreters were asked to do."""
    calls = tmp_path / "calls"
    calls.write_text("")
    command = f'. "{LIBRARY}"; make_venv "{tmp_path}/venv" tvm'
    environment = {**os.environ, "PYTHON": str(python), "CALLS": str(calls)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return calls.read_text(), done.stdout


def test_an_environment_of_a_developer_keeps_its_packages(tmp_path, python):
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").write_text(PYTHON)
    (folder / "bin/python").chmod(0o755)
    (folder / "own").touch()
    for _ in range(2):  # a change of dependencies does not clear it later
        calls, said = make(tmp_path, python)
        assert "--clear" not in calls
        assert "-m pip install" in calls
        assert "its other packages are kept" in said
        assert (folder / "own").exists()
        (folder / ".adreno-sim").write_text("of older dependencies")


def test_an_environment_of_the_script_is_made_again(tmp_path, python):
    assert "-m venv --clear" in make(tmp_path, python)[0]
    assert "install" not in make(tmp_path, python)[0]
    (tmp_path / "venv/.adreno-sim").write_text("of older dependencies")
    (tmp_path / "venv/left").touch()
    assert "-m venv --clear" in make(tmp_path, python)[0]
    assert not (tmp_path / "venv/left").exists()
