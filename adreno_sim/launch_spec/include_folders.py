"""Include folders of a launch: -I names one from the working directory, and from the launch file's folder."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ..base.errors import DeviceError, OptionError
from ..base.trust.confined_path import is_below
from ..frontend.file_options import replace_folders
from ..frontend.file_references import names_files


def add_launch_folders(options: str, folder: Path, root: Path | None = None) -> str:
    """The build options with every relative -I once more from the launch file's `folder`, where there is such a folder.

    root: the folder below which they must lie, links followed; None if they may lie anywhere. Raises OptionError for one that
    lies elsewhere. Options that cannot be split are left for the device, which refuses them.
    """

    def find(name: str) -> list[str]:
        beside = folder / name
        found = [name]
        if not os.path.isabs(name) and beside.is_dir() and beside.resolve() != Path(name).resolve():
            found.append(str(beside))
        inside = [path for path in found if root is None or is_below(path, root)]
        if root is not None and not inside:
            if not os.path.isdir(name) and is_below(beside, root):
                return [str(beside)]  # there is none, as the compiler will say
            whose = "the launch file's folder" if root == folder else str(root)
            raise OptionError("options", f"-I {name}: expected a folder below {whose} (--root FOLDER names a wider one)")
        return inside

    try:
        return replace_folders(options, find)
    except DeviceError:
        return options


def add_source_folder(options: str, text: str, source: Path) -> str:
    """The build options with the folder of the file `source`, where its `text` includes others: they are looked for beside it."""
    return f"{options} -I {shlex.quote(str(source.resolve().parent))}" if names_files(text) else options
