"""What opening a device and starting a program must not import: it is half of the time that they would take."""

import subprocess
import sys

OPENED = """
import sys
import numpy as np
from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec

device = open_device("sim:adreno-740")
view = device.view(device.allocate(32), BufferSpec(32, "float32"))
device.write(view, np.arange(8, dtype=np.float32))
print(device.read(view).sum(), "numba" in sys.modules)
"""

MULTIPLIED = """
import sys
import numpy as np
from adreno_sim.mlops.arithmetic import product

a = np.ones((2, 3), np.float32)
for mode in ("float32", "float16-acc32", "float16"):
    print(product(a, a.T, mode).sum(), "numba" in sys.modules)
"""

STARTED = """
import sys
from adreno_sim.cli.main import main

code = main(["run", "--", "true"])
print(code, sorted(name for name in ("numpy", "llvmlite", "email.message", "adreno_sim.engine.codegen") if name in sys.modules))
"""


def lines_of(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_opening_a_simulated_device_needs_no_numba():
    assert lines_of(OPENED) == ["28.0 False"]


def test_products_in_halves_alone_need_numba():
    assert lines_of(MULTIPLIED) == ["12.0 False", "12.0 False", "12.0 True"]


def test_starting_a_program_needs_neither_the_engine_nor_numpy():
    assert lines_of(STARTED) == ["2 []"]
