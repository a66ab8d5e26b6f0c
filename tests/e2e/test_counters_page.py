"""The output that docs/counters.md shows is what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adreno_sim.cli.main import main

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).parents[2] / "docs" / "counters.md"


def test_the_shown_output(tmp_path, monkeypatch, capsys):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        Path(name).write_text(text)
    (shown,) = re.findall(r"^```output\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert main(["kernel", "--launch", "transpose.toml", "--counters"]) == 0
    said = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in said if line.strip(" ─")] == shown.splitlines()


@pytest.mark.parametrize("command", [["check", "model.onnx"], ["kernel", "--launch", "transpose.toml"]])
def test_a_real_device_is_refused(command, tmp_path, monkeypatch, capsys):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        Path(name).write_text(text)
    assert main([*command, "--counters", "--device", "cl"]) == 2
    assert capsys.readouterr().err == (
        "error: --counters: cl is a real device, which does not show what a kernel does; sim:PROFILE counts\n"
    )
