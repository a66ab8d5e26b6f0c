"""NumPy's BLAS is told when its threads sleep, and nobody else is."""

import subprocess
import sys

IMPORTED = """
import os, sys
from adreno_sim.base.processes.blas_threads import import_numpy

before, seen = dict(os.environ), []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            seen.append(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

sys.meta_path.insert(0, Watch())
import_numpy()
print(seen, os.environ == before, "numpy" in sys.modules)
"""


def imported(**variables: str) -> str:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, timeout=120, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_variable_is_there_while_numpy_is_imported():
    assert imported() == "['4'] True True"


def test_what_the_user_has_set_is_left():
    assert imported(OPENBLAS_THREAD_TIMEOUT="20") == "[] True False"
