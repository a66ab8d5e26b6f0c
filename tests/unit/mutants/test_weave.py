"""Mutants of a small file: where they stand, that one is on at a time, and that with none on nothing changes."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "ci/mutants"))

import switch
from sites import find_sites
from weave import Mutant, weave_source

SOURCE = '''"""Doc."""
from __future__ import annotations

LIMIT: int = 3 + 4


def clamp(values: list[int], low: int = 0) -> list[int]:
    """Doc of a function."""
    kept = []
    for value in values:
        if value < low:
            raise ValueError(f"{value - 1}")
        kept.append(
            min(value, LIMIT)
        )
    return kept
'''


def run(woven: str, monkeypatch: pytest.MonkeyPatch, number: int) -> str:
    monkeypatch.setattr(switch, "_ON", number)
    monkeypatch.setitem(sys.modules, "mutant_switch", switch)
    module = types.ModuleType("woven")
    exec(compile(woven, "woven", "exec"), module.__dict__)
    try:
        return str(module.clamp([0, 5, 9]))
    except ValueError as error:
        return f"ValueError {error}"


def test_what_runs_at_import_and_texts_have_none():
    found = [(site.line, site.kind, site.mutated) for site in find_sites(SOURCE)]
    assert found == [
        (11, "comparison", "value <= low"), (11, "condition", "False"), (11, "condition", "True"), (12, "raise left out", None),
        (13, "call left out", None), (16, "result", "None"),
    ]  # fmt: skip


@pytest.mark.parametrize("number, expected", [
    (-1, "[0, 5, 7]"), (0, "ValueError -1"), (1, "[0, 5, 7]"), (2, "ValueError -1"), (4, "[]"), (5, "None"),
])  # fmt: skip
def test_one_is_on_and_the_lines_stay(monkeypatch, number, expected):
    sites = find_sites(SOURCE)
    kept = [sites[number]] if number >= 0 else [sites[index] for index in (0, 3, 4, 5)]
    woven = weave_source(SOURCE, [Mutant(sites.index(site), "f.py", site) for site in kept])
    assert woven.count("\n") == SOURCE.count("\n")
    assert woven.count("_is_on(") == len(kept)
    assert run(woven, monkeypatch, number) == expected
