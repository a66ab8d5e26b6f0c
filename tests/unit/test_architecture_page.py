"""docs/architecture.md and CONTRIBUTING.md name files and folders that there are, and every package of adreno_sim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/architecture.md", "CONTRIBUTING.md")


TOPS = ("adreno_sim", "compiler", "golden", "tests", "ci", "docs", "examples")


@pytest.fixture(scope="module")
def paths() -> set[str]:
    """Every file and folder of the repository, from its root, with a slash before it."""
    below = (path for top in TOPS for path in (ROOT / top).rglob("*") if "__pycache__" not in path.parts)
    return {f"/{path.relative_to(ROOT).as_posix()}" for path in (*ROOT.iterdir(), *below)}


def named_paths(page: str) -> set[str]:
    """What stands in code marks and is a path: it has a slash or a suffix, and no placeholder in capitals."""
    marked = re.findall(r"`([\w./-]+)`", (ROOT / page).read_text(encoding="utf-8"))
    written = {text for text in marked if "/" in text or re.search(r"\.(py|toml|md|json)$", text)}
    return {text.rstrip("/") for text in written if not re.search(r"\b[A-Z]{4,}\b", text)}


def is_there(name: str, paths: set[str]) -> bool:
    """Whether `name` is the end of a path: rows of the page name files relative to the package they are about."""
    return any(path.endswith(f"/{name}") for path in paths)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_is_there(page, paths):
    names = named_paths(page)
    assert len(names) > 5
    assert not sorted(name for name in names if not is_there(name, paths))


def test_a_path_that_is_gone_is_noticed(paths):
    assert not is_there("jit/replay.py", paths)
    assert not is_there("no_such_file.py", paths)


def test_every_package_has_its_line():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "adreno_sim").glob("*/__init__.py")} - {"compiler", "golden"}
    parts = {path.parent.name for path in (ROOT / "adreno_sim" / "engine").glob("*/__init__.py")}
    assert not sorted(name for name in packages | parts if f"`{name}/`" not in text)
