"""What goes with a release: notes, bill of materials, hashes, and the index that it is tried from."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
CHANGES = "# Changes\n\n## [Unreleased]\n\n- new\n\n## [1.2.0] - 2026-11-01\n\n### Added\n\n- a planner\n\n## [1.1.0]\n\n"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "ci" / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


papers, dry_run = load("papers"), load("dry_run")


def test_notes_are_the_section_of_the_version() -> None:
    assert papers.read_notes(CHANGES, "1.2.0") == "### Added\n\n- a planner\n"
    for version in ("1.3.0", "1.1.0", "1.2"):
        with pytest.raises(ValueError, match=f"a section .{version}. that says what changed"):
            papers.read_notes(CHANGES, version)


def test_the_bill_has_every_pin_with_its_hashes() -> None:
    pins = (ROOT / "adreno_sim" / "pins" / "tvm.txt").read_text(encoding="utf-8")
    bill = papers.make_bill("1.2.0", pins)
    found = {(part["name"], part["version"]) for part in bill["components"]}
    assert len(found) == len(bill["components"]) == len(re.findall(r"^\S+==", pins, re.MULTILINE)) > 10
    assert {"numpy", "numba", "llvmlite", "ziglang", "apache-tvm"} <= {name for name, _ in found}
    hashes = [each["value"] for part in bill["components"] for each in part["properties"] if each["name"] == "pip:sha256"]
    assert len(hashes) == pins.count("--hash=sha256:")
    assert bill["dependencies"][0]["dependsOn"] == [part["bom-ref"] for part in bill["components"]]
    with pytest.raises(ValueError, match="numpy: expected hashes"):
        papers.make_bill("1.2.0", "numpy==2.1\nzig==1 \\\n    --hash=sha256:" + "0" * 64)


def test_sums_are_of_every_other_file(tmp_path: Path) -> None:
    for name in ("b.whl", "a.tar.gz", "SHA256SUMS"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert papers.sum_files(tmp_path).splitlines() == [
        f"{hashlib.sha256(n.encode()).hexdigest()}  {n}" for n in ("a.tar.gz", "b.whl")
    ]


def test_the_index_has_the_distributions(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="expected wheels or a source distribution"):
        dry_run.write_index(tmp_path, tmp_path / "none")
    (tmp_path / "adreno_sim-1.2.0-py3-none-any.whl").write_bytes(b"wheel")
    dry_run.write_index(tmp_path, tmp_path / "index")
    page = tmp_path / "index" / "simple" / "adreno-sim"
    assert 'href="adreno_sim-1.2.0-py3-none-any.whl"' in (page / "index.html").read_text(encoding="utf-8")
    assert (page / "adreno_sim-1.2.0-py3-none-any.whl").read_bytes() == b"wheel"


def test_a_project_of_this_name_on_another_index_is_not_installed() -> None:
    first, second = dry_run.list_installs(Path("python"), "http://127.0.0.1:1/simple/", "1.2.0")
    assert first[-5:] == ["--isolated", "--no-deps", "--index-url", "http://127.0.0.1:1/simple/", "adreno-sim==1.2.0"]
    assert not [word for word in first + second if word.startswith(("--extra-index-url", "--upgrade", "--force-reinstall"))]
    assert second[-1] == "adreno-sim==1.2.0"


@pytest.mark.parametrize(("changes", "refused"), [("- new\n", True), ("", False)])
def test_a_tag_needs_a_changelog_without_unreleased_changes(tmp_path: Path, changes: str, refused: bool) -> None:
    """Without --tag it is a dry run, whatever is unreleased. A version that another file lacks ends the clean twin, too."""
    for name in ("release.sh", "lib.sh"):
        (tmp_path / "ci").mkdir(exist_ok=True)
        (tmp_path / "ci" / name).write_bytes((ROOT / "ci" / name).read_bytes())
    (tmp_path / "pyproject.toml").write_text('version = "1.2.0"\n')
    (tmp_path / "adreno_sim" / "base").mkdir(parents=True)
    (tmp_path / "adreno_sim" / "base" / "version.py").write_text('"1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n{changes}\n## [1.2.0]\n\n- a planner\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    for tag in ([], ["--tag"]):
        command = ["bash", str(tmp_path / "ci" / "release.sh"), str(tmp_path / "out"), *tag]
        asked = subprocess.run(
            command,
            env={
                **os.environ,
                "PYTHON": "none",
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "ADRENO_SIM_VENV": "/dev/null/venv",
            },
            capture_output=True,
            text=True,
        )
        assert asked.returncode == 2
        assert ("changes in [Unreleased]" in asked.stderr) == (refused and bool(tag)), asked.stderr


@pytest.mark.parametrize(("broken", "code"), [("", 0), ("shift.toml", 1), ("client.py", 1)])
def test_each_command_of_the_readme_is_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str, code: int) -> None:
    """An installation that is as it should be, and two in which one command says nothing."""
    program = tmp_path / "adreno-sim"
    program.write_text(
        f"""#!/bin/sh
for last; do :; done
test -f "$last" || exit 9
[ "$last" = "{broken}" ] && exit
case $1 in kernel) echo image-write-out-of-range; exit 1;; run) echo QUALCOMM;; esac
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    assert dry_run.try_out(tmp_path, tmp_path) == code
    assert capsys.readouterr().err.count("error: ") == code
