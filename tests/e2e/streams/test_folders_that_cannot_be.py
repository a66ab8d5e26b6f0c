"""Folders that cannot be: commands go on without a cache, behind the wall, too; without a working folder they end in a line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import handmade
import pytest

import adreno_sim
from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

LAUNCH = 'source = "k.cl"\nglobal_size = [4]\n[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 4\ndata = "ones"\n'
CASES = {
    "a file": {"ADRENO_SIM_CACHE_DIR": "k.cl"},
    "of a home that cannot be": {"HOME": "/dev/null", "XDG_CACHE_HOME": "", "ADRENO_SIM_CACHE_DIR": ""},
}


@pytest.mark.parametrize("case", CASES)
def test_a_kernel_is_checked_without_a_cache(case: str, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] += 1; }\n")
    (tmp_path / "l.toml").write_text(LAUNCH)
    paths = os.pathsep.join([str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, **CASES[case]}
    words = [sys.executable, "-m", "adreno_sim", "kernel", "--launch", "l.toml"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "ok: 0 errors" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_working_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.cl").write_text("kernel void k(global float *a) { a[get_global_id(0)] += 1; }\n")
    (tmp_path / "l.toml").write_text(LAUNCH)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for words in (["kernel", "--launch", str(tmp_path / "l.toml")], ["devices"], ["check", str(tmp_path / "m.asim")]):
        assert main(words) == 2
        assert capsys.readouterr().err == "error: the working folder is gone: change to another one\n"
    monkeypatch.chdir(tmp_path)
    assert main(["kernel", "--launch", str(tmp_path / "l.toml")]) == 0


@pytest.mark.parametrize("words", ["run -- true", "check m.asim --isolate", "sweep m.asim"])
def test_no_folder_takes_a_temporary_file(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A container whose file system is read-only. What needs no such file, runs."""
    handmade.texture().save(tmp_path / "m.asim")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/none"])
    assert main(["devices", "--profile", "adreno-740", "--json", "d.json"]) == 0
    capsys.readouterr()
    assert main(words.split()) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("error: no temporary file can be written")
    assert "TMPDIR" in said
