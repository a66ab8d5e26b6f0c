"""How a fixture ends a test: with one message, and without the error it was made from or any traceback."""

from __future__ import annotations

from typing import NoReturn

import pytest

from .text.spelling import spell_line, spell_printed


def fail(message: str) -> NoReturn:
    """The test fails with `message` alone."""
    raise pytest.fail.Exception(spell_printed(message), pytrace=False) from None


def skip_unsupported(device: str, error: Exception) -> NoReturn:
    """The test is skipped: what it asks for is right, but the device or TVM cannot do it."""
    raise pytest.skip.Exception(spell_line(f"unsupported on {device}: {str(error).splitlines()[0]}")) from None
