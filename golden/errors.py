"""Why a reference says nothing: it cannot take the model, it does not take these inputs, or what it runs has no meaning."""

from __future__ import annotations

from ..base.errors import AdrenoSimError


class NoReferenceError(AdrenoSimError):
    """The reference cannot compile or load this model; other references may judge it."""


class RefusedInputsError(AdrenoSimError):
    """The reference takes the model and refuses these inputs, as an index that is out of range."""


class StrayAccessError(AdrenoSimError):
    """A PrimFunc reads or writes outside of a tensor at an index that no input decides: it means nothing."""
