"""Which modules pytest reads anew, to have their asserts say more."""

from __future__ import annotations

import sys

from _pytest.assertion.rewrite import AssertionRewritingHook


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
