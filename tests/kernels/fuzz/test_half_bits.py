"""The same bits on processors that compute halves and on those that do not: random kernels, denormals kept and flushed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.host.current import current_family
from adreno_sim.engine.llvm import objects

FAMILY = current_family()
WORKER = Path(__file__).with_name("half_bits.py")
MASKS = ("", f"-{FAMILY.half_arithmetic}", ",".join(f"-{name}" for name in (FAMILY.half_arithmetic, *FAMILY.conversions)))


def has(feature: str) -> bool:
    return objects.machine().processor.has(feature)


def digests(mask: str, start: int, count: int) -> str:
    known = ",".join(word for word in mask.split(",") if word and has(word[1:]))
    command = [sys.executable, str(WORKER), str(start), str(count)]
    done = subprocess.run(command, env=os.environ | {objects.FEATURES: known}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(
    not any(map(has, (FAMILY.half_arithmetic, *FAMILY.conversions))), reason="this processor has nothing to leave out"
)
@pytest.mark.parametrize(("start", "count"), [(0, 3), *(pytest.param(100 * n, 40, marks=pytest.mark.slow) for n in range(1, 6))])
def test_halves_have_the_same_bits_on_every_processor(start, count):
    found = {mask: digests(mask, start, count) for mask in MASKS}
    assert len(found[""].split()) == count, found
    assert len(set(found.values())) == 1, found


def test_features_are_left_out_and_never_made_up(monkeypatch):
    known = dict(llvm.get_host_cpu_features())
    present = next(name for name, there in known.items() if there)
    monkeypatch.setenv(objects.FEATURES, f"-{present}")
    assert f"-{present}" in objects.find_features().split(",")
    for wrong in ("-nonsense", "avx", *(f"+{name}" for name, there in list(known.items())[:60] if not there)):
        monkeypatch.setenv(objects.FEATURES, wrong)
        with pytest.raises(AdrenoSimError, match=r"expected -NAME of a feature"):
            objects.find_features()
