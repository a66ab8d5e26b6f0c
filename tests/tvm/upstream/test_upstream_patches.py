"""The patches of docs/upstream/tvm mend what they are named after: `doctor` finds the defect without a patch, and not with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import adreno_sim

pytestmark = [pytest.mark.tvm, pytest.mark.slow]

PATCHES = sorted((Path(__file__).parents[3] / "docs/upstream/tvm/patches").glob("*.patch"))
FOLDER = "python/tvm/"


def installed_tvm() -> Path:
    """The folder of TVM 0.27, which the patches are for; skips the test without it."""
    tvm = pytest.importorskip("tvm")
    if not tvm.__version__.startswith("0.27"):
        pytest.skip("the patches are for TVM 0.27")
    (folder,) = find_spec("tvm").submodule_search_locations
    return Path(folder)


def patched(patch: Path, place: Path) -> Path:
    """A TVM with the patch, as a folder to import it from: links to the installed one, but for the files that change."""
    installed = installed_tvm()
    shutil.copytree(installed, place / FOLDER, copy_function=lambda given, made: os.symlink(given, made))
    for line in patch.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"--- a/{FOLDER}"):
            name = line.removeprefix(f"--- a/{FOLDER}")
            (place / FOLDER / name).unlink()
            shutil.copy(installed / name, place / FOLDER / name)
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(place.parent)}  # in a larger repository git skips the files
    subprocess.run(["git", "apply", str(patch)], cwd=place, env=alone, check=True)
    return place / "python"


def has_defect(name: str, *first: Path) -> bool:
    """Whether `doctor` finds it, where Python looks for packages in `first` before all else."""
    paths = [*map(str, first), str(Path(adreno_sim.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    words = [sys.executable, "-m", "adreno_sim", "doctor", "--only", name, "--json", "-"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["defects"]
    return bool(found["present"])


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_patch_mends_its_defect(patch, tmp_path):
    folder = patched(patch, tmp_path)
    assert has_defect(patch.stem)
    assert not has_defect(patch.stem, folder)
