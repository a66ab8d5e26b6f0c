"""What glibc keeps of freed memory: blocks that come and go are taken from the system once."""

import os
import platform
import subprocess
import sys

import pytest

MIB, ROUNDS = 1 << 20, 20
PROGRAM = f"""
import resource, sys
from adreno_sim.base.host.freed_memory import keep_freed_memory

if sys.argv[1:] == ["keep"]:
    keep_freed_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def take_and_free():
    blocks = [b"x" * (12 * {MIB}) for _ in range(3)]
    del blocks

take_and_free()
before = faults()
for _ in range({ROUNDS}):
    take_and_free()
print((faults() - before) * resource.getpagesize() // {MIB})
"""


def taken(*args, **environment):
    """MiB that came from the system in all rounds after the first."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *args], env=clean | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library than glibc")
def test_blocks_that_come_and_go_stay():
    assert taken("keep") < 36
    assert taken() > 36 * ROUNDS / 2


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library than glibc")
def test_thresholds_of_the_user_stay():
    assert taken("keep", MALLOC_TRIM_THRESHOLD_=str(MIB)) > 36 * ROUNDS / 2
