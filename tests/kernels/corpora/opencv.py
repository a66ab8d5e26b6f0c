"""OpenCV's kernels, with build options that its host code gives (`opencv_options.txt`)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from .archives import OPENCV, unpack
from .source import Source

TABLE = Path(__file__).with_name("opencv_options.txt")


def sources(folder: Path) -> list[Source]:
    """Every file of every module, once for each set of options. ValueError where a file is not in the table."""
    modules = unpack(OPENCV, folder) / "opencv/modules"
    table = read_table(TABLE.read_text())
    found = []
    for file in sorted(modules.glob("*/src/opencl/*.cl")):
        name = f"{file.parts[-4]}/{file.name}"
        if name not in table:
            raise ValueError(f"{name}: no options of it are in {TABLE.name}")
        for number, options in enumerate(table[name]):
            found.append(Source(f"opencv/{name}#{number}", file.read_text(encoding="utf-8-sig"), options))
    return found


def read_table(text: str) -> dict[str, list[str]]:
    """Sets of options by file."""
    table: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        head, _, options = line.partition(":")
        name = head or name
        table.setdefault(name, []).extend(expand(options.strip()))
    return table


def expand(text: str) -> list[str]:
    """The texts that a shell makes of {a,b}: every combination of words, none of which holds a comma or brace."""
    parts = re.split(r"\{([^{}]*)\}", text)
    choices = [part.split(",") if number % 2 else [part] for number, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]
