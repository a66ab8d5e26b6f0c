"""Progress on a terminal and in a pipe."""

import io

import pytest

from adreno_sim.base.progress import show_progress
from adreno_sim.cli.tune import _print_trial


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_stage_of_unknown_length_shows_no_count(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    with show_progress(file) as bar:
        bar.stage("import")
    assert "import" in file.getvalue()
    assert "/?" not in file.getvalue()
    file = Terminal()
    with show_progress(file) as bar:
        bar.stage("run", 7)
        bar.step("conv")
    assert "/7" in file.getvalue()


def test_a_whole_whose_stages_are_known_goes_from_0_to_100_percent_and_never_back(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    with show_progress(file) as bar:
        told = []
        bar.expect({"import": 20, "build": 30, "run": 50})
        for stage, steps in (("import", 0), ("plan", 0), ("build", 3), ("run", 2), ("compare", 0)):
            bar.stage(stage, steps)
            told.append(bar._done)
            for number in range(steps + 1):  # more than were announced
                bar.step(str(number))
                told.append(bar._done)
    assert told == sorted(told)
    assert told[0] == 0
    assert max(told) == pytest.approx(1)
    assert told[4] == pytest.approx(0.2)
    assert "compare" in file.getvalue()
    assert "100 %" in file.getvalue()


def test_a_stage_that_is_left_out_is_passed_over(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    with show_progress(Terminal()) as bar:
        bar.expect({"import": 20, "compile": 30, "run": 50})
        bar.stage("cache")
        assert bar._done == 0
        bar.stage("run", 5)
        assert bar._done == pytest.approx(0.5)


class Trial:
    number, variant, accepted, reason = 3, "tile", False, "too large"


class Task:
    name = "conv2d"


def test_a_tuning_run_that_is_piped_says_a_line_for_each_candidate(capsys):
    _print_trial(Task, Trial)
    assert capsys.readouterr().err == "conv2d 3: tile: too large\n"
