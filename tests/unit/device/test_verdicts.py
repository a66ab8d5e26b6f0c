"""Verdicts on drivers: what is made of a trial that ends, crashes, hangs or finds nothing, and when one is kept on disk."""

from __future__ import annotations

import json
import sys

import pytest

from adreno_sim.backends.opencl import drivers, known_answers, verdicts
from adreno_sim.base import disk_cache

DEVICE = {"platform": "Acme", "name": "Roadrunner (Acme)", "version": "OpenCL 3.0 Acme 1", "lacks": ["has no wings"]}
ASKS = {"asks": "a sum", "what": "sums"}
RIGHT, WRONG, DONE = {"wrong": ""}, {"wrong": "gets sums wrong (a sum: 3 for 2)"}, {"done": True}
DIE, HANG = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "import time; time.sleep(60)"


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """driver(lines, end) is the .icd text of a driver whose trial tells these lines, then does this; `driver.trials` counts."""
    monkeypatch.setenv(disk_cache.FOLDER, str(tmp_path / "cache"))
    monkeypatch.delenv(disk_cache.SWITCH, raising=False)
    library = tmp_path / "libacme.so"
    library.write_text("ELF")
    trials = []

    def make(lines, end="", cut=""):
        told = "".join(json.dumps(line) + "\n" for line in lines) + cut

        def command(file):
            trials.append(file)
            return [sys.executable, "-c", f"open({str(file)!r}, 'w').write({told!r})\n{end}"]

        monkeypatch.setattr(verdicts, "trial_command", command)
        verdicts._judge.cache_clear()
        return f"{library}\n"

    make.trials, make.library = trials, library
    yield make
    verdicts._judge.cache_clear()


def test_a_driver_that_answers_right_is_fit(driver):
    verdict = verdicts.judge_driver(driver([DEVICE, ASKS, RIGHT, DONE]))
    assert verdict.against == ""
    assert verdict.devices[0].lacks == ("has no wings",)


def test_a_driver_that_answers_wrong_is_not(driver):
    verdict = verdicts.judge_driver(driver([DEVICE, ASKS, RIGHT, ASKS, WRONG, DONE]))
    assert verdict.against == WRONG["wrong"]
    assert not verdict.problem


SIMPLEST = {"asks": known_answers.SIMPLEST.name, "what": known_answers.SIMPLEST.what}
REFUSED = {"wrong": known_answers.SIMPLEST.failure("refused, error: unknown target CPU 'generic'")}


def test_a_driver_that_runs_nothing_is_told_from_one_that_answers_wrong(driver):
    """An old driver's compiler may not know the processor; then nothing can be said of its answers."""
    nothing = verdicts.judge_driver(driver([DEVICE, SIMPLEST, REFUSED, DONE]))
    assert not nothing.runs
    assert "unknown target CPU" in nothing.against


def test_a_driver_that_answers_wrong_runs(driver):
    assert verdicts.judge_driver(driver([DEVICE, SIMPLEST, RIGHT, ASKS, WRONG, DONE])).runs


def test_a_driver_that_does_not_start_runs_nothing(driver):
    assert not verdicts.judge_driver(driver([], DIE)).runs


def test_a_crash_is_wrong_where_it_happened(driver):
    verdict = verdicts.judge_driver(driver([DEVICE, ASKS, RIGHT, ASKS], DIE))
    assert verdict.against == "gets sums wrong (a sum: its process ended by SIGSEGV)"


def test_a_hang_is_ended(driver, monkeypatch):
    monkeypatch.setattr(verdicts, "TIME_LIMIT", 1.0)
    verdict = verdicts.judge_driver(driver([DEVICE, ASKS], HANG, cut='{"wro'))
    assert verdict.against == "gets sums wrong (a sum: its process did not end within 1 s)"


def test_a_crash_after_the_last_answer_takes_nothing_back(driver):
    assert verdicts.judge_driver(driver([DEVICE, ASKS, RIGHT, DONE], DIE)).against == ""


def test_a_driver_that_does_not_start_is_a_problem(driver):
    assert verdicts.judge_driver(driver([], DIE)).problem == "is not to be opened: its process ended by SIGSEGV"
    said = verdicts.judge_driver(driver([], "raise SystemExit('no such library')")).problem
    assert said == "is not to be opened: its process ended with exit code 1: no such library"
    assert verdicts.judge_driver(driver([DONE])).problem == "has no OpenCL device"


def test_a_verdict_is_kept_until_the_library_changes(driver):
    icd = driver([DEVICE, ASKS, WRONG, DONE])
    first = verdicts.judge_driver(icd)
    driver([DEVICE, ASKS, RIGHT, DONE])  # another process
    assert verdicts.judge_driver(icd) == first
    assert len(driver.trials) == 1
    driver.library.write_text("another ELF")
    assert verdicts.judge_driver(icd).against == ""
    assert len(driver.trials) == 2


def test_a_crash_is_not_kept(driver):
    icd = driver([DEVICE, ASKS], DIE)
    assert verdicts.judge_driver(icd).against
    assert verdicts.judge_driver(icd).against
    assert len(driver.trials) == 1
    assert verdicts.judge_driver(driver([DEVICE, ASKS, RIGHT, DONE])).against == ""


def test_without_the_cache_each_process_tries_anew(driver, monkeypatch):
    monkeypatch.setenv(disk_cache.SWITCH, "off")
    for _ in range(2):
        assert verdicts.judge_driver(driver([DEVICE, ASKS, RIGHT, DONE])).against == ""
    assert len(driver.trials) == 2
    assert not disk_cache.folder("drivers").exists()


def test_a_library_without_a_folder_is_found_as_the_linker_does(tmp_path, monkeypatch):
    (tmp_path / "libacme.so.1").write_text("ELF")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert drivers.find_library("libacme.so.1\n") == tmp_path / "libacme.so.1"
    assert drivers.find_library("libnothing.so.1\n") is None
