"""Errors a user can cause. Their texts are complete: what was expected, what came, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from .text.spelling import spell_line, spell_lines


class AdrenoSimError(Exception):
    """Base of every error a user can cause; its text is complete and needs no traceback. `exit_code` as in the CLI."""

    exit_code = 2


class OptionError(AdrenoSimError):
    """An option that has no meaning for what it was given with. `option` is its name as a keyword."""

    def __init__(self, option: str, reason: str):
        super().__init__(f"{option}: {reason}")
        self.option, self.reason = option, reason


class UnsupportedError(AdrenoSimError):
    """Correct input that this device or version does not handle."""

    exit_code = 3


class UncompiledError(UnsupportedError):
    """A model that the compiler under test does not compile: no device is at fault, so that a test of it fails."""


class BuildError(AdrenoSimError):
    """A kernel that does not compile. `diagnostics` are frontend.diagnostics.Diagnostic where the backend has them."""

    def __init__(self, message: str, diagnostics: Sequence[object] = ()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class DeviceError(AdrenoSimError):
    """An OpenCL call that failed. `code` is the OpenCL name, as "CL_INVALID_IMAGE_SIZE"."""

    def __init__(self, code: str, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code


class ViewTooLargeError(DeviceError):
    """A buffer or image that ends behind the storage it would be a view of."""


def show_error(error: AdrenoSimError) -> str:
    """Returns the text of an error: one line, except for a compiler's messages."""
    return spell_lines(str(error)) if isinstance(error, BuildError) else spell_line(str(error))
