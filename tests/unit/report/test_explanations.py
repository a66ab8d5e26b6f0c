"""Every kind of finding is explained: its texts, the page, and the command."""

from pathlib import Path

import pytest

from adreno_sim.cli.main import main
from adreno_sim.explanations import explanations, help_of
from adreno_sim.explanations.page import page
from adreno_sim.findings import Finding, Kind

ROOT = Path(__file__).parents[3]


def test_no_kind_lacks_a_text():
    known = explanations()
    assert set(known) == {kind.label for kind in Kind}
    for told in known.values():
        for text in (told.help, told.means, told.example, told.fix):
            assert len(text) > 20, told.kind
        assert told.help[0].islower(), told.kind
        assert not told.help.endswith("."), told.kind
        assert "\n" not in told.help, told.kind
        assert told.means.endswith("."), told.kind
        assert told.fix[-1] in ".?)", told.kind
        assert all(len(line) <= 130 for line in told.example.splitlines()), told.kind
        assert told.reference.startswith("https://")


def test_a_finding_knows_better_than_its_kind():
    assert help_of(Finding(Kind.DATA_RACE, "", help="do this")) == "do this"
    assert help_of(Finding(Kind.DATA_RACE, "")) == explanations()["data-race"].help


def test_the_page_holds_the_texts():
    assert (ROOT / "docs/explanations.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("kind", ["data-race", "plan-inflated"])
def test_the_command_says_all_of_a_kind(kind, capsys):
    assert main(["explain", kind]) == 0
    out = capsys.readouterr().out
    told = explanations()[kind]
    assert out.startswith(f"{kind} ({told.kind.severity})")
    assert told.help in out
    assert all(line in out for line in told.example.splitlines())
    assert set(told.fix.split()) <= set(out.split())


def test_the_command_lists_the_kinds_and_knows_no_others(capsys):
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {kind.label} " in out for kind in Kind)
    assert main(["explain", "datarace"]) == 2
    assert "did you mean data-race?" in capsys.readouterr().err
