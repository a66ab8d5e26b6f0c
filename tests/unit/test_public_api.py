"""docs/api.md against what the package has."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import adreno_sim
from adreno_sim import schemas

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


def listed(start: str, end: str) -> set[str]:
    """Names in code marks between two texts of the page."""
    return set(re.findall(r"`([\w-]+)`", PAGE.partition(start)[2].partition(end)[0]))


def test_python_names():
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.+) \|$", PAGE.partition("## Commands")[0], re.MULTILINE))
    names = {module: set(re.findall(r"`(\w+)`", text)) for module, text in rows.items()}
    assert names["adreno_sim"] == set(adreno_sim.__all__)
    for module, found in names.items():
        have = import_module(module)
        assert found, module
        assert all(hasattr(have, name) and not name.startswith("_") for name in found), module
        assert found == set(getattr(have, "__all__", found)), module


def test_options_of_check():
    from adreno_sim.compiler.check.prepare import CheckOptions

    assert listed("Options of `check`:", "## Commands") == {field.name for field in fields(CheckOptions)}


def test_commands():
    from adreno_sim.cli.main import _parser

    (commands,) = [action for action in _parser()._actions if action.dest == "COMMAND" or action.choices]
    assert listed("## Commands", "their options") == set(commands.choices)


def test_schemas_and_fixtures():
    from adreno_sim.pytest import plugin

    assert listed("## Files", "they lie") - {"1"} == {*schemas.NAMES, "bundle"}
    fixtures = {name for name in vars(plugin) if name.startswith("adreno_")}
    assert listed("## pytest", "the options") == fixtures | {"adreno"}


def test_environment():
    """Every variable named is read somewhere."""
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(adreno_sim.__file__).parent.rglob("*.py"))
    assert all(f'"{name}"' in sources for name in listed("## Environment", "Each is read"))


def test_every_kind_of_finding_has_its_row():
    from adreno_sim.findings import Kind

    page = (Path(__file__).parents[2] / "docs" / "kinds.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(f"| `{kind.label}` | {kind.severity.name.lower()} | {kind.sentence} |" for kind in Kind)


def test_every_kind_has_a_label_of_its_own():
    from adreno_sim.findings import Kind

    assert len({kind.label for kind in Kind}) == len(Kind)
