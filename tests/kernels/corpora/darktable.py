"""darktable's kernels: the files that programs.conf lists, built as its host program does for a device of Qualcomm's or another
vendor's."""

from __future__ import annotations

from pathlib import Path

from .archives import DARKTABLE, unpack
from .source import Source

OPTIONS = "-w -cl-fast-relaxed-math -DUNKNOWN=1"


def sources(folder: Path) -> list[Source]:
    """The programs of darktable; include files come from its own folder."""
    kernels = unpack(DARKTABLE, folder) / "data/kernels"
    lines = (kernels / "programs.conf").read_text().splitlines()
    names = sorted(line.split()[0] for line in lines if line.strip() and not line.startswith("#"))
    return [Source(f"darktable/{name}", (kernels / name).read_text(), f"{OPTIONS} -I{kernels}") for name in names]
