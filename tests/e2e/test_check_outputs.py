"""What `check` writes is whole: with two runs at once, on a full disk, after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import handmade
import pytest

from adreno_sim.compiler.artifact.model import CompiledModel

pytestmark = pytest.mark.e2e

FILES = ("--json", "r.json", "--html", "r.html", "--sarif", "r.sarif")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("ADRENO_SIM_DEVICE", raising=False)
    handmade.texture().save(tmp_path / "m.asim")
    for name in FILES[1::2]:
        (tmp_path / name).write_text("old")
    return tmp_path


def start(folder: Path, before: str = "") -> subprocess.Popen[str]:
    """`check` with every output, after some Python."""
    code = f"{before}\nimport sys; from adreno_sim.cli.main import main; sys.exit(main({['check', 'm.asim', *FILES]!r}))"
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=-1, stderr=-1, text=True, start_new_session=True)


def require_whole(folder: Path, old: bool) -> None:
    """Every output is a whole one, or as it was where `old`; nothing else lies there."""
    texts = {name: (folder / name).read_text() for name in FILES[1::2]}
    if not old:
        assert "old" not in texts.values()
    for name, end in (("r.json", "}\n"), ("r.sarif", "}\n"), ("r.html", "</html>\n")):
        assert texts[name] == "old" or texts[name].rstrip().endswith(end.rstrip())
    for name in ("r.json", "r.sarif"):
        assert texts[name] == "old" or json.loads(texts[name])


def test_two_runs_at_once(folder):
    runs = [start(folder) for _ in range(2)]
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
    require_whole(folder, old=False)
    assert sorted(path.name for path in folder.iterdir()) == sorted(["m.asim", *FILES[1::2]])


FULL = """
import resource, sys
from adreno_sim.cli import check
write_report = check.write_report
def write_on_a_full_disk(*args):
    sys.dont_write_bytecode = True  # Python keeps what fits below the limit, and cannot load it ever after
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    write_report(*args)
check.write_report = write_on_a_full_disk
"""


def test_a_full_disk(folder):
    run = start(folder, FULL)
    _, err = run.communicate(timeout=120)
    assert run.returncode == 2, err
    assert "cannot write r.json: File too large" in err, err
    assert "Traceback" not in err, err
    require_whole(folder, old=True)
    assert (folder / "r.json").read_text() == "old"
    assert len(list(folder.iterdir())) == 4


HELD = """
import adreno_sim.base.output_file as output_file, os, pathlib, time
replace = os.replace
def wait(*paths):
    if str(paths[1]).endswith("r.json"):
        pathlib.Path("waiting").touch()
        time.sleep(60)
    replace(*paths)
os.replace = wait
"""


def test_a_killed_run(folder):
    run = start(folder, HELD)
    for _ in range(1200):
        if (folder / "waiting").exists() or run.poll() is not None:
            break
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=30)
    require_whole(folder, old=True)
    assert (folder / "r.json").read_text() == "old"
    assert run.returncode == -signal.SIGKILL


def test_a_bundle_whose_saving_is_interrupted_stays_the_old_one(tmp_path, monkeypatch):
    handmade.branch().save(tmp_path / "m.asim")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adreno_sim.base.output_file.os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        handmade.texture().save(tmp_path / "m.asim")
    assert CompiledModel.load(tmp_path / "m.asim") == handmade.branch()
    assert len(list(tmp_path.iterdir())) == 1
