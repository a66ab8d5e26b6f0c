"""What the simulator knows of processors: one table for each family, and no names of them elsewhere."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.base.host import aarch64
from adreno_sim.base.host.aarch64 import AARCH64
from adreno_sim.base.host.current import current_family, library_folders
from adreno_sim.base.host.processor import Processor
from adreno_sim.base.host.x86_64 import X86_64

PACKAGE = Path(adreno_sim.__file__).parent
NAMES = re.compile(r"x86|\bavx|\bmmx|mxcsr|\bf16c|\b_mm\d*_|ia32|aarch64|fpcr|\bneon\b|fullfp16|\barm64", re.IGNORECASE)


@pytest.mark.parametrize(
    ("family", "features", "lanes", "halves", "soft", "lanes_of_halves"),
    [
        (X86_64, "+sse2", (8,), False, True, 8),
        (X86_64, "+avx2,+f16c,-fma", (8,), False, True, 8),
        (X86_64, "+avx2,+f16c,+fma,-avx512vl,-avx512fp16", (8,), False, False, 8),
        (X86_64, "+avx512vl,+f16c,+fma", (16, 8), False, False, 16),
        (X86_64, "+avx512vl,+avx512fp16,+f16c,+fma", (16, 8), True, False, 32),
        (AARCH64, "+neon", (8,), False, False, 8),
        (AARCH64, "+neon,+fullfp16,+sve", (8,), True, False, 8),
    ],
)
def test_what_a_processor_can(family, features, lanes, halves, soft, lanes_of_halves):
    processor = Processor(family, features)
    assert (processor.lane_counts, processor.computes_halves, processor.needs_soft_float) == (lanes, halves, soft)
    assert processor.lanes_of_halves == lanes_of_halves


def test_flags_of_clang_are_those_that_the_processor_has():
    assert Processor(X86_64, "+sse2,-avx2").vector_flags == ()
    assert Processor(X86_64, "+avx2").vector_flags == ("-mavx2",)


def test_which_processor_takes_its_time_for_lanes_that_do_nothing():
    """Those with AMD's instructions."""
    wide = "+avx512vl,+avx512bw,+f16c,+fma"
    assert Processor(X86_64, f"{wide},+sse4a").skips_lanes_slowly
    assert not Processor(X86_64, f"{wide},-sse4a").skips_lanes_slowly
    assert not Processor(AARCH64, "+neon").skips_lanes_slowly


@pytest.mark.parametrize(("bits", "has"), [(0, False), (1 << 9, False), (1 << 10, False), (3 << 9, True), (0x7FF, True)])
def test_halves_are_asked_of_the_system(monkeypatch, bits, has):
    """Only a processor that computes them alone and in vectors does."""

    def getauxval(what: int) -> int:
        return bits if what == 16 else 0

    monkeypatch.setattr(aarch64.ctypes, "CDLL", lambda name: SimpleNamespace(getauxval=getauxval))
    assert aarch64.find_half_arithmetic() == {"fullfp16": has}


def test_a_processor_of_another_family_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    current_family.cache_clear()
    try:
        with pytest.raises(UnsupportedError, match=r"processor riscv64: expected one of x86_64, aarch64; next: ") as refused:
            current_family()
        assert "\n" not in str(refused.value)
        assert all(str(folder).startswith("/") for folder in library_folders())
    finally:
        current_family.cache_clear()


def test_names_of_processors_are_in_their_files_alone():
    files = [path for kind in ("py", "c", "h") for path in PACKAGE.rglob(f"*.{kind}")]
    for folder in ("compiler", "golden"):  # links, which rglob may not follow
        files += [path for kind in ("py", "c", "h") for path in (PACKAGE / folder).resolve().rglob(f"*.{kind}")]
    own = PACKAGE / "base" / "host"
    walls = {PACKAGE / "base" / "wall", PACKAGE / "frontend" / "sandbox.py"}  # numbers of system calls, which are the kernel's
    known = {own, *walls}
    texts = {path: path.read_text(encoding="utf-8") for path in files if not known & {path, *path.parents}}
    told = {str(path): found[0] for path, text in texts.items() if (found := NAMES.search(text))}
    assert len(files) > 500
    assert not told
    assert NAMES.search((own / "x86_64.h").read_text())
    assert NAMES.search((own / "aarch64.h").read_text())


def test_code_does_without_what_is_avoided_and_choices_still_know_of_it():
    found = Processor(X86_64, "+avx2,-fma,+sse4a,+sse4.1")
    assert found.features_of_code == "+avx2,-fma,-sse4a,+sse4.1"
    assert found.skips_lanes_slowly
    assert Processor(X86_64, "+avx2,-sse4a").features_of_code == "+avx2,-sse4a"
    assert Processor(AARCH64, "+fullfp16").features_of_code == "+fullfp16"
