"""Soft-float fallbacks (`runtime/soft_float.c`): conversions of halves and fused multiply-add for processors without them."""

from __future__ import annotations

from ..runtime.compiled import compile_files


def text() -> str:
    """Returns the module that defines all fallbacks."""
    return compile_files("", ("soft_float.c",)).text()
