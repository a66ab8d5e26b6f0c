"""The processes that a process has started, and those that they have, as the system lists them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def signal_all(processes: Iterable[int], number: int) -> None:
    """Send a signal to processes, as far as they are there."""
    for each in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each, number)


def find_descendants(pid: int) -> list[int]:
    """Their numbers, parents first. One whose parent has ended is nobody's."""
    children = _list_children()
    found = list(children.get(pid, ()))
    for each in found:
        found += children.get(each, ())
    return found


def find_children(pid: int) -> list[int]:
    """The numbers of those whose parent it is, ended ones among them."""
    return _list_children().get(pid, [])


def _list_children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):  # it has ended
                fields = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    return children
