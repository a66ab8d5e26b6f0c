"""Soft-float fallbacks (`runtime/soft_float.c`): what LLVM calls on processors without F16C or FMA."""

from __future__ import annotations

from ..runtime.compiled import compile_files


def needed(features: str) -> bool:
    """Returns True if a processor with LLVM's `features` ("+avx,-fma,...") lacks F16C or FMA."""
    have = set(features.split(","))
    return "+f16c" not in have or "+fma" not in have


def text() -> str:
    """Returns the module that defines all fallbacks."""
    return compile_files("", ("soft_float.c",)).text()
