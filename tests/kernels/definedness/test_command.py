"""The command of a campaign: what it prints, what it returns, and what becomes of cases whose process dies."""

from __future__ import annotations

import argparse
import importlib

import pytest
import seeds

CASES = """
import os

def find(seed):
    if seed == 7:
        os._exit(3)
    if seed == 5:
        raise ValueError("no such case")
    return "one too many" if seed == 10 else ""
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs cases of a module that other processes can import. Returns the exit code and the lines."""
    (tmp_path / "cases_of_seeds.py").write_text(CASES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(seeds, "BATCH", 3)
    find = importlib.import_module("cases_of_seeds").find

    def run(*words):
        parser = argparse.ArgumentParser()
        seeds.add_options(parser, 6)
        code = seeds.run_campaign(find, parser.parse_args(["--jobs", "1", *words]), "cases")
        return code, capsys.readouterr().out.splitlines()

    return run


def test_every_case_that_is_wrong_is_named_though_a_process_dies(run):
    code, lines = run("--first", "5")
    assert code == 1
    assert sorted(lines[:-1]) == [
        "seed 10: one too many",
        "seed 5: ValueError: no such case",
        "seed 7: its process died",
    ]
    assert lines[-1].startswith("6 cases from seed 5 on: 3 wrong; ")


def test_what_there_was_no_time_for_is_no_success(run):
    code, (line,) = run("--first", "20", "--seconds", "0")
    assert code == 1
    assert line.startswith("0 cases from seed 20 on: 0 wrong, no time for 6; ")
    code, (line,) = run("--first", "30", "--count", "2")
    assert code == 0
    assert line.startswith("2 cases from seed 30 on: 0 wrong; ")
