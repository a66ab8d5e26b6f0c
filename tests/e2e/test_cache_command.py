"""`adreno-sim cache` and --no-cache."""

import json

import pytest

from adreno_sim.base import disk_cache
from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

SOURCE = "kernel void twice(global const float *x, global float *y) { int i = get_global_id(0); y[i] = 2 * x[i]; }"
LAUNCH = """source = "twice.cl"
global_size = [8]
argument = [
  {kind = "buffer", dtype = "float32", count = 8, data = {fill = "arange"}},
  {kind = "buffer", dtype = "float32", count = 8},
]
"""


@pytest.fixture
def launch(tmp_path, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    (tmp_path / "twice.cl").write_text(SOURCE)
    (tmp_path / "twice.toml").write_text(LAUNCH)
    return str(tmp_path / "twice.toml")


def test_shows_what_a_run_left_and_clears_it(launch, capsys):
    assert main(["kernel", "--launch", launch, "--device", "sim:adreno-740,checks=full"]) == 0
    capsys.readouterr()
    assert main(["cache", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"programs", "proofs", "modules", "objects"} <= set(shown["kinds"])
    assert shown["limit"] == 1 << 30
    assert shown["bytes"] == sum(kind["bytes"] for kind in shown["kinds"].values()) > 0
    assert main(["cache"]) == 0
    text = capsys.readouterr().out
    assert "of at most 1024.0 MiB" in text
    assert "machine code" in text
    disk_cache.store(disk_cache.folder("single_writer") / "entry", b"0" * 100)  # as an earlier version left it
    assert main(["cache", "--clear"]) == 0
    assert "removed" in capsys.readouterr().out
    assert not disk_cache.usage()


def test_no_cache_leaves_the_disk_alone(launch):
    assert main(["kernel", "--launch", launch, "--no-cache"]) == 0
    assert not disk_cache.usage()
    assert disk_cache.is_enabled()


def test_a_limit_that_is_no_number_is_bad_input(launch, monkeypatch, capsys):
    monkeypatch.setenv("ADRENO_SIM_CACHE_MB", "much")
    assert main(["cache"]) == 2
    assert "ADRENO_SIM_CACHE_MB=much: expected a number" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "bundle", "kernel", "reproduce", "sweep", "precision", "tune", "doctor"])
def test_every_command_that_fills_the_cache_can_leave_it(command, capsys):
    assert main([command, "--help"]) == 0
    assert "--no-cache" in capsys.readouterr().out
