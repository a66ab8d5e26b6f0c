"""The recipes for users' repositories: the shell script run in a scratch repository, the YAML against the hosts' schemas."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import handmade
import jsonschema
import pytest

import adreno_sim

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "adreno_sim" / "cli" / "init" / "recipes"
WORKFLOW, PIPELINE, SCRIPT = (RECIPES / name for name in ("adreno.yml", "adreno.gitlab-ci.yml", "adreno-ci.sh"))


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A user's repository: one model on main; on a branch the same with a larger plan, and a new one with a wrong kernel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(adreno_sim.__file__).parents[1]), prepend=os.pathsep)
    for name in [name for name in os.environ if name.startswith(("ADRENO_", "GITHUB_"))]:
        monkeypatch.delenv(name)
    Path("ci").mkdir()
    shutil.copy(SCRIPT, "ci")
    Path("models").mkdir()
    handmade.branch().save("models/choice.asim")
    git("init", "--quiet", "--initial-branch=main")
    git("add", ".")
    git("commit", "--quiet", "--message=one model")
    git("switch", "--quiet", "--create", "change")
    handmade.texture().save("models/choice.asim")
    wrong = handmade.texture()
    code = wrong.kernels["twice"]
    wrong.kernels["twice"] = replace(code, source=code.source.replace("(y, at,", "(y, at + (int4)(1, 0, 0, 0),"))
    wrong.save("models/wrong one.asim")
    return tmp_path


def git(*args):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    return subprocess.run(["git", *identity, *args], check=True, capture_output=True, text=True).stdout


def test_a_cache_that_was_committed_is_refused(repository, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(Path(".cache").resolve()))
    Path(".cache/objects").mkdir(parents=True)
    Path(".cache/objects/code.o").write_bytes(b"whatever its author likes")
    untracked = subprocess.run(["bash", "ci/adreno-ci.sh", "help"], capture_output=True, text=True)
    assert untracked.returncode == 2
    assert "expected install, check or footprint" in untracked.stderr
    git("add", "--force", ".cache")
    committed = subprocess.run(["bash", "ci/adreno-ci.sh", "check"], capture_output=True, text=True)
    assert committed.returncode == 2
    assert "has files in the repository" in committed.stderr


def script(*args, **settings):
    """The script with adreno-sim as it is here."""
    own = {"ADRENO_CI_COMMAND": f"{sys.executable} -m adreno_sim", "ADRENO_CI_MODELS": "models/*.asim", **settings}
    done = subprocess.run(
        ["bash", "ci/adreno-ci.sh", *args], capture_output=True, text=True, timeout=300, env={**os.environ, **own}
    )
    assert "Traceback" not in done.stderr
    return done


def test_check_as_a_host_runs_it(repository):
    # A name with a space is no pattern's business: the script takes it from the file system.
    host = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md", "ADRENO_CI_PROFILES": "adreno-74*"}
    done = script("check", **host)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error file=models/wrong one.asim,line=1,title=image-write-out-of-range::", done.stdout, re.MULTILINE)
    made = {path.name for path in Path("adreno-ci").iterdir()}
    assert made == {"cases", "code-quality.json", "findings.sarif", "sweep.json", "sweep.md"}
    (grave,) = [item for item in json.loads(Path("adreno-ci/code-quality.json").read_text()) if item["severity"] == "critical"]
    assert grave["location"] == {"path": "models/wrong one.asim", "lines": {"begin": 1}}
    assert len(grave["fingerprint"]) == 64
    summary = Path("summary.md").read_text()
    assert "| choice | sim:adreno-740 |" in summary
    assert "image-write-out-of-range: models/wrong one.asim: kernel twice" in summary
    other = {"ADRENO_CI_MODELS": "models/wrong*", "ADRENO_CI_PROFILES": "adreno-740"}
    again = script("check", ADRENO_CI_OPTIONS="--strict --checks off", **other)  # options make other cases
    assert again.returncode in (0, 1)
    assert "done before" not in again.stderr
    assert "::error" not in again.stdout  # no host that reads them


def test_footprint_beside_the_base_branch(repository):
    done = script("footprint", "main", GITHUB_STEP_SUMMARY="summary.md")
    assert done.returncode == 0, done.stderr
    text = Path("summary.md").read_text()
    assert text == Path("adreno-ci/footprint.md").read_text()
    assert text.startswith("### Memory plans, beside those of main")
    changed, new = text.split("#### ")[1:]
    assert changed.startswith("choice.asim")
    assert "| planner | before | now | change |" in changed
    assert new.startswith("wrong one.asim")
    assert "| planner | bytes |" in new
    assert git("worktree", "list").count("\n") == 1
    assert git("status", "--porcelain", "ci") == ""
    assert script("footprint", ADRENO_CI_BUDGET="1B").returncode == 1
    over = Path("adreno-ci/footprint.md").read_text()
    assert "beside" not in over
    assert over.count("above the budget of 1") == 2  # the summary of the job says why it failed, for each model
    assert "**failed**" not in text


@pytest.mark.parametrize(
    ("args", "settings", "said"),
    [
        ([], {}, "expected install, check or footprint"),
        (["check"], {"ADRENO_CI_COMMAND": ""}, ".adreno-venv/bin/adreno-sim does not exist: run 'bash ci/adreno-ci.sh install'"),
        (["footprint"], {"ADRENO_CI_COMMAND": ""}, ".adreno-venv/bin/adreno-sim does not exist: run"),
        (["check"], {"ADRENO_CI_MODELS": "none/*.onnx"}, "no model: ADRENO_CI_MODELS is 'none/*.onnx'"),
        (["footprint", "nowhere"], {}, "git revision 'nowhere' is not known here"),
        (["install"], {}, "ADRENO_CI_PACKAGE is '': expected git+https://"),
        (["install"], {"ADRENO_CI_PACKAGE": "adreno-sim"}, "ADRENO_CI_PACKAGE is 'adreno-sim': expected git+https://"),
        (["install"], {"ADRENO_CI_PACKAGE": "adreno-sim==0.1.0"}, "a name from an index is not taken"),
        (["install"], {"ADRENO_CI_PACKAGE": "git+https://example.org/adreno-sim@main"}, "with all 40 digits"),
        (["install"], {"ADRENO_CI_PACKAGE": "git+https://HOST/OWNER/adreno-sim@COMMIT"}, "with all 40 digits"),
        (["install"], {"ADRENO_CI_TVM": "0.1"}, "ADRENO_CI_TVM is '0.1': expected 0.27, 0.26 or 0.25"),
    ],
)
def test_what_the_script_refuses(repository, args, settings, said):
    done = script(*args, **settings)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr, done.stderr


FAKE_PYTHON = """#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/adreno-sim"; exit; fi
case $* in *find_spec*) echo "$PACKAGE";; esac
echo "$*" >> "$LOG"
"""
"""An interpreter that makes environments of itself, and writes down how it is called."""


@pytest.mark.parametrize("venv", ["", "a folder/venv", "absolute"])
def test_pins_are_those_of_the_package_wherever_the_environment_is(repository, venv):
    Path("python").write_text(FAKE_PYTHON)
    Path("python").chmod(0o755)
    venv = str(repository / "elsewhere") if venv == "absolute" else venv
    package, log = ROOT / "adreno_sim", repository / "log"
    settings = {"ADRENO_CI_COMMAND": "", "ADRENO_CI_PACKAGE": str(ROOT), "PYTHON": "./python", "ADRENO_CI_VENV": venv}
    done = script("install", **settings, PACKAGE=str(package), LOG=str(log))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    *_, install, version = log.read_text().splitlines()
    assert install.endswith(f"--require-hashes -r {package}/pins/tvm.txt")
    assert version == "--version"


@pytest.mark.slow
def test_install_and_check(repository):
    """From nothing, with the project's folder as the package."""
    settings = {"ADRENO_CI_COMMAND": "", "ADRENO_CI_PACKAGE": str(ROOT), "PYTHON": sys.executable, "PYTHONPATH": ""}
    done = script("install", **settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("adreno-sim "), done.stderr
    done = script("check", **{**settings, "ADRENO_CI_MODELS": "models/choice.asim"})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_for_shellcheck():
    for path in [SCRIPT, *(ROOT / "ci").glob("*.sh")]:
        subprocess.run(["shellcheck", "--external-sources", "--severity=warning", path], check=True)


def yaml(path):
    return pytest.importorskip("yaml").safe_load(path.read_text())


@pytest.mark.parametrize(("path", "name"), [(WORKFLOW, "github-workflows"), (PIPELINE, "gitlab-ci")], ids=["github", "gitlab"])
def test_the_hosts_schemas(path, name):
    pytest.importorskip("check_jsonschema")
    folder = resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    data = {("on" if key is True else key): value for key, value in yaml(path).items()}  # YAML 1.1 reads `on` as true
    jsonschema.validators.validator_for(schema)(schema).validate(data)


def commands(value):
    """Every shell command of a pipeline's data."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("run", "script", "before_script"):
                yield from [item] if isinstance(item, str) else item
            else:
                yield from commands(item)
    elif isinstance(value, list):
        for item in value:
            yield from commands(item)


@pytest.mark.parametrize("path", [WORKFLOW, PIPELINE], ids=["github", "gitlab"])
def test_the_recipes_only_call_the_script(path):
    """What is done lies in the script, which the tests above run; its settings and files are those the recipes name."""
    text = path.read_text()
    found = list(commands(yaml(path)))
    assert len(found) >= 3
    for command in found:
        assert re.fullmatch(r'bash ci/adreno-ci\.sh (install|check|footprint "origin/\$\w+")', command), command
    told = SCRIPT.read_text()
    for setting in set(re.findall(r"ADRENO_\w+", text)):
        assert setting in told, setting
    for file in set(re.findall(r"adreno-ci/([\w.-]+)", text)):
        assert file == "adreno-ci.sh" or f"$OUT/{file}" in told, file


def test_what_may_write_installs_nothing():
    flow = yaml(WORKFLOW)
    assert flow["permissions"] == {"contents": "read"}
    writing = {name for name, job in flow["jobs"].items() if "write" in job.get("permissions", {}).values()}
    assert writing == {"findings"}
    assert not list(commands(flow["jobs"]["findings"]))
    assert flow["jobs"]["findings"]["strategy"] == flow["jobs"]["check"]["strategy"]


@pytest.mark.parametrize("path", [WORKFLOW, PIPELINE, SCRIPT], ids=["github", "gitlab", "script"])
def test_nothing_is_installed_by_a_name_of_an_index(path):
    text = path.read_text()
    assert not re.search(r"ADRENO_CI_PACKAGE(: *|=|:-)adreno-sim", text)
    assert "pip install adreno-sim" not in text


def test_the_matrix_is_what_there_is():
    from adreno_sim.profiles.profile import names

    matrix = yaml(WORKFLOW)["jobs"]["check"]["strategy"]["matrix"]
    (other,) = yaml(PIPELINE)["adreno-check"]["parallel"]["matrix"]
    for profiles, versions in ((matrix["profile"], matrix["tvm"]), (other["ADRENO_CI_PROFILES"], other["ADRENO_CI_TVM"])):
        assert set(profiles) <= set(names())
        assert all(f"{version})" in SCRIPT.read_text() for version in versions)


def test_actions_are_named_by_commit():
    """A tag may be moved to other code; the release that a commit was is told behind it."""
    named = re.findall(r"uses: (.*)", WORKFLOW.read_text())
    assert len(named) == WORKFLOW.read_text().count("uses:") >= 10
    for action in named:
        assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert len({action.split("@")[0] for action in named}) == len(set(named))  # one version of each


def test_what_the_script_installs_is_pinned():
    """Each pip command names hashes, or installs one package and nothing that it needs."""
    commands = re.findall(r"-m pip install .*", SCRIPT.read_text())
    assert len(commands) == 2
    assert all("--require-hashes" in command or "--no-deps" in command for command in commands)
    for extra in re.findall(r"extra=(\w+)", SCRIPT.read_text()):
        assert (ROOT / "adreno_sim" / "pins" / f"{extra}.txt").is_file()
