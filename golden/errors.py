"""Why a reference of a whole model says nothing: it cannot take the model, or it does not take these inputs."""

from __future__ import annotations

from ..base.errors import AdrenoSimError


class NoReferenceError(AdrenoSimError):
    """The reference cannot compile or load this model; other references may judge it."""


class RefusedInputsError(AdrenoSimError):
    """The reference takes the model and refuses these inputs, as an index that is out of range."""
