"""Mistakes as authors of kernels make them, one a kernel: `adreno-sim kernel k.cl` finds each with nothing but the kernel.

*.toml beside this file are the mistakes: kind and line of the finding, parts of its text with source lines (says), its help, and
a line that its patch adds, if one is offered. source begins in line 1. The corrected twin is the patched kernel, or `clean`.
`python -m tests.kernels.mistakes.table` writes the table of docs/mistakes.md. `pytest --slow` runs every twin.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from validators import validator

from adreno_sim.base.errors import BuildError
from adreno_sim.findings import Severity
from adreno_sim.launch_spec.inferred import infer
from adreno_sim.launch_spec.inferred.run import Wanted, run_inferred
from adreno_sim.render.report import explain
from adreno_sim.results.launch_report import LaunchReport
from adreno_sim.results.verdict.finding_json import finding_to_json

from .table import BROKEN, DOES_NOT_COMPILE, MISTAKES, Mistake, read_mistakes, read_page, write_table

NAMES = [mistake.name.replace(" ", "-") for mistake in MISTAKES]


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(infer, "SECONDS", 2)  # a busy machine stops a launch for half a second


def run(source: str) -> LaunchReport:
    Path("k.cl").write_text(source, encoding="utf-8")
    report, _ = run_inferred(Path("k.cl"), Path("k.failing.toml"), Wanted(patch=True))
    return report


def find_bad(report: LaunchReport) -> list[tuple[str, int, str]]:
    return [(f.kind.label, f.line, f.message) for f in report.findings if f.severity is not Severity.NOTE]


@pytest.mark.share(20)
@pytest.mark.parametrize("mistake", MISTAKES, ids=NAMES)
def test_a_mistake_is_told_and_its_twin_is_clean(mistake: Mistake):
    if mistake.kind == DOES_NOT_COMPILE:
        assert_refused(mistake)
        source = mistake.clean
    else:
        patches = assert_told(mistake)
        source = apply(*patches) if patches else mistake.clean
    assert not find_bad(run(source))


def assert_refused(mistake: Mistake) -> None:
    with pytest.raises(BuildError) as refused:
        run(mistake.source)
    text = str(refused.value)
    assert f"k.cl:{mistake.line}:" in text
    assert mistake.help in text
    assert all(part in text for part in mistake.says)


def assert_told(mistake: Mistake) -> list[str]:
    """Returns the patch, where there is one."""
    report = run(mistake.source)
    found = [f for f in report.findings if (f.kind.label, f.line) == (mistake.kind, mistake.line)]
    assert found, find_bad(report)
    assert found[0].severity is not Severity.NOTE
    text = explain.explain(found[0], mistake.source)
    assert all(part in text for part in mistake.says), text
    assert mistake.help in text.partition("help: ")[2].splitlines()[0], text
    validator("finding").validate(finding_to_json(found[0]))
    patches = [one.patch for one in report.findings if one.patch]
    assert len(patches) == bool(mistake.patch), patches
    assert mistake.patch in "".join(patches), patches
    return patches


def apply(patch: str) -> str:
    """Returns the source in the current folder with a patch."""
    applied = subprocess.run(["patch", "-p0", "-s", "--fuzz=0"], input=patch, text=True, capture_output=True, check=False)
    assert applied.returncode == 0, applied.stdout + applied.stderr
    return Path("k.cl").read_text(encoding="utf-8")


def test_every_entry_can_be_read():
    assert not BROKEN, "\n".join(BROKEN)


@pytest.mark.skipif(bool(BROKEN), reason="an entry cannot be read, and is missing here")
def test_they_are_many_and_their_names_differ():
    assert len(MISTAKES) >= 50
    assert len(set(NAMES)) == len(NAMES)
    assert sum(bool(mistake.patch) for mistake in MISTAKES) >= 20
    assert all(bool(mistake.patch) != bool(mistake.clean) for mistake in MISTAKES)


@pytest.mark.skipif(bool(BROKEN), reason="an entry cannot be read, and is missing here")
def test_the_page_has_the_table():
    assert write_table() in read_page()


ENTRY = """[[mistake]]
name = "{}"
kind = "data-race"
line = 1
says = []
help = ""
source = ""
judged = "correction"
"""


def test_broken_entries_leave_the_others():
    Path("a.toml").write_text(ENTRY.format("one") + ENTRY.format("two").replace("line = 1", 'line = "1"') + ENTRY.format("three"))
    Path("b.toml").write_text("[[mistake]\n")
    Path("c.toml").write_text(ENTRY.format("four").replace("says", "say"))
    Path("d.toml").write_text(ENTRY.format("five"))
    found, broken = read_mistakes(Path())
    assert [mistake.name for mistake in found] == ["one", "three", "five"]
    assert broken[0] == "a.toml: [[mistake]] 2: line: expected a whole number of 0 or more, got '1'"
    assert broken[1].startswith("b.toml: not a TOML file: ")
    assert "at line 1" in broken[1]
    assert broken[2] == "c.toml: [[mistake]] 1: says: missing: expected a list of texts"
    assert len(broken) == 3
