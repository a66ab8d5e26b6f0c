"""Which modules pytest reads again, to have their asserts say more, and which process does it."""

from __future__ import annotations

import contextlib
import os
import py_compile
import sys
from collections.abc import Iterable, Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    AssertionRewritingHook,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
    try_makedirs,
)


def is_rewritten(name: str) -> bool:
    """Whether pytest rewrites the modules of a package as they are imported."""
    return any(name in hook._must_rewrite for hook in _find_hooks())


def leave_package(name: str) -> None:
    """Have pytest import a package as Python does. It rewrites every module of a package that brings it a plugin, which doubles
    the time to import one, and keeps bytecode of its own, so that the processes of tests would compile each once more."""
    for hook in _find_hooks():
        hook._must_rewrite.discard(name)
        hook._marked_for_rewrite_cache.clear()


def _find_hooks() -> list[AssertionRewritingHook]:
    return [finder for finder in sys.meta_path if isinstance(finder, AssertionRewritingHook)]


def compile_part(config: pytest.Config, number: int, count: int) -> None:
    """Write the bytecode of the `number`-th of `count` parts of the files that all processes import to collect the tests, if it
    is not there. From an empty cache this takes half of the collection, and each process would do it for all files."""
    if sys.dont_write_bytecode or not _find_hooks():
        return
    files = sorted(list_sources(config.rootpath / "adreno_sim", config.rootpath / "tests"))
    tests, others = ([file for file in files if file.match("test_*.py") is one] for one in (True, False))
    rewrite_tests(config, tests[number::count])
    for file in others[number::count]:
        if not Path(cache_from_source(file)).exists():
            py_compile.compile(str(file), doraise=False, quiet=2)


def rewrite_tests(config: pytest.Config, files: Iterable[Path]) -> None:
    for file in files:
        kept = get_cache_dir(file) / f"{file.stem}{PYC_TAIL}"
        if not kept.exists() and try_makedirs(kept.parent):
            with contextlib.suppress(SyntaxError):  # the collection reports it
                digest, code = _rewrite_test(file, config)
                _write_pyc(config.stash[assertstate_key], code, digest, kept)


def list_sources(*folders: Path) -> Iterator[Path]:
    """The modules in some folders, also behind links, with the paths by which they are imported."""
    for top in folders:
        for folder, inner, names in os.walk(top, followlinks=True):
            inner[:] = [name for name in inner if name.isidentifier()]
            yield from (Path(folder, name) for name in names if name.endswith(".py") and name[:-3].isidentifier())
