"""A compiler that crashed: whose defect that is, the program that shows it, kept in a file, and what its user can do."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence

from ..base import disk_cache
from ..base.errors import AdrenoSimError
from ..base.output_file import write_bytes
from ..base.processes.lasting_folder import find_lasting_folder
from .compiler_process import Ended

REPORTS = "https://github.com/llvm/llvm-project/issues"
_KIND = "crashes"
_PLACE = re.compile(r"^\d+\.\s+<stdin>:(\d+:\d+): (.*)$", re.MULTILINE)
"""A line of the stack that clang prints: where in the source it was, and at what."""


def explain_crash(ended: Ended, source: bytes, command: Sequence[str], version: str) -> str:
    """Returns the line that says so; the source is in a file, with command and messages behind it as a comment."""
    place = _PLACE.search(ended.messages)
    where = f" at {place[1]} ({place[2]})" if place else ""
    return (
        f"the compiler crashed with {ended.find_crash()}{where}, which is a defect of clang's ({version}), whatever the program "
        f"is: {_keep(ended, source, command)}; report it at {REPORTS}, and write this code differently, or name another "
        "clang in ADRENO_SIM_CLANG"
    )


def _keep(ended: Ended, source: bytes, command: Sequence[str]) -> str:
    """Writes the file; returns what to know of it. A source that crashes once more is the same file."""
    notes = "\n".join(["", f"{shlex.join(command)} < FILE", "", ended.messages])
    comment = "".join(f"// {line}".rstrip(" \t\\") + "\n" for line in notes.splitlines())  # a backslash would go on below
    try:
        folder = disk_cache.folder(_KIND) if disk_cache.is_enabled() else find_lasting_folder(_KIND)
        path = folder / f"adreno-sim-crash-{hashlib.sha256(source).hexdigest()[:16]}.cl"
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, source + b"\n" + comment.encode("utf-8", "surrogateescape"))
    except (OSError, AdrenoSimError) as error:
        return f"the program could not be kept ({error})"
    return f"the program is kept in {path}"
