"""Whether an installed package holds the files, besides Python's, that a checkout has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
NOT_PACKAGED = ("golden/data/", "golden/plans/", "prebuilt/")
"""What only tests read, and what a platform's wheel is built with."""


def _files(folder: Path) -> Iterator[Path]:
    """Yields the files below a folder. Some packages are links, which `rglob` does not follow."""
    for path in folder.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            yield from _files(path)
        elif path.is_file():
            yield path


def test_all_files_that_the_package_reads_are_packaged() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    packaged = {path for name, globs in patterns.items() for glob in globs for path in (ROOT / name.replace(".", "/")).glob(glob)}
    needed = {
        path
        for path in _files(ROOT / "adreno_sim")
        if path.suffix not in (".py", ".pyc") and not str(path.relative_to(ROOT / "adreno_sim")).startswith(NOT_PACKAGED)
    }
    assert ROOT / "adreno_sim/golden/truth/prelude.c" in needed  # in a folder that is a link
    assert needed - packaged == set()
