"""Progress on a terminal and in a pipe."""

import io

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
    assert "import" in file.getvalue() and "/?" not in file.getvalue()
    file = Terminal()
    with show_progress(file) as bar:
        bar.stage("run", 7)
        bar.step("conv")
    assert "/7" in file.getvalue()


class Trial:
    number, variant, accepted, reason = 3, "tile", False, "too large"


class Task:
    name = "conv2d"


def test_a_tuning_run_that_is_piped_says_a_line_for_each_candidate(capsys):
    _print_trial(Task, Trial)
    assert capsys.readouterr().err == "conv2d 3: tile: too large\n"
