"""The fidelity table: complete rows, one text in docs/fidelity.md and reports."""

from pathlib import Path

import jsonschema
import pytest

from adreno_sim import fidelity, schemas

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_table():
    assert fidelity.markdown() in (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8"), (
        "run: python -m adreno_sim.fidelity"
    )


@pytest.mark.parametrize("row", fidelity.behaviours(), ids=lambda row: row.name)
def test_every_row_says_something_and_where_it_is_shown(row):
    assert row.fidelity in fidelity.DEGREES
    assert row.says.endswith(".")
    assert "|" not in row.name + row.says
    assert bool(row.test) == (row.fidelity != "unsupported")
    assert not row.test or (ROOT / row.test).is_file()


def test_names_are_unique_and_every_degree_occurs():
    names = [row.name for row in fidelity.behaviours()]
    assert len(set(names)) == len(names)
    assert {row.fidelity for row in fidelity.behaviours()} == set(fidelity.DEGREES)


@pytest.mark.parametrize("name", ["report", "launch-report"])
def test_the_reports_schemas_take_the_table(name):
    schema = schemas.load(name)
    assert "fidelity" in schema["required"]
    jsonschema.Draft202012Validator(schema["properties"]["fidelity"]).validate(fidelity.to_json())
