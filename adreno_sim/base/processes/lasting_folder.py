"""A folder for what is to outlast its process, as the files that show a defect."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .. import disk_cache
from ..errors import AdrenoSimError
from .scratch import PREFIX


def find_lasting_folder(kind: str) -> Path:
    """Returns the folder for temporary files. Behind the wall (`base/wall`) that goes with the process: there it is a folder of
    the cache, of this kind of entry. Raises OSError if it cannot be made, AdrenoSimError if there is no cache."""
    temporary = Path(tempfile.gettempdir())
    if not any(part.startswith(PREFIX) for part in temporary.parts):
        return temporary
    if not disk_cache.is_enabled():
        raise AdrenoSimError("the sandbox leaves no folder open but the cache, which is off")
    disk_cache.make_folder(disk_cache.folder(kind))
    return disk_cache.folder(kind)
