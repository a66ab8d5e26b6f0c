"""Where the machine code of the search for memory plans is kept: in our folder, or nowhere."""

from __future__ import annotations

import ast
import importlib
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher

from adreno_sim.base.code_digest import PACKAGE
from adreno_sim.cli.main import main
from adreno_sim.compiler.plan import search
from adreno_sim.compiler.plan.search import machine_code

FIND = """
import numpy as np
from adreno_sim.compiler.plan.search import ejection

found = ejection._heaviest(np.arange(3), 3, np.array([1.0, 3.0, 2.0]))
print(found, *(sum(counts.values()) for counts in ejection._heaviest.stats[1:]))
"""

FOLDER = Path(search.__path__[0])
COMPILED = sorted(path for path in FOLDER.glob("*.py") if "@compiled" in path.read_text())


@pytest.fixture
def whole(tmp_path):
    """A copy of the package, to which nobody else writes."""
    copied = tmp_path / "copy" / "adreno_sim"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


@pytest.fixture
def find(whole, tmp_path, monkeypatch):
    """Runs FIND with the copy; its result, functions that came from disk, and functions compiled."""
    monkeypatch.setenv("PYTHONPATH", str(whole.parent))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", FIND], capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def files_under(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_without_the_cache_nothing_is_written(find, whole, tmp_path, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    before = files_under(whole)
    assert find() == "1 0 1"
    assert files_under(whole) == before
    assert not (tmp_path / "cache").exists()


def test_a_second_process_loads_and_one_after_an_edit_compiles_and_the_cache_command_clears(find, whole, tmp_path, capsys):
    before = files_under(whole)
    assert find() == "1 0 1"
    kept = files_under(tmp_path / "cache" / "search")
    assert {path.suffix for path in kept} == {".nbi", ".nbc"}
    assert files_under(whole) == before
    assert find() == "1 1 0"
    assert files_under(tmp_path / "cache" / "search") == kept
    other = whole / "compiler" / "plan" / "search" / "orders.py"  # which numba does not look at for `_heaviest`
    other.write_text(other.read_text() + "\n")
    assert find() == "1 0 1"
    assert files_under(tmp_path / "cache" / "search") > kept
    assert main(["cache"]) == 0
    assert "machine code of the search for memory plans" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert not files_under(tmp_path / "cache" / "search")


def double(number):
    return number * 2


def test_files_that_cannot_be_written_or_read_are_no_error(tmp_path, monkeypatch):
    """A full disk, imitated by a limit, and files that hold something else. What is whole is used on a full disk, too."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python keeps what fits below the limit, and cannot load it ever after

    def comes_from_disk(most: int = resource.RLIM_INFINITY) -> bool:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            made = machine_code.compiled(double)
            assert made(3) == 6
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return bool(made.stats.cache_hits)

    assert not comes_from_disk(100)
    assert not comes_from_disk()
    assert comes_from_disk()
    assert comes_from_disk(0)
    for suffix in (".nbi", ".nbc"):
        for path in (tmp_path / "cache" / "search").rglob(f"*{suffix}"):
            path.write_bytes(b"what is this")
        assert not comes_from_disk()
        assert comes_from_disk()


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_no_error(find, whole, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    before = files_under(whole)
    assert find() == "1 0 1"
    assert files_under(whole) == before


def names_from_elsewhere(tree: ast.Module) -> set[str]:
    """Names that a file imports from this package, but not from the search."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level > 1]
    return {name.asname or name.name for node in found for name in node.names}


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_compiled_functions_depend_on_the_code_of_the_search_alone(path):
    """As the name of their folder says."""
    module = importlib.import_module(f"{search.__name__}.{path.stem}")
    functions = [value.py_func for value in vars(module).values() if isinstance(value, CPUDispatcher)]
    assert functions
    elsewhere = names_from_elsewhere(ast.parse(path.read_text()))
    assert not elsewhere & {name for function in functions for name in function.__code__.co_names}
