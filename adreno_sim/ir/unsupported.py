"""The error for constructs that the engine does not run, with their source location."""

from __future__ import annotations

from ..base.errors import UnsupportedError
from . import ir


def unsupported(what: str, loc: ir.SourceLoc) -> UnsupportedError:
    """Returns the error for a construct that this engine does not run."""
    return UnsupportedError(f"unsupported: {what} at {loc.line}:{loc.column}")
