"""The files that a host of the repository reads: they are what their schemas say, and name what there is."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")
check_jsonschema = find_spec("check_jsonschema")  # its data alone are read: to import it takes half a second
if check_jsonschema is None or check_jsonschema.origin is None:
    pytest.skip("could not find 'check_jsonschema'", allow_module_level=True)

ROOT = Path(__file__).parents[2]
SCHEMAS = Path(check_jsonschema.origin).parent / "builtin_schemas" / "vendor"
RECIPE = ROOT / "adreno_sim" / "cli" / "init" / "recipes" / "adreno.yml"


def read(path: Path) -> object:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def test_the_workflow_is_one():
    schema = json.loads((SCHEMAS / "github-workflows.json").read_text(encoding="utf-8"))
    found = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    found["on"] = found.pop(True)  # what YAML 1.1 reads "on" as
    jsonschema.validate(found, schema)


def test_actions_are_those_of_the_recipe_for_users():
    """By commit, and one commit for each in all the project."""
    actions = {path: dict(re.findall(r"uses: (\S+)@(\S+)", path.read_text(encoding="utf-8"))) for path in (
        ROOT / ".github/workflows/tests.yml", RECIPE
    )}  # fmt: skip
    own, users = actions.values()
    assert own
    assert own.items() <= users.items()
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in own.values())


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_an_issue_form_asks_for_each_thing_once(path):
    form = read(path)
    assert isinstance(form, dict)
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names)
    assert all(part["attributes"]["label"] for part in form["body"])
    commands = re.findall(r"`adreno-sim (\w+)", path.read_text(encoding="utf-8"))
    assert all((ROOT / "adreno_sim/cli" / f"{command}.py").exists() for command in commands), commands


def test_hooks_are_the_linters_of_the_test_script():
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"] for hook in repository["hooks"]]
    script = (ROOT / "ci/test.sh").read_text(encoding="utf-8")
    for entry in entries[:4]:
        name, *words = entry.split()
        assert re.search(rf'bin/{name}"? ?{" ".join(words)}', script), entry
