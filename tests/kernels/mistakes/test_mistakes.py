"""Kernels with one mistake each: kind, line, what is said, the help, and the patch with which the same launch runs clean.

*.toml beside this file are the mistakes. source begins in line 1. says: parts of the text with source lines. patch: a line that
the patch adds, where one is offered; it is applied to the kernel, which is then run again, and is clean.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from validators import validator

from adreno_sim.base.errors import BuildError
from adreno_sim.findings import Finding, Severity
from adreno_sim.launch_spec.mending.launch import run_and_mend
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch
from adreno_sim.render.report import explain
from adreno_sim.results.launch_report import LaunchReport
from adreno_sim.results.verdict.finding_json import finding_to_json

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = sorted(Path(__file__).parent.glob("*.toml"))
MISTAKES = [mistake for file in FILES for mistake in tomllib.loads(file.read_text(encoding="utf-8"))["mistake"]]
DOES_NOT_COMPILE = "does-not-compile"


def write(mistake: dict[str, Any], folder: Path) -> Path:
    """The kernel k.cl and its launch file in a folder; returns the latter."""
    (folder / "k.cl").write_text(mistake["source"], encoding="utf-8")
    (folder / "k.toml").write_text(mistake["launch"] + '\n[run]\nchecks = "full"\n', encoding="utf-8")
    return folder / "k.toml"


def find(report: LaunchReport, mistake: dict[str, Any]) -> Finding:
    found = [f for f in report.findings if (f.kind.label, f.line) == (mistake["kind"], mistake["line"])]
    assert found, [(f.kind.label, f.line, f.message) for f in report.findings]
    return next((f for f in found if f.patch), found[0])


def is_clean(report: LaunchReport) -> bool:
    return not [f for f in report.findings if f.severity is not Severity.NOTE] and all(output.ok for output in report.outputs)


@pytest.mark.share()
@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake["name"].replace(" ", "-") for mistake in MISTAKES])
def test_a_mistake_is_told_and_mended(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    launch = write(mistake, tmp_path)
    spec, kernel = read_launch(launch), Path("k.cl")
    if mistake["kind"] == DOES_NOT_COMPILE:
        with pytest.raises(BuildError) as refused:
            run_and_mend(spec, kernel)
        text = str(refused.value)
        assert f"k.cl:{mistake['line']}:" in text
        assert mistake["help"] in text
        assert all(part in text for part in mistake["says"])
        return
    report = run_and_mend(spec, kernel)
    finding = find(report, mistake)
    text = explain.explain(finding, mistake["source"])
    assert all(part in text for part in mistake["says"]), text
    assert mistake["help"] in text.partition("help: ")[2].splitlines()[0], text
    validator("finding").validate(finding_to_json(finding))
    patches = [one.patch for one in report.findings if one.patch]
    if "patch" not in mistake:
        assert not patches, patches
        return
    (patch,) = patches
    assert mistake["patch"] in patch, patch
    applied = subprocess.run(["patch", "-p0", "-s", "--fuzz=0"], input=patch, text=True, capture_output=True, check=False)
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert is_clean(run_launch(spec, kernel))


def test_they_are_many_and_their_names_differ():
    assert len(MISTAKES) >= 50
    assert len({mistake["name"] for mistake in MISTAKES}) == len(MISTAKES)
    assert sum("patch" in mistake for mistake in MISTAKES) >= 20
