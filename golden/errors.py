"""Why a reference says nothing: it cannot take the model, it does not take these inputs, or what it runs has no meaning."""

from __future__ import annotations

from ..base.errors import AdrenoSimError


class NoReferenceError(AdrenoSimError):
    """The reference cannot compile or load this model; other references may judge it."""


class RefusedInputsError(AdrenoSimError):
    """The reference takes the model and refuses these inputs, as an index that is out of range."""


class StrayAccessError(AdrenoSimError):
    """A PrimFunc reads or writes outside of a tensor at an index that no input decides: it means nothing."""


def last_line(error: Exception) -> str:
    """The line of TVM's message that says what happened: the last, after the stack of frames."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__
