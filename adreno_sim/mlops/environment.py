"""Environment variables of TVM's OpenCL ML runtime, read when a graph is made ready.

CLML_TUNING_CACHE              file of tuning results; read, or written by a tuning run
CLML_IS_TUNING_RUN             a number other than 0: tune every operator and save the results; without a file it does nothing
CLML_DISABLE_RECORDABLE_QUEUE  set to anything: operators are enqueued one by one, and nothing is in on-chip memory

The RFC spells the first two CLML_TUNNING_CACHE and CLML_IS_TUNNING_RUN: these count where the others are not set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..base.errors import AdrenoSimError
from ..records import dataclass

RUN = ("CLML_IS_TUNING_RUN", "CLML_IS_TUNNING_RUN")
CACHE = ("CLML_TUNING_CACHE", "CLML_TUNNING_CACHE")
DIRECT = "CLML_DISABLE_RECORDABLE_QUEUE"


@dataclass(frozen=True)
class ClmlSettings:
    """tuning: this is a tuning run. cache: the file, None for none. direct: no recordable queue, no on-chip memory."""

    tuning: bool = False
    cache: Path | None = None
    direct: bool = False


def read(environment: Mapping[str, str] | None = None) -> ClmlSettings:
    """The settings in an environment (None = this process's). AdrenoSimError for a flag that is not a number."""
    given = os.environ if environment is None else environment
    name = next((name for name in RUN if name in given), "")
    flag = given.get(name, "0").strip()
    if not flag.removeprefix("-").isdigit():
        raise AdrenoSimError(f"{name}={flag}: expected a number (0: no tuning run)")
    file = next((given[name] for name in CACHE if given.get(name)), "")
    return ClmlSettings(bool(int(flag)) and bool(file), Path(file) if file else None, DIRECT in given)
