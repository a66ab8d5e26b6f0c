"""The kits for other projects in docs/upstream: hosts take the workflows, the commands know what these call, patches apply.

With --slow, patches and the files that workflows name are looked for in checkouts, which the variables of SOURCES name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from adreno_sim.cli.main import _parser

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[3]
KITS = ROOT / "docs" / "upstream"
PAGE = KITS / "README.md"
RECIPE = ROOT / "adreno_sim" / "cli" / "init" / "recipes" / "adreno.yml"
PROJECTS = sorted(path for path in KITS.iterdir() if path.is_dir())
WORKFLOWS = sorted(KITS.glob("*/*.yml"))
PATCHES = sorted(KITS.rglob("*.patch"))

SOURCES = {
    "llama.cpp": "ADRENO_SIM_LLAMA_SOURCE",
    "mlc-llm": "ADRENO_SIM_MLC_SOURCE",
    "tinygrad": "ADRENO_SIM_TINYGRAD_SOURCE",
    "tvm": "ADRENO_SIM_TVM_SOURCE",
}
"""The folder of a kit -> what names the checkout of its project."""

BROUGHT = {
    "test/external/external_test_adreno_sim.py": "ci/clients/tinygrad_tensors.py",
    "tests/adreno_sim_operators.py": "ci/clients/llama_operators.py",
    "tests/adreno/llama_layers.py": "docs/upstream/mlc-llm/llama_layers.py",
}
"""Files that a kit adds to a checkout -> where they lie here."""

OURS = re.compile(r"""(?:"\$RUNNER_TEMP/adreno-sim/bin/adreno-sim"|(?<![\w/-])adreno-sim)(?= [a-z])(.*)""")
A_FILE = re.compile(r"(?<![\w./>-])[\w.-]+(?:/[\w.-]+)+\.(?:py|sh)\b")


def said_of(path: Path) -> str:
    """How a test calls a file of a kit."""
    return path.relative_to(KITS).as_posix()


def lines_of(workflow: Path) -> list[str]:
    """The lines of all steps that a shell runs, each whole."""
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    texts = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    return [line for text in texts for line in text.replace("\\\n", " ").splitlines()]


def calls_of(lines: list[str]) -> list[list[str]]:
    """The arguments of each call of adreno-sim."""
    return [shlex.split(found[1], comments=True) for line in lines if (found := OURS.search(line))]


def takes(arguments: list[str]) -> bool:
    """Whether the command line here takes these."""
    try:
        _parser().parse_args(arguments)
    except SystemExit:
        return False
    return True


def checkout_of(project: Path) -> Path:
    """The checkout that the environment names; skips the test without one."""
    named = os.environ.get(SOURCES[project.name])
    if not named:
        pytest.skip(f"{SOURCES[project.name]} names no checkout")
    return Path(named)


def test_every_project_has_a_workflow_and_a_section():
    assert {workflow.parent for workflow in WORKFLOWS} == set(PROJECTS)
    assert set(SOURCES) == {path.name for path in PROJECTS}
    sections = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(name.lower() for name in sections) == [path.name for path in PROJECTS]


def test_links_lead_somewhere_and_every_file_is_named():
    targets = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", PAGE.read_text(encoding="utf-8"))
    assert [target for target in targets if not (KITS / target).exists()] == []
    files = {said_of(path) for path in KITS.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert files - set(targets) == {"README.md"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=said_of)
def test_a_workflow_is_what_the_host_takes(workflow):
    pytest.importorskip("check_jsonschema")
    jsonschema = pytest.importorskip("jsonschema")
    folder = resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads(folder.joinpath("github-workflows.json").read_text(encoding="utf-8"))
    text = workflow.read_text(encoding="utf-8")
    data = {("on" if key is True else key): value for key, value in yaml.safe_load(text).items()}  # YAML 1.1 reads `on` as true
    jsonschema.validate(data, schema)
    actions = set(re.findall(r"uses: (\S+@\S+ # \S+)", text))
    assert actions <= set(re.findall(r"uses: (\S+@\S+ # \S+)", RECIPE.read_text(encoding="utf-8")))
    assert len(re.findall(r"\buses:", text)) == len(re.findall(r"uses: \S+@[0-9a-f]{40} # v", text))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=said_of)
def test_a_workflow_calls_what_there_is(workflow):
    calls = calls_of(lines_of(workflow))
    assert calls
    assert [call for call in calls if not takes(call)] == []


def test_the_page_calls_what_there_is():
    text = PAGE.read_text(encoding="utf-8")
    calls = calls_of([line for line in text.splitlines() if line.startswith("    ")])
    assert calls
    assert [call for call in calls if not takes(call)] == []
    named = re.findall(r"\$ADRENO_SIM/([\w./-]+)", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_an_option_that_there_is_not_is_seen():
    lines = ['"$RUNNER_TEMP/adreno-sim/bin/adreno-sim" run --checks bounds -- python x.py', "adreno-sim run --chekcs bounds -- x"]
    assert [takes(call) for call in calls_of([*lines, "pip install adreno-sim @ $ADRENO_SIM_PACKAGE"])] == [True, False]


@pytest.mark.parametrize("patch", PATCHES, ids=said_of)
def test_a_patch_is_one_and_carries_little_of_others(patch):
    done = subprocess.run(["git", "apply", "--numstat", str(patch)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout, done.stderr
    body = [line for line in patch.read_text(encoding="utf-8").splitlines() if line.startswith((" ", "+", "-", "@@"))]
    context, hunks = (sum(line.startswith(start) for line in body) for start in (" ", "@@"))
    assert context <= 2 * hunks


@pytest.mark.slow
@pytest.mark.parametrize("patch", PATCHES, ids=said_of)
def test_a_patch_applies(patch):
    checkout = checkout_of(KITS / patch.relative_to(KITS).parts[0])
    # In a checkout that lies in another repository, git would skip the files.
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(checkout.resolve().parent)}
    done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=checkout, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=said_of)
def test_a_checkout_has_what_a_workflow_names(workflow):
    checkout = checkout_of(workflow.parent)
    named = {name for line in lines_of(workflow) for name in A_FILE.findall(line)}
    assert all((ROOT / BROUGHT[name]).exists() for name in named if name in BROUGHT)
    assert [name for name in sorted(named) if name not in BROUGHT and not (checkout / name).exists()] == []
