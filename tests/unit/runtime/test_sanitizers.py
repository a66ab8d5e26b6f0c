"""The C runtime under sanitizers, driven by the programs in `sanitized/`: no undefined behaviour, no bad access, no data race.

Race cells belong to one thread; several threads share the pool, groups and site records.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adreno_sim.engine.emit import c_runtime
from adreno_sim.engine.runtime import compiled

DRIVERS = Path(__file__).parent / "sanitized"
FLAGS = ["-std=gnu11", "-g", "-O1", "-fno-strict-aliasing", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread", "-w"]
BAD_MEMORY, DATA_RACES = "address,undefined", "thread"
ENVIRONMENT = {"ASAN_OPTIONS": "abort_on_error=0", "UBSAN_OPTIONS": "halt_on_error=1", "TSAN_OPTIONS": "halt_on_error=1"}


def compilers() -> Iterator[list[str]]:
    """Those of the system, then clang of the package ziglang."""
    for name in ("gcc", "clang"):
        found = shutil.which(name)
        if found:
            yield [found]
    yield [sys.executable, "-m", "ziglang", "cc"]


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload]


@pytest.fixture
def build(tmp_path):
    """Builds a program of the runtime and a driver: (sanitizers, driver, full, change in the runtime) to its path."""

    def build(sanitizers: str, driver: str, full: int, change: tuple[str, str, str] = ("", "", "")) -> str:
        compiler = _compiler_with(sanitizers, tmp_path)
        sources = tmp_path / "runtime"
        shutil.copytree(compiled.FOLDER, sources, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        name, old, new = change
        if name:
            text = (sources / name).read_text()
            assert text.count(old) == 1
            (sources / name).write_text(text.replace(old, new))
        (sources / "constants.h").write_text(c_runtime.constants())
        files = ("soft_float.c",) if driver == "floats.c" else tuple(name for part in c_runtime.PARTS for name in part)
        own = [] if driver == "floats.c" else [str(DRIVERS / "kernel.c")]
        program = str(tmp_path / "program")
        words = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", f"-I{sources}", f"-DFULL={full}"]
        words += ["-include", str(sources / "constants.h"), *own, str(DRIVERS / driver), *(str(sources / file) for file in files)]
        built = run([*compiler, *FLAGS, *words, "-o", program])
        assert built.returncode == 0, built.stderr
        return program

    return build


def _compiler_with(sanitizers: str, folder: Path) -> list[str]:
    """The first compiler that makes programs with these sanitizers which run."""
    source, program, told = folder / "empty.c", str(folder / "empty"), []
    source.write_text("int main(void) { return 0; }\n")
    for compiler in compilers():
        built = run([*compiler, f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", str(source), "-o", program])
        if built.returncode == 0 and run([program]).returncode == 0:
            return compiler
        told.append(f"{' '.join(compiler)}: {(built.stderr.strip().splitlines() or ['its program does not run'])[-1]}")
    pytest.skip(f"no compiler has the runtime of -fsanitize={sanitizers}: {'; '.join(told)}")


def outcome(program: str) -> subprocess.CompletedProcess[str]:
    return run([program], env={**os.environ, **ENVIRONMENT})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("driver", "full"), [("alone.c", 0), ("alone.c", 1), ("counters.c", 0), ("floats.c", 0), ("together.c", 0)]
)
def test_no_bad_access_and_nothing_undefined(build, driver, full):
    done = outcome(build(BAD_MEMORY, driver, full))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_no_data_races(build):
    done = outcome(build(DATA_RACES, "together.c", 0))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


LOOP = "i < count; ++i) *word_of(cells + i * stride"
DEFECTS = {
    "one cell too many": (BAD_MEMORY, "alone.c", ("race_cells.c", LOOP, LOOP.replace("<", "<=", 1)), "heap-buffer-overflow"),
    "one byte too many": (
        BAD_MEMORY,
        "counters.c",
        ("counters.c", "end = offset + nbytes; offset < end", "end = offset + nbytes + 128; offset < end"),
        "heap-buffer-overflow",
    ),
    "shift": (BAD_MEMORY, "alone.c", ("diagnostics.c", "<< (8 * i & 63)", "<< (8 * i + 8)"), "shift exponent 64"),
    "publish": (
        DATA_RACES,
        "together.c",
        ("futex_pool.c", "PUBLISHED, __ATOMIC_RELEASE", "PUBLISHED, __ATOMIC_RELAXED"),
        "data race",
    ),
    "lock": (DATA_RACES, "together.c", ("diagnostics.c", "0, __ATOMIC_RELEASE", "0, __ATOMIC_RELAXED"), "data race"),
}


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_told(build, defect):
    sanitizers, driver, change, told = DEFECTS[defect]
    done = outcome(build(sanitizers, driver, 0, change))
    assert done.returncode != 0
    assert told in done.stderr
