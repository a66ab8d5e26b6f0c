"""Include folders of a launch: -I names one from the working directory, and from the launch file's folder."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..base.errors import DeviceError
from ..frontend.file_references import names_files
from ..frontend.options import split_options


def add_launch_folders(options: str, folder: Path) -> str:
    """The build options with every relative -I once more from the launch file's `folder`, where there is such a folder.

    Options that cannot be split are left for the device, which refuses them.
    """
    try:
        words = split_options(options)
    except DeviceError:
        return options
    found: list[str] = []
    for number, word in enumerate(words):
        name = word[2:] if word.startswith("-I") and word != "-I" else ""
        if number and words[number - 1] == "-I":
            name = word
        found.append(word)
        beside = folder / name
        if name and not os.path.isabs(name) and beside.is_dir() and beside.resolve() != Path(name).resolve():
            found.append(f"-I{beside}")
    return shlex.join(found) if len(found) > len(words) else options


def add_source_folder(options: str, text: str, source: Path) -> str:
    """The build options with the folder of the file `source`, where its `text` includes others: they are looked for beside it."""
    return f"{options} -I {shlex.quote(str(source.resolve().parent))}" if names_files(text) else options
