"""What `ci/fuzz.sh` does for minutes, for a moment and without coverage: any bytes are read, or refused in one line."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parents[2] / "ci" / "fuzz"
NAMES = ("recording", "bundle", "plan", "plan-trace", "profile", "clinfo", "clinfo-text", "launch-file", "allow-list",
         "device-string",
         "stored-value", "request", "ring", "llvm-text")  # fmt: skip
CASES = 60


@pytest.fixture(scope="module")
def readers() -> ModuleType:
    """The harnesses, without Atheris."""
    before = list(sys.path)
    sys.path[:0] = [str(FUZZ)]
    try:
        return importlib.import_module("readers")
    finally:
        sys.path[:] = [str(FUZZ), *before]


def test_there_is_a_harness_for_each(readers: ModuleType) -> None:
    assert tuple(readers.READERS) == NAMES
    kept = [path for path in readers.CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in kept} <= set(NAMES)
    assert sum(path.stat().st_size for path in kept) < 200_000


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_read_and_what_is_made_of_them_is_read_or_refused(name: str, readers: ModuleType) -> None:
    mutate = importlib.import_module("mutator").mutate
    reader, seeds = readers.READERS[name], readers.seeds_of(name)
    for seed in seeds[:2]:  # else what is made of them would be refused at once
        reader.read(seed)
    for number in range(CASES):
        dice = random.Random(number)
        readers.run(reader, mutate(dice.choice(seeds), dice))


def test_what_escapes_is_a_failure(readers: ModuleType) -> None:
    def crash(data: bytes) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        readers.run(readers.Reader(crash), b"")
