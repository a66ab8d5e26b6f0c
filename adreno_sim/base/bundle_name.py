"""Names of bundles: commands and functions know a compiled model by the end of its file's name."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".asim"

RECORDING = "trace.json"
"""The member that distinguishes a recording of `adreno-sim run --record` from a bundle."""


def is_bundle_name(path: str | os.PathLike[str]) -> bool:
    """Whether `path` names a bundle. The file need not exist."""
    return Path(path).suffix == SUFFIX


def find_wrong_name(path: str | os.PathLike[str]) -> str:
    """Why a bundle written to `path` would be read by no command; "" if one would, and for a device or a pipe."""
    if is_bundle_name(path) or (os.path.exists(path) and not os.path.isfile(path)):
        return ""
    return f"expected a name that ends in {SUFFIX}, by which other commands know bundles"
