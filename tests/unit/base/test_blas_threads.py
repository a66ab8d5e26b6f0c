"""NumPy's BLAS is told when its threads sleep, and nobody else is."""

import subprocess
import sys

import pytest

IMPORTED = """
import os, sys
from adreno_sim.__main__ import run_here
from adreno_sim.base.processes.blas_threads import import_numpy

before, seen = os.environ.get("OPENBLAS_THREAD_TIMEOUT"), []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            seen.append(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

sys.meta_path.insert(0, Watch())

def run(*words):
    sys.argv[1:] = words
    run_here()

IMPORT
print(seen, os.environ.get("OPENBLAS_THREAD_TIMEOUT") == before, "numpy" in sys.modules)
"""


def imported(how: str = "import_numpy()", **variables: str) -> str:
    code = IMPORTED.replace("IMPORT", how)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_variable_is_there_while_numpy_is_imported():
    assert imported() == "['4'] True True"


@pytest.mark.parametrize("words", [("check", "absent.onnx"), ("kernel", "absent.cl"), ("replay", "absent")])
def test_commands_that_compute_import_it_so(words):
    assert imported(f"run(*{words})") == "['4'] True True"


@pytest.mark.parametrize("words", [("check", "absent.onnx", "--isolate"), ("explain", "data-race")])
def test_others_import_none(words):
    assert imported(f"run(*{words})").endswith("[] True False")


def test_what_the_user_has_set_is_left():
    assert imported(OPENBLAS_THREAD_TIMEOUT="20") == "[] True False"
