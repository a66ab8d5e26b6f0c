"""The shape of the sources: how large files and folders are, who imports whom, and that the contracts name every package."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import grimp
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
TOPS = ("adreno_sim", "compiler", "golden", "tests", "ci", "examples")
SUFFIXES = (".py", ".cl", ".c", ".h", ".js", ".sh")

MOST_FILES = 25
"""Source files side by side in a folder."""
MOST_LINES = 450
MOST_IN_A_CIRCLE = 3
"""Modules of one package that may import each other."""

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def sources() -> list[Path]:
    """Every source file once: adreno_sim/compiler and adreno_sim/golden are links to folders of TOPS."""
    found = [path for top in TOPS for path in (ROOT / top).rglob("*") if path.suffix in SUFFIXES and path.is_file()]
    return [path for path in found if not {"__pycache__", "corpus", "data"} & set(path.parts) and not _behind_a_link(path)]


def _behind_a_link(path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents if ROOT in parent.parents)


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Module -> the modules of adreno_sim that it imports, also for type checking and inside functions."""
    graph = grimp.build_graph("adreno_sim", exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of more than one node."""
    reached = {module: _reachable(module, imports) for module in imports}
    found: list[set[str]] = []
    for module, behind in reached.items():
        circle = {other for other in behind if module in reached[other]}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def _reachable(start: str, imports: dict[str, set[str]]) -> set[str]:
    """What `start` imports, directly or not."""
    seen: set[str] = set()
    open_ = [start]
    while open_:
        fresh = imports[open_.pop()] - seen
        seen |= fresh
        open_ += fresh
    return seen


def test_the_search_finds_circles():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}, "g": set()}
    assert circles(graph) == [{"a", "b", "c"}, {"e", "f"}]


def test_sources_are_seen():
    names = {path.relative_to(ROOT).as_posix() for path in sources()}
    assert {"adreno_sim/findings.py", "compiler/compile.py", "golden/expectations.py", "ci/test.sh", "tests/conftest.py"} <= names
    assert not any(name.startswith(("adreno_sim/compiler/", "adreno_sim/golden/")) for name in names)


def test_no_folder_is_crowded():
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in sources())
    assert not {folder: count for folder, count in counts.items() if count > MOST_FILES}


def test_no_file_is_long():
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}


def test_no_script_hides_a_module_of_python():
    """The folder of a script that is run is searched first: a platform.py beside it is what numpy's `import platform` finds."""
    scripts = [path for path in sources() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("ci", "examples")]
    assert len(scripts) > 20
    assert not [str(path) for path in scripts if path.stem in sys.stdlib_module_names]


def test_no_circle_of_packages(imports):
    """Packages are the folders right below adreno_sim, adreno_sim.engine and adreno_sim.compiler."""
    between: dict[str, set[str]] = {}
    for module, targets in imports.items():
        here = between.setdefault(_package(module), set())
        here |= {_package(target) for target in targets} - {_package(module)}
    assert circles(between) == []


def _package(module: str) -> str:
    parts = module.split(".")
    depth = 3 if len(parts) > 2 and parts[1] in ("engine", "compiler") else 2
    return ".".join(parts[:depth])


def test_no_large_circle_of_modules(imports):
    assert [circle for circle in circles(imports) if len(circle) > MOST_IN_A_CIRCLE] == []


@pytest.mark.parametrize("contract", [c for c in CONTRACTS if c["type"] == "layers"], ids=lambda c: c["name"])
def test_layers_name_every_package(contract):
    """import-linter's `exhaustive` says so too; here it is said where lint-imports does not run."""
    named = {name.strip() for layer in contract["layers"] for name in layer.replace("|", ":").split(":")}
    (container,) = contract["containers"]
    folder = ROOT / container.replace(".", "/")  # through the link, for adreno_sim.compiler
    there = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert named == there - {"__init__"}
    assert contract["exhaustive"]
