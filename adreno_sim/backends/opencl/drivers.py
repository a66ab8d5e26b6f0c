"""Finds OpenCL drivers, those from PyPI included, so that `cl:portable` and `cl:intel` work without root.

An OpenCL loader reads a folder of .icd files once, when the first platform is asked for; OCL_ICD_VENDORS may name one
file or another folder. PoCL and Intel's runtime from PyPI ship no .icd file that points to where they lie, and Debian's
Oclgrind none at all, so they are written here.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

VENDORS = Path("/etc/OpenCL/vendors")

VARIABLE, OURS = "OCL_ICD_VENDORS", "ADRENO_SIM_OCL_ICD"
"""What the loader reads, and the value that this module gave it: a child process inherits both, and may need other drivers."""


@dataclass(frozen=True)
class Driver:
    """A driver known by name: what to call it, its platform's name, how its library's file name starts.

    distribution: what PyPI calls it; folders: where else its library may lie; install: how a user gets it.
    """

    name: str
    platform: str
    library: str
    install: str
    distribution: str = ""
    folders: tuple[Path, ...] = ()

    def installed(self) -> Path | None:
        """Path of the driver's library outside the system's .icd files; None where it is not installed."""
        name = re.compile(rf"{self.library}(-\w+)?\.so(\.\d+)*")
        found = [path for folder in self.folders if folder.is_dir() for path in folder.iterdir() if name.fullmatch(path.name)]
        try:
            files = importlib.metadata.files(self.distribution) or [] if self.distribution else []
        except importlib.metadata.PackageNotFoundError:
            files = []
        found += [Path(str(file.locate())).resolve() for file in files if name.fullmatch(file.name)]
        return next((path for path in sorted(found) if path.exists()), None)


DRIVERS = (
    Driver(
        "portable",
        "Portable Computing Language",
        "libpocl",
        "pip install 'adreno-sim[opencl]' or apt install pocl-opencl-icd",
        "pocl-binary-distribution",
    ),
    Driver("intel", "Intel(R) OpenCL", "libintelocl", "pip install 'adreno-sim[oracle]'", "intel-opencl-rt"),
    Driver("oclgrind", "Oclgrind", "liboclgrind-rt-icd", "apt install oclgrind", folders=(Path("/usr/lib/oclgrind"),)),
)

_announced: dict[str, None] = {}


def announce(platforms: Iterable[str]) -> None:
    """Say which platforms (index, substring or "") this process is going to open: the loader is set up once, for all."""
    _announced.update(dict.fromkeys(platforms))


def meant(platform: str) -> Driver | None:
    """The driver that the name of a platform, or part of it, means; None for an index, "" or another platform."""
    if not platform or platform.isdigit():
        return None
    return next((driver for driver in DRIVERS if platform.lower() in driver.platform.lower()), None)


def prepare(platform: str) -> None:
    """Point the OpenCL loader to the drivers that `platform` and those announced mean, before pyopencl loads it.

    Drivers known by name are loaded without others beside them: each driver in a process means one more copy of LLVM in
    it. Leaves the environment alone if the user set OCL_ICD_VENDORS or pyopencl is loaded already.
    """
    if set_by_user() or "pyopencl" in sys.modules:
        return
    platforms = dict.fromkeys([*_announced, platform])
    chosen = _chosen([meant(text) for text in platforms])
    if chosen is None:
        if os.environ.pop(OURS, None) is not None:
            del os.environ[VARIABLE]
        return
    os.environ[VARIABLE] = os.environ[OURS] = str(_written(chosen))


def found(driver: Driver) -> bool:
    """Whether a driver can be loaded here."""
    return _file(driver, _system_files()) is not None


def set_by_user() -> bool:
    """Whether OCL_ICD_VENDORS comes from outside, and not from here or from a parent process that came here."""
    return VARIABLE in os.environ and os.environ[VARIABLE] != os.environ.get(OURS)


def not_found(platform: str) -> str:
    """Why a platform that is known by name is not among those the loader gave; "" for others."""
    driver = meant(platform)
    if driver is None:
        return ""
    if set_by_user():
        return f"OCL_ICD_VENDORS={os.environ[VARIABLE]} decides which drivers are loaded"
    if not found(driver):
        return f"{driver.platform} is not installed: {driver.install}"
    return "the OpenCL loader was set up for other drivers earlier in this process: open it in a process of its own"


def _chosen(drivers: list[Driver | None]) -> dict[str, str] | None:
    """Name and text of the .icd files that the loader is to see; None leaves it to its own folder."""
    system = _system_files()
    known = [driver for driver in drivers if driver is not None]
    files = {driver.name: text for driver in known if (text := _file(driver, system)) is not None}
    if None not in drivers:
        return files or None
    if system and files.keys() <= {driver.name for driver in known if _system_file(driver, system) is not None}:
        return None
    if system:
        return {**files, **{path.stem: path.read_text() for path in system if path.read_text() not in files.values()}}
    return files or next(({driver.name: text} for driver in DRIVERS if (text := _file(driver, [])) is not None), None)


def _file(driver: Driver, system: list[Path]) -> str | None:
    """Text of an .icd file of a driver: the system's, else one for where it lies."""
    known = _system_file(driver, system)
    if known is not None:
        return known.read_text()
    library = driver.installed()
    return None if library is None else f"{library}\n"


def _system_files() -> list[Path]:
    return sorted(VENDORS.glob("*.icd")) if VENDORS.is_dir() else []


def _system_file(driver: Driver, files: list[Path]) -> Path | None:
    """The system's .icd file of a driver, told by the library it names."""
    for file in files:
        if Path(file.read_text().strip()).name.startswith(driver.library):
            return file
    return None


def _written(files: dict[str, str]) -> Path:
    """A folder with these .icd files, gone when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="adreno-sim-icd-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in files.items():
        (folder / f"{name}.icd").write_text(text)
    return folder
