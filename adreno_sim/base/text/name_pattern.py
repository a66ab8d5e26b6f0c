"""Regular expressions over names, as the command line gives them: Python's `re`, whose errors are one line."""

from __future__ import annotations

import re

from ..errors import AdrenoSimError

LONGEST_NAME = 1000
"""Characters of a name that are compared: an expression is its user's, a name may come from anywhere."""


class PatternError(AdrenoSimError):
    """An expression that is none: where and why, in one line."""


class NamePattern:
    """An expression, which names may match anywhere in them. Raises PatternError."""

    def __init__(self, text: str):
        self.text = text
        try:
            self._compiled = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternError(str(error).splitlines()[0]) from None
        self._known: dict[str, bool] = {}

    def is_in(self, name: str) -> bool:
        """Whether some part of a name matches."""
        if name not in self._known:
            self._known[name] = self._compiled.search(name[:LONGEST_NAME]) is not None
        return self._known[name]
