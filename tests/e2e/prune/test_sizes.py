"""The sizes in the README: an installation for kernels alone is downloaded, installed, pruned and measured. It needs an index."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from adreno_sim.cli.prune.other_systems import measure

ROOT = Path(__file__).parents[3]
CLAIM = re.compile(
    r"kernels and OpenCL programs only: (\d+) MB to download, ([\d.]+) GB installed \(([\d.]+) after adreno-sim prune"
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.skipif(sysconfig.get_platform() != "linux-x86_64", reason="the sizes are of wheels for Linux on x86-64")
def test_the_sizes_in_the_readme_are_true(tmp_path):
    """`pip install .` stands for `pip install -e .`: the same packages, and a checkout that stays as it is."""
    download, installed, pruned = map(float, CLAIM.search((ROOT / "README.md").read_text()).groups())
    wheels, tree, python = tmp_path / "wheels", tmp_path / "tree", tmp_path / "venv" / "bin" / "python"
    left_out = shutil.ignore_patterns(".*", "tests", "docs", "prebuilt", "build", "*.egg-info")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=left_out)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    before = measure(site)
    run(python, "-m", "pip", "download", "-q", "-d", wheels, tree)
    packages = [file for file in wheels.iterdir() if not file.name.startswith("adreno_sim")]
    assert sum(file.stat().st_size for file in packages) == pytest.approx(1e6 * download, rel=0.05)
    run(python, "-m", "pip", "install", "-q", "--find-links", wheels, tree)
    assert measure(site) - before == pytest.approx(1e9 * installed, rel=0.08)
    run(tmp_path / "venv" / "bin" / "adreno-sim", "prune", "--yes", "--compile-driver")
    assert measure(site) - before == pytest.approx(1e9 * pruned, rel=0.08)


def run(*command):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ADRENO_SIM_"))}
    done = subprocess.run(list(map(str, command)), env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
