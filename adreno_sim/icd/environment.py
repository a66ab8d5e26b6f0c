"""The environment in which a program finds the simulated device as its OpenCL driver."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..base.errors import AdrenoSimError
from ..base.host.current import current_family, library_folders
from ..base.processes.scratch import make_scratch_folder
from . import settings
from .build import LOADER, LOADER_LINK, build_libraries, is_nameable


def environment(
    *,
    device: str | None = None,
    checks: str | None = None,
    reports: str | None = None,
    strict: bool = False,
    record: bool = False,
    kernels: str = "",
    skip_launches: int = 0,
    launches: int | None = None,
    max_findings: int | None = None,
    log: str | os.PathLike[str] | None = None,
    trace_api: bool = False,
    times: bool = False,
) -> dict[str, str]:
    """Variables to add for a subprocess, so that the simulated device is the only one that its OpenCL loader sees.

    device, checks: as of `open_device`. reports: a folder into which each process's server writes its report. strict: a launch
    with an error fails. record: each server writes its session beside its report. kernels, skip_launches, launches: of each
    process those launches are checked whose kernel's name matches this regular expression; of these the first ones are left out,
    and so many checked. max_findings: so many are printed of each process. log: a file to which each call of OpenCL adds a line;
    trace_api: the same to standard error. times: reports have predicted times.
    Compiles the driver at the first call; AdrenoSimError if that cannot be done.
    """
    libraries = build_libraries()
    found = {"ADRENO_SIM_PYTHON": sys.executable, "OCL_ICD_VENDORS": str(libraries.vendors)}
    if os.environ.get("OCL_ICD_FILENAMES"):  # Khronos's loader takes these as well
        found["OCL_ICD_FILENAMES"] = str(libraries.driver)
    if folder := _folder_of_loader(libraries.loader):
        if not is_nameable(folder):
            raise AdrenoSimError(f"{folder}: LD_LIBRARY_PATH cannot name a folder that has : or ;: name another one in TMPDIR")
        others = os.environ.get("LD_LIBRARY_PATH")
        found["LD_LIBRARY_PATH"] = f"{folder}:{others}" if others else str(folder)
    named = {
        settings.DEVICE: device,
        settings.CHECKS: checks,
        settings.REPORTS: os.path.abspath(reports) if reports else reports,
        settings.STRICT: "1" if strict else None,
        settings.RECORD: "1" if record else None,
        settings.KERNELS: kernels or None,
        settings.LOG: os.path.abspath(log) if log else None,
        settings.TRACE: "1" if trace_api else None,
        settings.SKIP: str(skip_launches) if skip_launches else None,
        settings.MOST: None if launches is None else str(launches),
        settings.TIMES: "1" if times else None,
        settings.FINDINGS: None if max_findings is None else str(max_findings),
    }
    return found | {name: value for name, value in named.items() if value is not None}


def _folder_of_loader(ours: Path) -> Path | None:
    """The folder in which a program finds a loader that it does not find without: none, ours, or one that has the name without a
    number for the machine's, which Debian has in its -dev package only and TVM looks for."""
    loader = find_library(LOADER)
    if loader is None:
        return ours
    if find_library(LOADER_LINK):
        return None
    try:
        return _folder_with_link(ours / "named", loader)
    except OSError:  # the cache is read-only or full
        return _folder_with_link(make_scratch_folder("loader"), loader)


def _folder_with_link(folder: Path, loader: Path) -> Path:
    """A folder in which LOADER_LINK names the loader. Raises OSError."""
    link = folder / LOADER_LINK
    folder.mkdir(exist_ok=True)
    if not (link.is_symlink() and link.readlink() == loader):
        temporary = folder / f".{os.getpid()}"
        temporary.symlink_to(loader)
        temporary.replace(link)
    return folder


def find_library(name: str) -> Path | None:
    """Where the dynamic linker finds a library by its file name."""
    for folder in _library_folders():
        if os.path.isfile(folder / name):
            return folder / name
    return _known_to_linker().get(name)


def _library_folders() -> Iterator[Path]:
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            yield Path(folder)
    yield from library_folders()


def _known_to_linker() -> dict[str, Path]:
    """What ldconfig lists for this processor family, by file name."""
    mark = current_family().linker_mark
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        try:
            shown = subprocess.run(
                [program, "-p"], capture_output=True, text=True, errors="surrogateescape", timeout=10, check=False
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        entries = [line.split() for line in shown.splitlines() if mark in line and "=>" in line]
        return {words[0]: Path(words[-1]) for words in reversed(entries)}
    return {}
