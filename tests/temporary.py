"""Where the tests' temporary files lie."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import platformdirs

from adreno_sim.base.stored.ownership import find_intruder


def choose_folder() -> None:
    """Have temporary files below the user's cache folder where others may replace those in the system's folder, as some
    containers have it (mode 0777 without the sticky bit): the tests' own caches would not be used there."""
    with tempfile.TemporaryDirectory() as probe:
        if not find_intruder(Path(probe)):
            return
    around = Path(platformdirs.user_cache_dir())
    around.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="adreno-sim-tests-", dir=around)
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)


def keep_bytecode() -> None:
    """Have the processes that tests start keep compiled modules, in a folder of this run if the environment forbids it: hundreds
    of them would compile the project anew, which takes each two seconds."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None) and "PYTHONPYCACHEPREFIX" not in os.environ:
        os.environ["PYTHONPYCACHEPREFIX"] = folder = tempfile.mkdtemp(prefix="adreno-sim-bytecode-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
