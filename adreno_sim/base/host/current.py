"""The processor family of this machine."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

from ..errors import UnsupportedError
from .aarch64 import AARCH64
from .family import ProcessorFamily
from .x86_64 import X86_64

FAMILIES = {family.machine: family for family in (X86_64, AARCH64)}


@functools.cache
def current_family() -> ProcessorFamily:
    """Returns the family. Raises UnsupportedError on any other."""
    machine = platform.machine()
    if machine not in FAMILIES:
        raise UnsupportedError(
            f"processor {machine}: expected one of {', '.join(FAMILIES)}; next: run adreno-sim on such a machine"
        )
    return FAMILIES[machine]


_FOLDERS = ("/usr/lib64", "/lib64", "/usr/lib", "/lib", "/usr/local/lib")


def library_folders() -> list[Path]:
    """Returns the folders in which the dynamic linker finds libraries, first those of this processor family."""
    family = FAMILIES.get(platform.machine())
    own = [f"/usr/lib/{family.library_folder}", f"/lib/{family.library_folder}"] if family else []
    return [Path(folder) for folder in (*own, *_FOLDERS)]
