"""LICENSES.md: each file of the package falls under a row, no text names another owner, and packages state what the page says."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
OURS, INSTALLED = PAGE.split("## Installed with it")
FOREIGN = re.compile(
    r"SPDX-License-Identifier|Copyright \(c\)|Copyright ©|©|All rights reserved|Licensed under|Permission is hereby", re.I
)
"""What texts say that somebody licensed. Our files say nothing of it: LICENSE does."""
SAME = {
    "apache-2.0": ("apache 2.0", "apache-2.0", "apache software license"),
    "mit": ("mit", "mit license"),
    "bsd-3-clause": ("bsd", "bsd-3-clause", "3-clause bsd license", "bsd license"),
}
"""How packages write a licence for which there is a short name."""


def package_files() -> list[Path]:
    """The files below adreno_sim, links followed: what a wheel holds but for what is prebuilt."""
    folders, files = [ROOT / "adreno_sim"], []
    while folders:
        for path in folders.pop().iterdir():
            if path.is_dir() and path.name not in ("__pycache__", "prebuilt"):
                folders.append(path)
            elif path.is_file() and path.suffix != ".pyc":
                files.append(path)
    return files


def rows() -> dict[str, str]:
    """The licence of each package that the page names."""
    found = re.findall(r"^\| ([a-z0-9, -]+) \| (.+) \|$", INSTALLED, re.MULTILINE)
    return {name: licence for names, licence in found for name in names.split(", ")}


def test_every_file_falls_under_a_row() -> None:
    named = set(re.findall(r"`\*(\.\w+)`", OURS))
    assert {path.name for path in package_files() if path.suffix not in named and path.name != "py.typed"} == set()


def test_no_file_of_the_package_is_under_anothers_licence() -> None:
    said = {}
    for path in package_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        if found := FOREIGN.search(text):
            said[str(path.relative_to(ROOT))] = found[0]
    assert said == {}


def test_the_packages_of_the_page_are_those_that_are_pinned() -> None:
    pinned = set()
    for path in (ROOT / "adreno_sim" / "pins").glob("*.txt"):
        pinned |= set(re.findall(r"^([a-z0-9-]+)==", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert pinned == set(rows())


@pytest.mark.parametrize("name", sorted(rows()))
def test_a_package_states_the_licence_of_its_row(name: str) -> None:
    try:
        stated = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not needed by Python {sys.version_info[0]}.{sys.version_info[1]}, or not installed")
    expression = stated.get("License-Expression")
    if expression is not None:
        assert expression == rows()[name]
        return
    classifiers = [line.rsplit(" :: ", 1)[-1] for line in stated.get_all("Classifier") or [] if line.startswith("License ::")]
    words = [*classifiers, (stated.get("License") or "").splitlines()[0] if stated.get("License") else ""]
    assert {word.lower() for word in words} & set(SAME[rows()[name].lower()])
