"""The error for what the engine does not run, with its place in the source."""

from __future__ import annotations

from ..base.errors import UnsupportedError
from . import ir


def unsupported(what: str, loc: ir.SourceLoc) -> UnsupportedError:
    """The error for a construct this engine does not run, by name and place."""
    return UnsupportedError(f"unsupported: {what} at {loc.line}:{loc.column}")
