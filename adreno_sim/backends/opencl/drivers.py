"""Finds OpenCL drivers, those from PyPI included, so that `cl:pocl` and `cl:intel` work without root.

An OpenCL loader reads a folder of .icd files once, when the first platform is asked for; OCL_ICD_VENDORS may name one
file or another folder. PoCL and Intel's runtime from PyPI ship no .icd file that points to where they lie, and Debian's
Oclgrind none at all, so `loader.py` writes them.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path

from ...base.host.current import library_folders
from ...base.installed.install_line import install_line
from ...records import dataclass

VENDORS = Path("/etc/OpenCL/vendors")

VARIABLE, OURS = "OCL_ICD_VENDORS", "ADRENO_SIM_OCL_ICD"
"""What the loader reads, and the value that this module gave it: a child process inherits both, and may need other drivers."""


@dataclass(frozen=True)
class Driver:
    """A driver known by name: what to call it, its platform's name, how its library's file name starts.

    how: how a user gets it, with {pip} for the line that installs `extra`. distribution: what PyPI calls it; folders: where else
    its library may lie. icd: the text of the .icd file to take, where one was chosen.
    """

    name: str
    platform: str
    library: str
    how: str
    extra: str = ""
    distribution: str = ""
    folders: tuple[Path, ...] = ()
    icd: str = ""

    @property
    def install(self) -> str:
        """How a user gets it."""
        return self.how.format(pip=install_line(self.extra)) if self.extra else self.how

    def find_library(self) -> Path | None:
        """Path of the driver's library outside the system's .icd files; None if it is not installed."""
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
        "pocl",
        "Portable Computing Language",
        "libpocl",
        "apt install pocl-opencl-icd, or {pip} (PoCL 3.0, which gets loops with barriers wrong)",
        "opencl",
        "pocl-binary-distribution",
    ),
    Driver("intel", "Intel(R) OpenCL", "libintelocl", "{pip}", "oracle", "intel-opencl-rt"),
    Driver("oclgrind", "Oclgrind", "liboclgrind-rt-icd", "apt install oclgrind", folders=(Path("/usr/lib/oclgrind"),)),
)


def get_driver(name: str) -> Driver:
    """The driver of this name."""
    return next(driver for driver in DRIVERS if driver.name == name)


def is_available(driver: Driver) -> bool:
    """Whether a driver can be loaded here."""
    return bool(icd_texts(driver))


def is_set_by_user() -> bool:
    """True if the user set OCL_ICD_VENDORS; False if this module set it, in this process or in a parent."""
    return VARIABLE in os.environ and os.environ[VARIABLE] != os.environ.get(OURS)


def icd_texts(driver: Driver) -> list[str]:
    """Texts of the .icd files that can load a driver: the system's, then one with the path of its library."""
    found = [file.read_text() for file in system_files() if _names(file, driver)]
    if not is_set_by_user() and (library := driver.find_library()) is not None:
        found.append(f"{library}\n")
    return list(dict.fromkeys(found))


def other_icd_texts() -> list[str]:
    """Texts of the system's .icd files for drivers that are not known by name."""
    return [file.read_text() for file in system_files() if not any(_names(file, driver) for driver in DRIVERS)]


def icd_texts_of_platform(platform: str) -> list[str]:
    """Texts of the .icd files that may have provided this platform to the loader."""
    driver = next((driver for driver in DRIVERS if driver.platform in platform), None)
    if driver is None:
        return other_icd_texts()
    own = Path(os.environ.get(OURS, "")) / f"{driver.name}.icd"
    return [own.read_text()] if own.is_file() and not is_set_by_user() else icd_texts(driver)


def find_library(icd: str) -> Path | None:
    """The file of the library that an .icd file with this text names; None if it is not found."""
    name = icd.strip()
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    found = [Path(name)] if os.path.isabs(name) else [folder / name for folder in (*folders, *library_folders())]
    return next((path for path in found if path.is_file()), None)


def system_files() -> list[Path]:
    """The .icd files in the loader's folder, or where the user's OCL_ICD_VENDORS points."""
    return _icd_files(Path(os.environ[VARIABLE]) if is_set_by_user() else VENDORS)


def _icd_files(path: Path) -> list[Path]:
    """Those of a folder, or the one file that was named."""
    return sorted(path.glob("*.icd")) if path.is_dir() else [path] if path.is_file() else []


def _names(file: Path, driver: Driver) -> bool:
    """True if an .icd file names the driver's library."""
    return Path(file.read_text().strip()).name.startswith(driver.library)
