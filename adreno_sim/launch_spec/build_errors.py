"""What a compiler says about a kernel's file, under the name that the user gave it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ..base.errors import BuildError
from ..frontend.diagnostics import Diagnostic, summary


@contextmanager
def name_source(path: Path) -> Iterator[None]:
    """Raise a BuildError of the block with `path` where a diagnostic names no file, which is the source itself."""
    try:
        yield
    except BuildError as error:
        known = [item for item in error.diagnostics if isinstance(item, Diagnostic)]
        named = [item if item.file else replace(item, file=str(path)) for item in known]
        raise BuildError(str(error).replace(summary(known), summary(named), 1), named) from error
