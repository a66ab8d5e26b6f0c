"""Machine code that LLVM did not optimise, for tests that judge what a kernel is translated to.

Findings, proofs and values are decided by the text that LLVM gets, and to optimise that takes a third of such a test's time. One
test in four, by a digest of its name, keeps the code that users run; so do folders and files that are not named here, among
them the random kernels that are compared with other drivers.
"""

from __future__ import annotations

import functools
import zlib
from pathlib import Path

import pytest

from adreno_sim.engine.llvm import objects

FOLDERS = frozenset(("definedness", "extensions", "foundry", "inferred", "language", "mistakes", "proofs", "races", "readings"))
"""Folders of tests/kernels whose tests judge findings, proofs and values."""

FILES = frozenset(("test_corpus", "test_failing_analyses", "test_inner_bounds", "test_unreachable"))
"""Files beside these folders that do the same."""

OPTIMISED = 4
"""One test in so many keeps code that is optimised."""


def is_unoptimised(node: str, path: Path) -> bool:
    """Whether a test runs code that LLVM left as it was; the same each time."""
    judges = path.parent.name in FOLDERS or path.stem in FILES
    return judges and zlib.crc32(node.encode()) % OPTIMISED > 0


def leave_unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have LLVM translate as it stands what this process compiles, under names of its own in the cache."""
    compile_text, identity = objects.Machine.compile, objects.Machine.identity
    assert isinstance(identity, functools.cached_property)
    name = identity.func
    monkeypatch.setattr(objects.Machine, "compile", lambda machine, text: compile_text(machine, objects.UNOPTIMISED + text))
    monkeypatch.setattr(objects.Machine, "identity", property(lambda machine: f"{name(machine)} unoptimised"))
